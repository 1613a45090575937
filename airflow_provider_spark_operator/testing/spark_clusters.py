"""SparkClusters that follow a script, and scripts for the common cases."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeAlias

from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.names import LABEL_CLUSTER_NAME, LABEL_ROLE, ROLE_MASTER, ROLE_WORKER
from .scripting import ScriptTarget, build_running_container

__all__ = ["ScriptedSparkCluster", "be_refused", "come_up", "stay_without_workers"]


class ScriptedSparkCluster:
    """One SparkCluster. A script calls its methods, which act as the operator and the pods would.

    Attributes:
        name: Name of the SparkCluster.
        namespace: Namespace of the SparkCluster.
        uid: uid of the SparkCluster.
        document: The SparkCluster as it was created.
    """

    def __init__(self, cluster: ScriptTarget, document: JsonObject) -> None:
        self._cluster = cluster
        self.document = document
        self.name: str = document["metadata"]["name"]
        self.namespace: str = document["metadata"]["namespace"]
        self.uid: str = document["metadata"]["uid"]
        self._history: dict[str, JsonObject] = {}

    def enter(self, *states: str, message: str = "") -> None:
        """Write states into the status, one after the other, as the operator does.

        Args:
            *states: The states, for example "RunningHealthy".
            message: Message of each state, for the user. By default, the states have no message.
        """
        for state in states:
            entry = {"currentStateSummary": state, "lastTransitionTime": datetime.now(UTC).isoformat()}
            entry |= {"message": message} if message else {}
            self._history[str(len(self._history))] = entry
            status = {"currentState": entry, "stateTransitionHistory": dict(self._history)}
            self._cluster.write_cluster_status(self.namespace, self.name, status)

    def report(self, reason: str, message: str, *, warning: bool = False) -> None:
        """Record an Event about the SparkCluster, as the operator does while it holds or queues the SparkCluster.

        Args:
            reason: Reason of the Event, for example "KueueAdmissionPending".
            message: Message of the Event.
            warning: Whether the Event is a warning. The default is False.
        """
        self._cluster.record_event(self.document, reason, message, warning=warning)

    def start_master(self) -> None:
        """Create the master pod, ready."""
        self._create_pod(f"{self.name}-master-0", ROLE_MASTER)

    def start_workers(self, number: int) -> None:
        """Create worker pods, ready.

        Args:
            number: Number of workers to create.
        """
        for index in range(number):
            self._create_pod(f"{self.name}-worker-{index}", ROLE_WORKER)

    @property
    def workers(self) -> int:
        """The initial number of workers in the spec."""
        wanted: int = self.document["spec"]["clusterTolerations"]["instanceConfig"]["initWorkers"]
        return wanted

    def _create_pod(self, name: str, role: str) -> None:
        # In a real cluster a StatefulSet owns the pod. The readers of pods use the labels only.
        owner = {"apiVersion": self.document["apiVersion"], "kind": "SparkCluster", "name": self.name, "uid": self.uid}
        labels = {LABEL_CLUSTER_NAME: self.name, LABEL_ROLE: role}
        self._cluster.create_pod(self.namespace, name, labels, owner, build_running_container(role))


SparkClusterScript: TypeAlias = Callable[[ScriptedSparkCluster], Awaitable[None]]


async def come_up(cluster: ScriptedSparkCluster) -> None:
    """Become ready: with a master and the initial number of workers. This is the default script."""
    cluster.enter("Submitted", "RunningHealthy")
    cluster.start_master()
    cluster.start_workers(cluster.workers)


async def be_refused(cluster: ScriptedSparkCluster) -> None:
    """Fail, because the operator cannot create the resources."""
    cluster.enter("Submitted", "SchedulingFailure", message="a quota is exceeded")
    cluster.enter("ResourceReleased", message="see the state SchedulingFailure for the cause")


async def stay_without_workers(cluster: ScriptedSparkCluster) -> None:
    """Start a master, but no worker: the cluster never becomes ready."""
    cluster.enter("Submitted", "RunningHealthy")
    cluster.start_master()
