"""A de-duplicating work queue: a key that is added several times is processed once."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_FIRST_RETRY_SECONDS = 0.5
_LONGEST_RETRY_SECONDS = 120.0


class WorkQueue(Generic[Key]):
    """Hands keys to workers, each key to at most one worker at a time.

    A key that is added while a worker processes it is handed out again afterwards. No change is lost, and two
    workers never process the same resource concurrently. All methods belong to one event loop.

    Args:
        first_retry: The delay of the first retry of a key, in seconds; each further failure doubles it. Can be
            changed at any time.
        longest_retry: The maximum delay, in seconds.
        clock: A monotonic clock in seconds, for the age of waiting keys.
    """

    def __init__(
        self,
        *,
        first_retry: float = _FIRST_RETRY_SECONDS,
        longest_retry: float = _LONGEST_RETRY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.first_retry = first_retry
        self._longest_retry = longest_retry
        self._clock = clock
        # Each key with the time at which it became ready; the first key has waited longest.
        self._ready: deque[tuple[Key, float]] = deque()
        self._queued: set[Key] = set()
        self._active: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._wakers: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        """The number of keys that are ready for a worker."""
        return len(self._ready)

    @property
    def oldest_age(self) -> float:
        """The seconds for which the first key has been ready for a worker; 0 if none is ready."""
        return self._clock() - self._ready[0][1] if self._ready else 0.0

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
        key, _ = self._ready.popleft()
        self._queued.discard(key)
        self._active.add(key)
        self._cancel_timer(key)
        return key

    def release(self, key: Key) -> None:
        """Release `key`; if it was added in the meantime, it is handed out again."""
        self._active.discard(key)
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
        self._ready.append((key, self._clock()))
        self._wake_one()

    def _wake_one(self) -> None:
        while self._wakers:
            waker = self._wakers.popleft()
            if not waker.done():
                waker.set_result(None)
                return

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
