"""List a collection of objects and watch its changes."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

from ..core.kubernetes.json_object import JsonObject
from .backoff import Backoff
from .client import KubeClient
from .collection import ObjectList
from .errors import Gone, KubeError, TooManyRequests, Unreachable
from .resources import ResourceType


@dataclass(frozen=True)
class Listed:
    """The whole collection: at the start, and when a watch could not be resumed.

    Objects that the receiver knows and that are not in `items` do not exist any more.
    """

    items: list[JsonObject]


@dataclass(frozen=True)
class Changed:
    """An object is new or has changed."""

    object: JsonObject


@dataclass(frozen=True)
class Removed:
    """An object was deleted; this is its last state."""

    object: JsonObject


Change: TypeAlias = Listed | Changed | Removed

# A watch that the server ends at once is a failure. A watch that stays open for this time works.
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
    after_failure: bool = False,
) -> AsyncGenerator[Change, None]:
    """List a collection, then watch it indefinitely.

    An interrupted watch is resumed; if that is not possible, the collection is listed again. Leave the iteration
    only through `contextlib.aclosing`, which releases the connection.

    Args:
        client: The client of the API; open as long as this runs.
        resource: The kind of the objects.
        namespace: The namespace. If None, all namespaces are included.
        label_selector: Selects objects by their labels, in the syntax of the API.
        field_selector: Selects objects by their fields, in the syntax of the API.
        on_error: Called with every failure after the first list; an exception that it raises ends the iteration.
        on_alive: Called when the API answers: after the first list, after each event or bookmark, and when a watch
            stays open after a failure. Also called after a later list if the previous watch stayed open for long.
            Not called after such a list if the server rejects the watches.
        backoff: Pauses between attempts after a failure; reset by the first success.
        trim: Called with each object as soon as it is received, to remove what the caller does not need.
        wait: Waits the given seconds between two attempts; may return early.
        after_failure: Whether an earlier call failed. `on_alive` is then not called after the first list.

    Raises:
        KubeError: The first list failed. Later failures of any kind, including missing permissions, are reported
            and retried, since they may be temporary.
    """
    scope = _Scope(client, resource, namespace, label_selector, field_selector, trim)
    watch = _Watch(
        scope, backoff or Backoff(), on_error or _ignore_error, on_alive or _ignore, after_failure=after_failure
    )
    yield await watch.start()
    while True:
        async with watch.connect() as changes:
            async for version, change in changes:
                watch.advance(version, change)
                if change is not None:
                    yield change
        await wait(watch.finish_stream())


def _ignore() -> None:
    return


def _ignore_error(_: KubeError) -> None:
    return


class _Watch:
    """The state of a watch: where to resume it, and after which pause.

    Args:
        scope: The collection.
        backoff: The pauses after a failure.
        on_error: Called with every failure except an expired version, which is normal.
        on_alive: Called with every sign of life.
        after_failure: Whether the collection could not be listed or watched before.
    """

    def __init__(
        self,
        scope: "_Scope",
        backoff: Backoff,
        on_error: Callable[[KubeError], None],
        on_alive: Callable[[], None],
        *,
        after_failure: bool,
    ) -> None:
        self._scope = scope
        self._backoff = backoff
        self._on_error = on_error
        self._on_alive = on_alive
        self._recovery = _Recovery(on_alive)
        self._place = scope.read_place()
        self._version: str | None = None
        self._opened_at: float | None = None  # None until the server accepts the request
        self._requested_pause = 0.0
        self._failures_since_event = int(after_failure)
        self._has_lasted = False  # of the latest stream

    async def start(self) -> Listed:
        """Return the first list. Errors are raised."""
        listed = await self._scope.list()
        self._version = listed.resource_version
        if not self._failures_since_event:
            self._on_alive()
        return Listed(listed.items)

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator["AsyncGenerator[tuple[str, Change | None], None]", None]:
        """Open a stream that continues where the last one ended. A failure of the stream ends the `with` block."""
        if self._scope.read_place() != self._place:
            # Another server may have another history, in which the version has no meaning.
            self._place, self._version = self._scope.read_place(), None
        self._opened_at, self._requested_pause = None, 0.0
        try:
            async with aclosing(self._scope.read_changes(self._version, self._begin)) as changes:
                yield changes
        except KubeError as error:
            self._fail(error)
        finally:
            self._recovery.end()

    def advance(self, version: str, change: Change | None) -> None:
        """Continue after `change` from now on. None means a bookmark."""
        self._version = version
        if not isinstance(change, Listed):
            self._backoff.reset()
            self._failures_since_event = 0
        if self._has_lasted or not isinstance(change, Listed):
            self._on_alive()

    def finish_stream(self) -> float:
        """Record whether the stream lasted, and return the seconds to wait before the next stream is opened."""
        # A long stream without events is a success. A stream that ends at once is a failure even without an error, so
        # it is not opened again without a pause. A rejected request is also a failure, however long the server took to
        # reject it.
        opened_at = self._opened_at
        self._has_lasted = opened_at is not None and time.monotonic() - opened_at > self._backoff.longest
        if self._has_lasted:
            self._backoff.reset()
        return max(self._backoff.next(), min(self._requested_pause, self._backoff.longest))

    def _begin(self) -> None:
        self._opened_at = time.monotonic()
        if self._failures_since_event:
            self._recovery.begin()

    def _fail(self, error: KubeError) -> None:
        if not isinstance(error, Gone):
            self._on_error(error)
        self._requested_pause = error.retry_after or 0.0
        if not self._can_resume(error):
            self._version = None
        self._failures_since_event += 1

    def _can_resume(self, error: KubeError) -> bool:
        # After a second failure in a row, list again. The server may have been replaced by one with another history,
        # in which the version has no meaning. Only an event ends the row, because a silent stream may be a dead
        # connection.
        is_interrupted = isinstance(error, Unreachable) and self._failures_since_event < 1
        return isinstance(error, TooManyRequests) or is_interrupted


class _Recovery:
    """Reports that a watch works again when it has stayed open for a moment, even without an event."""

    def __init__(self, report: Callable[[], None]) -> None:
        self._report = report
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Start the timer when the server has accepted the watch."""
        self._timer = asyncio.get_running_loop().call_later(STEADY_SECONDS, self._report)

    def end(self) -> None:
        """Stop the timer when the watch has ended."""
        if self._timer is not None:
            self._timer.cancel()


@dataclass(frozen=True)
class _Scope:
    client: KubeClient
    resource: ResourceType
    namespace: str | None
    label_selector: str | None
    field_selector: str | None
    trim: Callable[[JsonObject], object] | None

    def read_place(self) -> str:
        """Return a value that changes when the client connects to another server."""
        return self.client.links.current.fingerprint.connection

    async def list(self) -> ObjectList:
        return await self.client.list(
            self.resource,
            self.namespace,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            trim=self.trim,
        )

    async def read_changes(
        self, version: str | None, on_open: Callable[[], None]
    ) -> AsyncGenerator[tuple[str, Change | None], None]:
        """Yield each change since `version` with the version reached.

        If `version` is None, list first. The change is None for a bookmark.
        """
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
