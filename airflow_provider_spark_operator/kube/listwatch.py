"""A collection and every change to it, for as long as the caller stays."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeAlias

from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient, ObjectList
from airflow_provider_spark_operator.kube.errors import Gone, KubeError, TooManyRequests, Unreachable
from airflow_provider_spark_operator.kube.resources import ResourceType
from airflow_provider_spark_operator.kube.transport import JsonObject


@dataclass(frozen=True)
class Listed:
    """The whole collection: at the start, and after a gap that a watch could not bridge.

    What the receiver knows and `items` lacks is gone.
    """

    items: list[JsonObject]


@dataclass(frozen=True)
class Changed:
    """An object is new or has changed."""

    object: JsonObject


@dataclass(frozen=True)
class Removed:
    """An object is gone; this is its last content."""

    object: JsonObject


Change: TypeAlias = Listed | Changed | Removed

# A watch that a server accepts and ends at once is a failure. One that stays open for this time works.
STEADY_SECONDS = 1.0


async def list_and_watch(
    client: KubeClient,
    resource: ResourceType,
    namespace: str | None = None,
    *,
    label_selector: str | None = None,
    field_selector: str | None = None,
    on_error: Callable[[KubeError], None] | None = None,
    on_alive: Callable[[], None] | None = None,
    backoff: Backoff | None = None,
    trim: Callable[[JsonObject], object] | None = None,
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[Change, None]:
    """List, then watch without end: cut streams are resumed, and what cannot be resumed is listed again.

    Leave it only through `contextlib.aclosing`, which gives the connection back.

    Args:
        client: Stays open as long as this runs.
        resource: The kind.
        namespace: None for all of them.
        label_selector: Of the API's syntax; so is `field_selector`.
        field_selector: See there.
        on_error: Told of every failure after the first list; what it raises ends the iteration.
        on_alive: Told of every sign of life: the first list, each event, bookmarks included, a watch that stays open
            after a failure, and a later list if the watch before it had stayed open for long. A list alone is none
            where no watch is to be had.
        backoff: Pauses between attempts after a failure; reset by the first success.
        trim: Called with each object as soon as it is here, for what nobody needs to be taken out of it.
        wait: Waits the given seconds between two attempts; may return early.

    Raises:
        KubeError: The first list failed. Later failures of any kind (rights taken away, too) are
            reported and retried, since they may pass.
    """
    scope = _Scope(client, resource, namespace, label_selector, field_selector, trim)
    tell_life = on_alive or _ignored
    backoff = backoff or Backoff()
    place = scope.place()
    listed = await scope.list()
    tell_life()
    yield Listed(listed.items)
    version: str | None = listed.resource_version
    recovery = _Recovery(tell_life)
    silent = 0  # failures since the last event
    lasted = False  # the latest stream
    while True:
        if scope.place() != place:  # another server may have another history, for which the version means nothing
            place, version = scope.place(), None
        opened = time.monotonic()
        pause = 0.0
        try:
            async with aclosing(scope.changes(version, recovery.begin if silent else _ignored)) as changes:
                async for version, change in changes:  # noqa: B007 - where to resume, if it ends
                    if isinstance(change, Listed):
                        opened = time.monotonic()
                    else:
                        backoff.reset()
                        silent = 0
                    if lasted or not isinstance(change, Listed):
                        tell_life()
                    if change is not None:
                        yield change
        except KubeError as error:
            if on_error is not None and not isinstance(error, Gone):  # that one is in the normal run of things
                on_error(error)
            pause = _wish(error)
            version = version if _may_resume(error, silent) else None
            silent += 1
        finally:
            recovery.end()
        # A stream that lasted was a good one, even if nothing happened. One that ended at once is a failure
        # also where the server ended it politely: it must not be asked again without a pause.
        lasted = time.monotonic() - opened > backoff.longest
        if lasted:
            backoff.reset()
        await wait(max(backoff.next(), min(pause, backoff.longest)))


def _may_resume(error: KubeError, silent: int) -> bool:
    # A cut stream goes on where it was. After a second failure in a row the server may have been
    # replaced by one with another history, for which our version means nothing: list again. Only an event
    # ends the row: a stream that lasts and stays silent may be a connection into nowhere.
    return isinstance(error, TooManyRequests) or (isinstance(error, Unreachable) and silent < 1)


def _ignored() -> None:
    return


class _Recovery:
    """Reports that a watch works again when it has stayed open for a moment, even if nothing happens in it."""

    def __init__(self, report: Callable[[], None]) -> None:
        self._report = report
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """The server has accepted the watch."""
        self._timer = asyncio.get_running_loop().call_later(STEADY_SECONDS, self._report)

    def end(self) -> None:
        """The watch has ended."""
        if self._timer is not None:
            self._timer.cancel()


def _wish(error: KubeError) -> float:
    return (error.retry_after or 0.0) if isinstance(error, TooManyRequests) else 0.0


@dataclass(frozen=True)
class _Scope:
    client: KubeClient
    resource: ResourceType
    namespace: str | None
    label_selector: str | None
    field_selector: str | None
    trim: Callable[[JsonObject], object] | None

    def place(self) -> str:
        """Changes when the client connects to another server."""
        return self.client.links.current.fingerprint.place

    async def list(self) -> ObjectList:
        return await self.client.list(
            self.resource,
            self.namespace,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            trim=self.trim,
        )

    async def changes(
        self, version: str | None, on_open: Callable[[], None]
    ) -> AsyncGenerator[tuple[str, Change | None], None]:
        """Each change since `version` (None: list first) with the version reached; None for a bookmark."""
        if version is None:
            listed = await self.list()
            version = listed.resource_version
            yield version, Listed(listed.items)
        events = self.client.watch(
            self.resource,
            self.namespace,
            resource_version=version,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            trim=self.trim,
            on_open=on_open,
        )
        async with aclosing(events) as stream:
            async for event in stream:
                version = event.object.get("metadata", {}).get("resourceVersion") or version
                if event.type == "BOOKMARK":
                    yield version, None
                elif event.type == "DELETED":
                    yield version, Removed(event.object)
                else:
                    yield version, Changed(event.object)
