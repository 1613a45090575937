"""The place of one pod on the node."""

import asyncio

from ...api.kinds.status import ApiStatusError
from ..node.node import NO_PLACE, NODE_NAME, SCHEDULER_NAME, Node, find_scheduling_refusal
from ..node.pod_status import build_unschedulable_condition
from .pod_object import PodObject


class Placement:
    """Schedules one pod to the node, and releases its place afterwards.

    Args:
        node: State that all pods of the node share.
        pod: The object of the pod.
        termination: Set when the pod must terminate, with or without a place.
    """

    def __init__(self, node: Node, pod: PodObject, termination: asyncio.Event) -> None:
        self._node = node
        self._pod = pod
        self._termination = termination
        self._has_place = False

    async def acquire(self) -> bool:
        """Wait until the pod is bound to the node; False if it must terminate before.

        A pod of another scheduler is bound, too: there is no other scheduler.
        """
        if self._pod.document["spec"].get("nodeName"):
            return True
        refusal = find_scheduling_refusal(self._pod.document)
        if refusal:
            self._report_unschedulable(refusal)
            await self._termination.wait()
            return False
        if not await self._acquire_place():
            return False
        self._bind()
        return not self._termination.is_set()

    def release(self) -> None:
        """Give the place on the node to the next pod."""
        if self._has_place:
            self._node.places.release()

    async def _acquire_place(self) -> bool:
        """Wait for a place if all are taken; False if the pod must terminate before one is free."""
        places = self._node.places
        if not places.locked():
            self._has_place = await places.acquire()
            return True
        self._report_unschedulable(NO_PLACE)
        place = asyncio.ensure_future(places.acquire())
        termination = asyncio.ensure_future(self._termination.wait())
        try:
            await asyncio.wait({place, termination}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            termination.cancel()
            self._has_place = place.done() or not place.cancel()
        return self._has_place

    def _bind(self) -> None:
        try:
            self._pod.bind()
        except ApiStatusError:
            return  # the pod was deleted; the watch reports it
        message = f"Successfully assigned {self._pod.namespace}/{self._pod.name} to {NODE_NAME}"
        self._pod.record_event("Scheduled", message, component=SCHEDULER_NAME)

    def _report_unschedulable(self, message: str) -> None:
        self._pod.write_condition(build_unschedulable_condition(message, self._node.clock()))
        self._pod.record_event("FailedScheduling", message, component=SCHEDULER_NAME)
