"""How often is too often: looks at one resource, and requests to the API."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from airflow_provider_spark_operator.kube.call import Call, RequestGate
from airflow_provider_spark_operator.reconcile.cache import ObjectKey


@dataclass(frozen=True)
class LookLimit:
    """At most `count` looks at one resource in `period` seconds; a `count` of 0 or less is no limit."""

    count: int = 0
    period: float = 15.0


@dataclass(frozen=True)
class RequestLimit:
    """So many requests `per_second`, and `burst` at once after a rest; 0 or less per second is no limit."""

    per_second: float = 0.0
    burst: int = 0


class LookLimiter:
    """Holds back looks at resources that are looked at too often, each by itself.

    A period begins with the first look in it, as the Apache operator counts.

    Args:
        limit: may be changed at any time.
        clock: seconds that never run backwards.
    """

    def __init__(self, limit: LookLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self._clock = clock
        # Begin and number of looks of each period; those that began first stand first.
        self._periods: OrderedDict[ObjectKey, tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        """Of how many resources looks are counted."""
        return len(self._periods)

    def reserve(self, key: ObjectKey) -> float:
        """Count a reconcile of `key` and return 0; if the limit is reached, return the seconds until it is possible."""
        if self.limit.count <= 0:
            self._periods.clear()
            return 0.0
        now = self._clock()
        self._forget_before(now - self.limit.period)
        began, looks = self._periods.get(key, (now, 0))
        if looks >= self.limit.count:
            return began + self.limit.period - now
        self._periods[key] = began, looks + 1
        return 0.0

    def _forget_before(self, time: float) -> None:
        while self._periods:
            key, (began, _) = next(iter(self._periods.items()))
            if began > time:
                return
            del self._periods[key]


class RequestLimiter:
    """A bucket of tokens, one for each request to the API; those that find none wait, in their order.

    Args:
        limit: may be changed at any time.
        clock: seconds that never run backwards.
    """

    def __init__(self, limit: RequestLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self._clock = clock
        self._tokens = float(limit.burst)
        self._counted = clock()

    async def gate(self, _: Call) -> None:
        """Wait until the request may be sent; all count, whatever they are."""
        seconds = self.reserve()
        if seconds > 0:
            await asyncio.sleep(seconds)

    def reserve(self) -> float:
        """Take a token, if need be one that is not there yet; return the seconds until it is."""
        if self.limit.per_second <= 0:
            return 0.0
        now = self._clock()
        gained = (now - self._counted) * self.limit.per_second
        self._tokens = min(max(self.limit.burst, 1.0), self._tokens + gained) - 1
        self._counted = now
        return max(0.0, -self._tokens / self.limit.per_second)


def in_turn(*gates: RequestGate) -> RequestGate:
    """One gate out of several: they are passed in this order, so that the last one sees the latest state."""

    async def gate(call: Call) -> None:
        for each in gates:
            await each(call)

    return gate
