"""The termination of one pod: its grace period, its deadline and its eviction."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from ..node.pod_status import Eviction
from .pod_containers import PodContainers
from .pod_object import PodObject
from .status_writer import StatusWriter

_DEADLINE = Eviction("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
_DEFAULT_GRACE = 30.0


class Termination:
    """Terminates the containers of one pod on request, at its deadline, or because the node evicts it.

    Args:
        pod: The object of the pod.
        containers: The containers of the pod.
        status: Writes the status of the pod.
        clock: Returns the current time.

    Attributes:
        requested: Set when the pod must terminate.
    """

    def __init__(
        self, pod: PodObject, containers: PodContainers, status: StatusWriter, clock: Callable[[], datetime]
    ) -> None:
        self.requested = asyncio.Event()
        self._pod = pod
        self._containers = containers
        self._status = status
        self._clock = clock
        self._kill_timer: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def request(self, grace: float) -> None:
        """Ask the containers to terminate, and kill them after a grace period.

        Args:
            grace: The grace period in seconds; a later request can shorten it.
        """
        if not self.requested.is_set():
            self.requested.set()
            if self._containers.are_running:
                self._pod.record_event("Killing", "Stopping the containers of the pod")
            self._containers.terminate()
        self._kill_after(grace)

    def evict(self, eviction: Eviction, grace: float = 0.0) -> None:
        """Terminate the pod because the node cannot or must not run it any longer; the first eviction counts.

        Args:
            eviction: The reason, for the status of the pod.
            grace: The grace period in seconds.
        """
        if self._status.eviction is None:
            self._status.eviction = eviction
            self._pod.record_event(eviction.reason, eviction.message)
            self.request(grace)
            self._status.publish()

    def start_deadline(self) -> None:
        """Start the timer of `activeDeadlineSeconds`, or start it again after a change of the pod."""
        document = self._pod.document
        seconds = document["spec"].get("activeDeadlineSeconds")
        started = (document.get("status") or {}).get("startTime")
        if seconds is None or started is None or self.requested.is_set():
            return
        if self._deadline:
            self._deadline.cancel()
        left = seconds - (self._clock() - datetime.fromisoformat(started)).total_seconds()
        self._deadline = asyncio.get_running_loop().call_later(max(left, 0), self._exceed_deadline)

    async def finish_sidecars(self) -> None:
        """Terminate the sidecars after the main containers, and wait until they have terminated."""
        if not self._containers.has_sidecar_runs:
            return
        self._containers.terminate_sidecars()
        if not self._kill_timer:
            self._kill_after(self._grace_period or _DEFAULT_GRACE)
        await self._containers.wait_for_sidecars()

    def cancel_timers(self) -> None:
        """Cancel the scheduled kill and the deadline."""
        for timer in (self._kill_timer, self._deadline):
            if timer:
                timer.cancel()

    @property
    def _grace_period(self) -> float:
        """The grace period in the pod's specification, in seconds; 0 if it has none."""
        return float(self._pod.document["spec"].get("terminationGracePeriodSeconds") or 0)

    def _exceed_deadline(self) -> None:
        self.evict(_DEADLINE, self._grace_period)

    def _kill_after(self, seconds: float) -> None:
        """Kill all containers after `seconds`, unless an earlier kill is scheduled."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        # Every change of a deleted pod repeats its whole grace period.
        if self._kill_timer and seconds > 0 and self._kill_timer.when() <= end:
            return
        if self._kill_timer:
            self._kill_timer.cancel()
        if seconds > 0:
            self._kill_timer = loop.call_at(end, self._containers.kill)
        else:
            self._containers.kill()
