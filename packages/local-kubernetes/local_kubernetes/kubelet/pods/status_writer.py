"""Writes the status of one pod."""

from collections.abc import Callable
from datetime import datetime

from ...api.kinds.documents import JsonObject
from ..node.pod_status import Eviction, build_pod_status
from .pod_containers import PodContainers
from .pod_object import PodObject


class StatusWriter:
    """Writes the status of one pod that is bound to the node.

    Args:
        pod: The object of the pod.
        containers: The containers of the pod.
        clock: Returns the current time.

    Attributes:
        eviction: The reason why the node ended the pod; None if it did not.
        volumes_made: Whether the volumes of the pod exist.
    """

    def __init__(self, pod: PodObject, containers: PodContainers, clock: Callable[[], datetime]) -> None:
        self.eviction: Eviction | None = None
        self.volumes_made = False
        self._pod = pod
        self._containers = containers
        self._clock = clock

    def publish(self) -> None:
        """Write the current status; a node that stops leaves the last status, as after a crash."""
        if not self._pod.gone.is_set():
            self._pod.write_status(self._with_status)

    def _with_status(self, pod: JsonObject) -> JsonObject:
        init, main = self._containers.init_records, self._containers.main_records
        status = build_pod_status(pod, init, main, self._clock(), self.eviction, volumes_made=self.volumes_made)
        return pod | {"status": status}
