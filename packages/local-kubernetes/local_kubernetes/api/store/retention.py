"""Retention of events: an hour after their last change, as in Kubernetes, and at most a fixed number."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from ...clock import utc_now
from ..kinds.kinds import EVENTS
from ..kinds.status import ApiStatusError
from .store import Store

_SWEEP_SECONDS = 60.0
_AGE = timedelta(hours=1)
_MOST = 10_000


class EventRetention:
    """Removes old events from a store.

    Args:
        store: The cluster's objects.
        clock: Returns the current time.
        age: Time after its last change at which an event is removed.
        most: Maximum number of events.
    """

    def __init__(
        self, store: Store, *, clock: Callable[[], datetime] = utc_now, age: timedelta = _AGE, most: int = _MOST
    ) -> None:
        self._store = store
        self._clock = clock
        self._age = age
        self._most = most
        self._seen: dict[int, datetime] = {}

    async def run(self) -> None:
        """Remove old events once a minute until cancelled."""
        while True:
            self.sweep()
            await asyncio.sleep(_SWEEP_SECONDS)

    def sweep(self) -> None:
        """Remove events that are too old or too many; the age counts from when this object first sees a change."""
        now = self._clock()
        changes = sorted(self._store.objects.list_events(EVENTS, None), key=lambda change: change.resource_version)
        self._seen = {item.resource_version: self._seen.get(item.resource_version, now) for item in changes}
        excess = len(changes) - self._most
        for number, change in enumerate(changes):
            if number < excess or now - self._seen[change.resource_version] >= self._age:
                self._remove(change.current["metadata"]["namespace"], change.current["metadata"]["name"])

    def _remove(self, namespace: str, name: str) -> None:
        try:
            self._store.delete(EVENTS, namespace, name)
        except ApiStatusError:
            return  # the journal is full: try again next time
