"""The interface of the scripted cluster that scripts use."""

from collections.abc import Callable
from typing import Protocol

from ..core.kubernetes.json_object import JsonObject
from .log import Log


class ScriptTarget(Protocol):
    """The writes of a script to its cluster. All calls are on the cluster's thread.

    Attributes:
        logs: The logs of the containers, by namespace and pod.
    """

    logs: dict[tuple[str, str], Log]

    def write_status(self, namespace: str, name: str, change: Callable[[JsonObject], JsonObject]) -> None:
        """Change the status of an application."""

    def write_cluster_status(self, namespace: str, name: str, status: JsonObject) -> None:
        """Write the status of a SparkCluster."""

    def create_pod(
        self, namespace: str, name: str, labels: JsonObject, owner: JsonObject, container: JsonObject
    ) -> JsonObject:
        """Create a running pod with one container, and return it."""

    def set_pod_status(self, namespace: str, name: str, status: JsonObject) -> None:
        """Write the status of a pod."""

    def end_pod(self, namespace: str, name: str, container: JsonObject) -> JsonObject:
        """Terminate a pod with the status of its container, and return the status of the pod."""

    def record_event(self, document: JsonObject, reason: str, message: str, *, warning: bool) -> None:
        """Record an Event about an application or a SparkCluster."""

    def delete_pod(self, namespace: str, name: str) -> None:
        """Delete a pod without a grace period."""
