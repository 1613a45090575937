"""Who is told of changes: a bounded history of each kind, and bounded queues of its subscribers."""

import asyncio
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from local_kubernetes.api.documents import JsonObject, copy_json
from local_kubernetes.api.status import expired

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"
MAX_BYTES = 64 * 1024 * 1024
"""How much the changes that are kept of a kind, or that wait for a subscriber, may take as JSON."""


@dataclass(frozen=True, eq=False)
class Event:
    """A change of one object.

    Args:
        type: ADDED, MODIFIED or DELETED.
        current: the object after the change (as it last was, for DELETED). Shared: not to be changed.
        previous: the object before the change, None for ADDED. Shared: not to be changed.
        resource_version: the version that the change made.
    """

    type: str
    current: JsonObject
    previous: JsonObject | None
    resource_version: int
    _encoded: dict[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def object(self) -> JsonObject:
        """The object after the change: a copy of one's own."""
        return copy_json(self.current)

    @property
    def size(self) -> int:
        """How many bytes the object takes as JSON."""
        return len(self.encode(self.current["apiVersion"]))

    def encode(self, api_version: str) -> bytes:
        """The object as JSON in one API version, or without its type (empty); made once for all who read it."""
        if api_version not in self._encoded:
            shown = self.current | {"apiVersion": api_version}
            if not api_version:
                del shown["apiVersion"], shown["kind"]
            self._encoded[api_version] = json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode()
        return self._encoded[api_version]


class Subscription:
    """The changes of a kind from one point on: an asynchronous iterator that ends when it is closed.

    Iterating raises `ApiStatusError` 410 when the reader was so slow that changes had to be dropped.
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
                raise expired("the watch was too slow: changes were dropped, list again")
            if self._closed:
                raise StopAsyncIteration
            self._arrival.clear()
            await self._arrival.wait()
        return self._take()

    async def batch(self, limit: int) -> list[Event]:
        """The next changes, at least one, as many as are there up to a limit.

        Raises:
            StopAsyncIteration: the subscription has ended.
            ApiStatusError: 410, as iterating does.
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
        """Whether every change so far has been read."""
        return not self._pending and not self._overflowed

    def offer(self, event: Event) -> None:
        """Queue a change; over the limit the queue is dropped and the reader is told so."""
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
        """End the subscription; the reader gets what is queued, then the end. Harmless when repeated."""
        if not self._closed:
            self._closed = True
            self._on_close(self)
        self._arrival.set()


class Feed:
    """The changes of one kind: the last of them, and those who follow.

    Args:
        start: the resource version before the first change; earlier ones have expired.
        history: how many changes can be replayed.
        queue: how many changes may wait for one subscriber.
        max_bytes: how much of either there may be as JSON.
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
        """How many subscriptions are open."""
        return len(self._subscribers)

    def publish(self, namespace: str, event: Event) -> None:
        """Record a change of an object in `namespace` (empty: none) and tell the subscribers."""
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
        """Follow the changes in a namespace (None: everywhere), after the version `since` (None: from now).

        Raises:
            ApiStatusError: 410 where the history does not reach back to `since`.
        """
        replay: list[Event] = []
        if since is not None:
            if since < self._floor:
                raise expired(f"too old resource version: {since} ({self._floor})")
            replay = [
                event for place, event in self._events if event.resource_version > since and namespace in (None, place)
            ]
        subscription = Subscription(max(self._queue, len(replay)), self._max_bytes, self._forget)
        for event in replay:
            subscription.offer(event)
        self._subscribers[subscription] = namespace
        return subscription

    def close(self) -> None:
        """End all subscriptions."""
        for subscription in list(self._subscribers):
            subscription.close()

    def _forget(self, subscription: Subscription) -> None:
        self._subscribers.pop(subscription, None)
