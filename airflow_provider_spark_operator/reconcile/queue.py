"""A de-duplicating work queue: what one key is told many times is looked at once."""

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

    A key added while a worker holds it is handed out again once that worker is done with it, so that no
    change is lost and no two workers ever meet in one resource. All methods belong to one event loop.

    Args:
        first_retry: seconds before the first repetition of a failed key; each further failure doubles it. May be
            changed at any time.
        longest_retry: the limit of that doubling, in seconds.
        clock: seconds that never run backwards, for the age of what waits.
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
        # Each with the time since when it could have been taken, so that the first has waited longest.
        self._ready: deque[tuple[Key, float]] = deque()
        self._queued: set[Key] = set()
        self._active: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._wakers: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        """How many keys are ready for a worker now."""
        return len(self._ready)

    @property
    def oldest_age(self) -> float:
        """How many seconds the first key has been ready for a worker; 0 if none is."""
        return self._clock() - self._ready[0][1] if self._ready else 0.0

    def add(self, key: Key) -> None:
        """Have `key` looked at as soon as a worker is free."""
        if key in self._queued:
            return
        self._queued.add(key)
        if key not in self._active:
            self._offer(key)

    def add_after(self, key: Key, delay: float) -> None:
        """Have `key` looked at in `delay` seconds; this replaces the time that was set for it before.

        The latest pass over a key has seen the most, so its word on when to look again counts.
        """
        self._cancel_timer(key)
        if delay <= 0:
            self.add(key)
        else:
            self._timers[key] = asyncio.get_running_loop().call_later(delay, self._on_time, key)

    def retry(self, key: Key, *, at_least: float = 0.0) -> float:
        """Have a failed `key` looked at again, later with every failure in a row.

        Args:
            key: the key that failed.
            at_least: seconds that the API has asked for (`Retry-After`).

        Returns:
            The seconds until then.
        """
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        # The exponent is bounded before the power is taken: a key may fail for weeks.
        delay = max(at_least, min(self.first_retry * 2.0 ** min(failures, 32), self._longest_retry))
        self.add_after(key, delay)
        return delay

    def forget_failures(self, key: Key) -> None:
        """Start the backoff of `key` from the beginning: it has succeeded."""
        self._failures.pop(key, None)

    def discard(self, key: Key) -> None:
        """Drop all that is remembered of a key whose resource is gone; a pass that has begun still ends."""
        self._cancel_timer(key)
        self.forget_failures(key)

    async def get(self) -> Key:
        """Wait for a key and hold it until `done`; a timer set for it is void, since the look is now."""
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

    def done(self, key: Key) -> None:
        """Release `key`; if it was added meanwhile, it is offered again."""
        self._active.discard(key)
        if key in self._queued:
            self._offer(key)

    def clear(self) -> None:
        """Drop all keys, timers and failures; called when the workers have ended."""
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
        # A worker cancelled just after it was woken must not take the wake-up with it.
        if waker.done() and not waker.cancelled() and self._ready:
            self._wake_one()

    def _on_time(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _cancel_timer(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
