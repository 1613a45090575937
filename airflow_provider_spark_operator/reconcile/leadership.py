"""The result of the leader election: whether this process may write, and the check before every write."""

import asyncio
import math
import time
from collections.abc import Callable

from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.errors import KubeError

_READ_VERBS = frozenset({"get", "list", "watch"})


class NotLeading(KubeError):
    """A write that was not sent: another controller may be the leader by now."""


class Leadership:
    """The state of the election: whether this process is the leader, and until when.

    Leadership ends by itself at its deadline: writes stop without any further action.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deadline = -math.inf
        self._gained = asyncio.Event()
        self._lost = asyncio.Event()
        self._lost.set()

    @classmethod
    def without_election(cls) -> "Leadership":
        """Return permanent leadership, for a controller that is the only one."""
        leadership = cls()
        leadership.extend(math.inf)
        return leadership

    @property
    def is_held(self) -> bool:
        """Whether this process may write now."""
        return self._clock() < self._deadline

    @property
    def seconds_left(self) -> float:
        """The seconds until the deadline; 0 or less if it has passed."""
        return self._deadline - self._clock()

    @property
    def has_lapsed(self) -> bool:
        """Whether the deadline has passed and `end` has not been called yet."""
        return self._gained.is_set() and not self.is_held

    def extend(self, deadline: float) -> None:
        """Be the leader until `deadline`, by the clock."""
        self._deadline = deadline
        self._lost.clear()
        self._gained.set()

    def end(self) -> None:
        """End the leadership."""
        self._deadline = -math.inf
        self._gained.clear()
        self._lost.set()

    async def wait_until_gained(self) -> None:
        """Wait until this process is the leader."""
        await self._gained.wait()

    async def wait_until_lost(self) -> None:
        """Wait until `end` is called."""
        await self._lost.wait()

    def check(self, call: Call) -> None:
        """Permit reads, and the writes of the leader.

        Raises:
            NotLeading: The call is a write, and this process is not the leader.
        """
        if call.verb in _READ_VERBS or self.is_held:
            return
        message = "this controller is not the leader, or could not renew its lease in time; the next leader continues"
        raise NotLeading(None, "NotLeading", message, call.verb, call.rbac_resource, call.namespace, call.name)
