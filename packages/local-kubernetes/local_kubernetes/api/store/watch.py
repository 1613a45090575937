"""Subscriptions to changes: a bounded history of each kind, and bounded queues of its subscribers."""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ..kinds.documents import JsonObject, copy_json
from ..kinds.kinds import Kind
from ..kinds.status import build_expired

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"
MAX_BYTES = 64 * 1024 * 1024
"""Limit in bytes, as JSON, of the history of a kind and of the queue of a subscriber."""


@dataclass(frozen=True, eq=False)
class Event:
    """A change of one object.

    Args:
        type: ADDED, MODIFIED or DELETED.
        current: The object after the change, or its last version if it was deleted. Shared: must not be changed.
        previous: The object before the change; None for ADDED. Shared: must not be changed.
        resource_version: The version of the change.
    """

    type: str
    current: JsonObject
    previous: JsonObject | None
    resource_version: int
    _encoded: dict[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def object(self) -> JsonObject:
        """Return a copy of the object after the change."""
        return copy_json(self.current)

    @property
    def size(self) -> int:
        """The size of the object in bytes, as JSON."""
        return len(self.encode(self.current["apiVersion"]))

    def encode(self, api_version: str) -> bytes:
        """Return the object as JSON in one API version, or without its type if empty; encoded once for all readers."""
        if api_version not in self._encoded:
            shown = self.current | {"apiVersion": api_version}
            if not api_version:
                del shown["apiVersion"], shown["kind"]
            self._encoded[api_version] = json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode()
        return self._encoded[api_version]


class Subscription:
    """A subscription: an asynchronous iterator over the changes of a kind, which ends when it is closed.

    Iterating raises `ApiStatusError` 410 if the reader was so slow that changes had to be dropped.
    """

    def __init__(self, limit: int, limit_bytes: int, on_close: Callable[["Subscription"], None]) -> None:
        self._pending: deque[Event] = deque()
        self._pending_bytes = 0
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._on_close = on_close
        self._arrival = asyncio.Event()
        self._overflowed = False
        self._closed = False

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Event:
        while not self._pending:
            if self._overflowed:
                self.close()
                raise build_expired("the watch was too slow: changes were dropped, list again")
            if self._closed:
                raise StopAsyncIteration
            self._arrival.clear()
            await self._arrival.wait()
        return self._take()

    async def read_batch(self, limit: int) -> list[Event]:
        """Return the next changes: at least one, and those that are queued up to a limit.

        Raises:
            StopAsyncIteration: The subscription has ended.
            ApiStatusError: 410, as for iterating.
        """
        events = [await anext(self)]
        while self._pending and len(events) < limit:
            events.append(self._take())
        return events

    def _take(self) -> Event:
        event = self._pending.popleft()
        self._pending_bytes -= event.size
        return event

    @property
    def drained(self) -> bool:
        """Whether every change has been read."""
        return not self._pending and not self._overflowed

    def offer(self, event: Event) -> None:
        """Queue a change; if the queue is full, drop it, and let the reader's next call raise 410."""
        if self._overflowed or self._closed:
            return
        if len(self._pending) >= self._limit or (self._pending and self._pending_bytes > self._limit_bytes):
            self._pending.clear()
            self._overflowed = True
        else:
            self._pending.append(event)
            self._pending_bytes += event.size
        self._arrival.set()

    def close(self) -> None:
        """End the subscription after the queued changes; can be called repeatedly."""
        if not self._closed:
            self._closed = True
            self._on_close(self)
        self._arrival.set()


class Feed:
    """The changes of one kind: its history and its subscriptions.

    Args:
        start: Resource version before the first change; earlier versions have expired.
        history: Number of changes that can be replayed.
        queue: Number of changes that can wait for one subscriber.
        max_bytes: Limit in bytes, as JSON, of the history and of each queue.
    """

    def __init__(self, start: int, history: int, queue: int, max_bytes: int = MAX_BYTES) -> None:
        self._events: deque[tuple[str, Event]] = deque()
        self._kept_bytes = 0
        self._history = history
        self._queue = queue
        self._max_bytes = max_bytes
        self._floor = start
        self._subscribers: dict[Subscription, str | None] = {}

    @property
    def subscribers(self) -> int:
        """The number of open subscriptions."""
        return len(self._subscribers)

    def publish(self, namespace: str, event: Event) -> None:
        """Record a change of an object in `namespace` (empty for none), and notify the subscribers."""
        self._events.append((namespace, event))
        self._kept_bytes += event.size
        while len(self._events) > self._history or (len(self._events) > 1 and self._kept_bytes > self._max_bytes):
            expired_event = self._events.popleft()[1]
            self._kept_bytes -= expired_event.size
            self._floor = expired_event.resource_version
        for subscription, wanted in list(self._subscribers.items()):
            if wanted is None or wanted == namespace:
                subscription.offer(event)

    def subscribe(self, namespace: str | None, since: int | None) -> Subscription:
        """Subscribe to the changes in a namespace (None: all), after the version `since` (None: from now).

        Raises:
            ApiStatusError: 410 if the history does not reach back to `since`.
        """
        replay: list[Event] = []
        if since is not None:
            if since < self._floor:
                raise build_expired(f"too old resource version: {since} ({self._floor})")
            replay = [
                event for place, event in self._events if event.resource_version > since and namespace in (None, place)
            ]
        subscription = Subscription(max(self._queue, len(replay)), self._max_bytes, self._forget)
        for event in replay:
            subscription.offer(event)
        self._subscribers[subscription] = namespace
        return subscription

    def _forget(self, subscription: Subscription) -> None:
        self._subscribers.pop(subscription, None)


class Changes:
    """The changes of all kinds, each with its own history and subscriptions.

    Args:
        start: Resource version before the first change; earlier versions have expired.
        history: Number of changes of each kind that can be replayed.
        queue: Number of changes that can wait for one subscriber.
    """

    def __init__(self, start: int, history: int, queue: int) -> None:
        self._feeds: defaultdict[tuple[str, str], Feed] = defaultdict(lambda: Feed(start, history, queue))

    def publish(self, kind: Kind, namespace: str, event: Event) -> None:
        """Record a change of an object in `namespace` (empty for none), and notify the subscribers."""
        self._feeds[kind.key].publish(namespace, event)

    def subscribe(self, kind: Kind, namespace: str | None, since: int | None) -> Subscription:
        """Subscribe to the changes of a kind in a namespace (None: all), after the version `since` (None: now).

        Raises:
            ApiStatusError: 410 if the history does not reach back to `since`.
        """
        return self._feeds[kind.key].subscribe(namespace, since)

    def count_subscribers(self, kind: Kind) -> int:
        """Return the number of open subscriptions of a kind."""
        return self._feeds[kind.key].subscribers
