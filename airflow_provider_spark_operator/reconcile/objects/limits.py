"""The maximum rates of reconciles of one resource and of requests to the API."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ...kube.call import Call
from .cache import ObjectKey


@dataclass(frozen=True)
class ReconcileLimit:
    """At most `count` reconciles of one resource in `period` seconds; a `count` of 0 or less is no limit."""

    count: int = 0
    period: float = 15.0


@dataclass(frozen=True)
class RequestLimit:
    """At most `per_second` requests per second, with bursts of `burst`; 0 or less per second is no limit."""

    per_second: float = 0.0
    burst: int = 0


class ReconcileLimiter:
    """Limits the rate of reconciles, for each resource separately.

    As in the Apache operator, a period begins with its first reconcile.

    Args:
        limit: The limit. Can be changed at any time.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, limit: ReconcileLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self._clock = clock
        # Start and number of reconciles of each period, the oldest period first.
        self._periods: OrderedDict[ObjectKey, tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        """The number of resources whose reconciles are counted."""
        return len(self._periods)

    def reserve(self, key: ObjectKey) -> float:
        """Count a reconcile of `key`, if the limit permits it.

        Returns:
            0 if the reconcile was counted; otherwise the seconds until a reconcile is possible.
        """
        if self.limit.count <= 0:
            self._periods.clear()
            return 0.0
        now = self._clock()
        self._forget_before(now - self.limit.period)
        began, count = self._periods.get(key, (now, 0))
        if count >= self.limit.count:
            return began + self.limit.period - now
        self._periods[key] = began, count + 1
        return 0.0

    def _forget_before(self, time: float) -> None:
        while self._periods:
            key, (began, _) = next(iter(self._periods.items()))
            if began > time:
                return
            del self._periods[key]


class RequestLimiter:
    """A token bucket for requests to the API. A request without a token waits, in order.

    Args:
        limit: The limit. Can be changed at any time.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, limit: RequestLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self._clock = clock
        self._tokens = float(limit.burst)
        self._counted = clock()

    async def gate(self, _: Call) -> None:
        """Wait until the request can be sent. All requests count."""
        seconds = self.reserve()
        if seconds > 0:
            await asyncio.sleep(seconds)

    def reserve(self) -> float:
        """Take a token, possibly a future one; return the seconds until it exists."""
        if self.limit.per_second <= 0:
            return 0.0
        now = self._clock()
        new_tokens = (now - self._counted) * self.limit.per_second
        self._tokens = min(max(self.limit.burst, 1.0), self._tokens + new_tokens) - 1
        self._counted = now
        return max(0.0, -self._tokens / self.limit.per_second)
