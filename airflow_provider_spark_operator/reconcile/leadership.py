"""Whether this process may write: the state that the election keeps, and the gate that every write passes."""

import asyncio
import math
import time
from collections.abc import Callable

from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.errors import KubeError

_READING = frozenset({"get", "list", "watch"})


class NotLeading(KubeError):
    """A write that was held back: another controller may lead by now."""


class Leadership:
    """Up to when this process leads.

    It ends by itself at its deadline: nobody has to be told, nor to be quick, for the writes to stop.

    Args:
        clock: seconds that never run backwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deadline = -math.inf
        self._gained = asyncio.Event()
        self._lost = asyncio.Event()
        self._lost.set()

    @classmethod
    def undisputed(cls) -> "Leadership":
        """That of somebody who has no rivals."""
        leadership = cls()
        leadership.extend(math.inf)
        return leadership

    @property
    def holds(self) -> bool:
        """Whether writing is allowed at this very moment."""
        return self._clock() < self._deadline

    @property
    def seconds_left(self) -> float:
        """How long it holds if nothing happens; 0 or less if it does not."""
        return self._deadline - self._clock()

    @property
    def has_lapsed(self) -> bool:
        """Whether its deadline is over and nobody has said so yet."""
        return self._gained.is_set() and not self.holds

    def extend(self, deadline: float) -> None:
        """Lead until `deadline`, by the clock."""
        self._deadline = deadline
        self._lost.clear()
        self._gained.set()

    def end(self) -> None:
        """Lead no more."""
        self._deadline = -math.inf
        self._gained.clear()
        self._lost.set()

    async def gained(self) -> None:
        """Wait until this process leads."""
        await self._gained.wait()

    async def lost(self) -> None:
        """Wait until this process leads no more; that the deadline is over is noticed by who calls `end`."""
        await self._lost.wait()

    async def gate(self, call: Call) -> None:
        """Let reads pass, and writes of the leader.

        Raises:
            NotLeading: it is a write, and the deadline is over.
        """
        if call.verb in _READING or self.holds:
            return
        message = "this controller does not lead, or could not renew its lease in time; another one goes on"
        raise NotLeading(None, "NotLeading", message, call.verb, call.rbac_resource, call.namespace, call.name)
