"""Which applications a trigger has delivered to its assets, in Airflow's asset state store.

The listener of `plugins` adds each application to the record in the transaction that stores its asset event. A
triggerer that is killed therefore leaves both or neither. The trigger writes the first record, removes applications
that no longer exist, and adds applications only if the listener does not.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from pydantic import JsonValue

logger = logging.getLogger(__name__)

_UIDS: Final = "uids"
# After the second read, the supervisor of the triggerer has stored every event that it received before the first.
_READS_BEFORE_FALLBACK: Final = 3
# A record is rewritten only if this many of its applications no longer exist.
_MAX_ABSENT: Final = 500


class StateStore(Protocol):
    """The state of one asset in Airflow."""

    async def aget(self, key: str, default: JsonValue = None) -> JsonValue:
        """Return a value, or the default if there is none."""

    async def aset(self, key: str, value: JsonValue) -> None:
        """Write a value."""


class _Memory:
    """A state that lasts as long as this object."""

    def __init__(self) -> None:
        self._values: dict[str, JsonValue] = {}

    async def aget(self, key: str, default: JsonValue = None) -> JsonValue:
        return self._values.get(key, default)

    async def aset(self, key: str, value: JsonValue) -> None:
        self._values[key] = value


class DeliveryRecord:
    """The delivered applications of one trigger. The record of each of its assets is the same.

    Args:
        stores: The state of each asset of the trigger. Without any, the record lasts as long as this object.
        key: The key of the record.

    Attributes:
        key: The key of the record.
    """

    def __init__(self, stores: Iterable[StateStore], key: str) -> None:
        durable = tuple(stores)
        self._is_durable = bool(durable)
        self._stores: tuple[StateStore, ...] = durable or (_Memory(),)
        self.key = key
        self._unconfirmed: set[str] = set()
        self._reads = 0

    @property
    def has_unconfirmed(self) -> bool:
        """Whether Airflow may not have stored the events of some applications yet."""
        return bool(self._unconfirmed)

    async def read(self) -> frozenset[str] | None:
        """Return the uids of the delivered applications. None if the trigger has never started before."""
        stored = await self._read_stored()
        return None if stored is None else frozenset(stored | self._unconfirmed)

    async def begin(self, uids: Iterable[str]) -> None:
        """Write the first record.

        Args:
            uids: The applications that had ended before the trigger first started.
        """
        await self._write(set(uids))

    def add(self, uid: str) -> None:
        """Note that the event of an application is delivered next."""
        self._unconfirmed.add(uid)
        self._reads = 0

    async def confirm(self, is_present: Callable[[str], bool]) -> None:
        """Check whether Airflow has stored the delivered events, and remove what is no longer needed.

        Args:
            is_present: Whether an application still exists.
        """
        stored = await self._read_stored() or set()
        self._unconfirmed -= stored
        self._reads += 1
        if self._unconfirmed and self._is_durable:
            if self._reads < _READS_BEFORE_FALLBACK:
                return
            logger.warning(
                "the plugin spark_operator_asset_events did not record delivered asset events. If the triggerer is "
                "killed, some events may be repeated. Check that `airflow plugins` lists the plugin"
            )
        missing, self._unconfirmed = self._unconfirmed, set()
        present = {uid for uid in stored if is_present(uid)}
        if missing or len(stored) - len(present) > _MAX_ABSENT:
            await self._write(present | missing)

    async def _read_stored(self) -> set[str] | None:
        records = [parse_uids(await store.aget(self.key)) for store in self._stores]
        known = [record for record in records if record is not None]
        if not known:
            return None
        delivered: set[str] = set().union(*known)
        if any(record != delivered for record in records):  # an asset has joined the trigger
            await self._write(delivered)
        return delivered

    async def _write(self, uids: set[str]) -> None:
        for store in self._stores:
            await store.aset(self.key, format_uids(uids))


def open_record(stores: Mapping[str, StateStore], key: str) -> DeliveryRecord:
    """Open the record of a trigger.

    Args:
        stores: The state stores of the assets of the trigger, by the names of the assets.
        key: The key of the trigger.
    """
    if not stores:
        logger.warning(
            "this version of Airflow cannot store the state of asset watchers: no event fires for applications "
            "that end while no triggerer is running"
        )
    return DeliveryRecord(stores.values(), key)


def parse_uids(value: JsonValue) -> set[str] | None:
    """Return the uids of a stored record. None if there is no record."""
    if not isinstance(value, Mapping):
        return None
    uids = value.get(_UIDS)
    return {uid for uid in uids if isinstance(uid, str)} if isinstance(uids, list) else None


def format_uids(uids: Iterable[str]) -> dict[str, JsonValue]:
    """Return the record of these uids, as it is stored."""
    return {_UIDS: [*sorted(uids)]}
