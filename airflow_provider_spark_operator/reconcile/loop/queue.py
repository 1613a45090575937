"""The work queue and its workers: a key that is added several times is processed once, and namespaces take turns."""

import asyncio
import itertools
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from ..objects.cache import ObjectKey

Key = TypeVar("Key", bound=Hashable)

_FIRST_RETRY_SECONDS = 0.5
_LONGEST_RETRY_SECONDS = 120.0


class WorkQueue(Generic[Key]):
    """Hands keys to workers, each key to at most one worker at a time.

    A key that is added while a worker processes it is handed out again afterwards. No change is lost, and two
    workers never process the same resource concurrently. The next key belongs to the group with the fewest keys in
    progress, and of those to the group that has waited longest. All methods belong to one event loop.

    Args:
        group_of: Returns the group of a key, for example its namespace. By default, all keys are one group.
        first_retry: The delay of the first retry of a key, in seconds; each further failure doubles it. Can be
            changed at any time.
        longest_retry: The maximum delay, in seconds.
        clock: A monotonic clock in seconds, for the age of waiting keys.
    """

    def __init__(
        self,
        *,
        group_of: Callable[[Key], Hashable] = lambda _: "",
        first_retry: float = _FIRST_RETRY_SECONDS,
        longest_retry: float = _LONGEST_RETRY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.first_retry = first_retry
        self._longest_retry = longest_retry
        self._clock = clock
        self._group_of = group_of
        # By group, each key with the time at which it became ready; the first key has waited longest.
        self._ready: dict[Hashable, deque[tuple[Key, float]]] = {}
        self._active_of: Counter[Hashable] = Counter()
        self._queued: set[Key] = set()
        self._active: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._wakers: deque[asyncio.Future[None]] = deque()
        self._spare_waker: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        """The number of keys that are ready for a worker."""
        return sum(map(len, self._ready.values()))

    @property
    def oldest_age(self) -> float:
        """The seconds for which the first key has been ready for a worker; 0 if none is ready."""
        return self._clock() - min(waiting[0][1] for waiting in self._ready.values()) if self._ready else 0.0

    def add(self, key: Key) -> None:
        """Queue `key` for the next free worker."""
        if key in self._queued:
            return
        self._queued.add(key)
        if key not in self._active:
            self._offer(key)

    def add_after(self, key: Key, delay: float) -> None:
        """Queue `key` in `delay` seconds. The delay replaces an earlier one: the latest reconcile determines it."""
        self._cancel_timer(key)
        if delay <= 0:
            self.add(key)
        else:
            self._timers[key] = asyncio.get_running_loop().call_later(delay, self._handle_timer, key)

    def retry(self, key: Key, *, at_least: float = 0.0) -> float:
        """Queue a failed `key` again. The delay grows with every failure in a row.

        Args:
            key: The key that failed.
            at_least: The minimum delay in seconds, for example from `Retry-After`.

        Returns:
            The delay in seconds.
        """
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        # The exponent is bounded: a key may fail for weeks.
        delay = max(at_least, min(self.first_retry * 2.0 ** min(failures, 32), self._longest_retry))
        self.add_after(key, delay)
        return delay

    def forget_failures(self, key: Key) -> None:
        """Reset the backoff of `key` after a success."""
        self._failures.pop(key, None)

    def discard(self, key: Key) -> None:
        """Drop the timer and the backoff of a key whose resource does not exist any more."""
        self._cancel_timer(key)
        self.forget_failures(key)

    async def take(self) -> Key:
        """Wait for a key and hold it until `done`; its timer is cancelled."""
        while not self._ready:
            waker = asyncio.get_running_loop().create_future()
            self._wakers.append(waker)
            try:
                await waker
            except asyncio.CancelledError:
                self._pass_on(waker)
                raise
        return self._pop(min(self._ready, key=self._active_of.__getitem__))

    async def take_of_idle_group(self) -> Key:
        """Wait for a key of a group that has no key in progress, while no other worker is waiting; hold it as `take`.

        Only one worker can call this method. It starts the work of a group even if another group holds all other
        workers.
        """
        while (group := self._find_idle_group()) is None:
            self._spare_waker = asyncio.get_running_loop().create_future()
            await self._spare_waker
        return self._pop(group)

    def release(self, key: Key) -> None:
        """Release `key`; if it was added in the meantime, it is handed out again."""
        if key in self._active:
            self._active.remove(key)
            self._active_of -= Counter({self._group_of(key): 1})
        if key in self._queued:
            self._offer(key)

    def clear(self) -> None:
        """Drop all keys, timers and failures; called after the workers have ended."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._failures.clear()
        self._queued.clear()
        self._ready.clear()

    def _offer(self, key: Key) -> None:
        self._ready.setdefault(self._group_of(key), deque()).append((key, self._clock()))
        self._wake_one()

    def _find_idle_group(self) -> Hashable:
        return next((group for group in self._ready if not self._active_of[group]), None)

    def _pop(self, group: Hashable) -> Key:
        """Take the first key of a group. The group then waits behind the others."""
        waiting = self._ready.pop(group)
        key, _ = waiting.popleft()
        if waiting:
            self._ready[group] = waiting
        self._queued.discard(key)
        self._active.add(key)
        self._active_of[group] += 1
        self._cancel_timer(key)
        return key

    def _wake_one(self) -> None:
        while self._wakers:
            waker = self._wakers.popleft()
            if not waker.done():
                waker.set_result(None)
                return
        if self._spare_waker is not None and not self._spare_waker.done():
            self._spare_waker.set_result(None)

    def _pass_on(self, waker: asyncio.Future[None]) -> None:
        # If a worker is cancelled after it was woken, another worker must be woken instead.
        if waker.done() and not waker.cancelled() and self._ready:
            self._wake_one()

    def _handle_timer(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _cancel_timer(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()


class Workers:
    """A pool of tasks, each of which processes one key after the other.

    One more task processes keys of namespaces that have no key in progress. So a namespace cannot delay another one,
    even if its keys occupy the whole pool for a long time. Other tasks run after each key: after a restart, thousands
    of keys need no request, and would block the event loop.

    Args:
        queue: The queue of the keys.
        process: Processes a key; an exception that it raises ends all workers.
        count: The number of keys that are processed concurrently.
    """

    def __init__(
        self, queue: WorkQueue[ObjectKey], process: Callable[[ObjectKey], Awaitable[None]], count: int
    ) -> None:
        self._queue = queue
        self._process = process
        self._count = count
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._busy: set[int] = set()
        self._numbers = itertools.count()
        self._resized = asyncio.Event()

    def resize(self, count: int) -> None:
        """Change the number of workers; superfluous workers end after their current key."""
        self._count = count
        self._resized.set()

    async def run(self) -> None:
        """Run until cancelled; the keys in progress are interrupted."""
        try:
            async with asyncio.TaskGroup() as group:
                self._adjust(group)
                group.create_task(self._work_for_idle_namespaces())
                while True:
                    self._resized.clear()
                    self._adjust(group)
                    await self._resized.wait()
        finally:
            self._tasks.clear()
            self._busy.clear()

    def _adjust(self, group: asyncio.TaskGroup) -> None:
        while len(self._tasks) < self._count:
            number = next(self._numbers)
            self._tasks[number] = group.create_task(self._work(number))
        idle = [number for number in self._tasks if number not in self._busy]
        for number in idle[: len(self._tasks) - self._count]:
            self._tasks.pop(number).cancel()

    async def _work_for_idle_namespaces(self) -> None:
        while True:
            key = await self._queue.take_of_idle_group()
            try:
                await self._process(key)
            finally:
                self._queue.release(key)
            await asyncio.sleep(0)

    async def _work(self, number: int) -> None:
        while len(self._tasks) <= self._count:
            key = await self._queue.take()
            self._busy.add(number)
            try:
                await self._process(key)
            finally:
                self._busy.discard(number)
                self._queue.release(key)
            await asyncio.sleep(0)
        self._tasks.pop(number, None)
