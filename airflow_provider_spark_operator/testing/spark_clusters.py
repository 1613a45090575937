"""SparkClusters that do as a script says, and scripts for the common cases."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeAlias

from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.names import LABEL_CLUSTER_NAME, LABEL_ROLE, ROLE_MASTER, ROLE_WORKER
from airflow_provider_spark_operator.testing.pods import container_running
from airflow_provider_spark_operator.testing.target import ScriptTarget


class SparkCluster:
    """What a script does to one SparkCluster. Everything runs on the cluster's loop.

    Attributes:
        name: Of the SparkCluster, as `namespace` and `uid`.
        document: The SparkCluster when it was created.
    """

    def __init__(self, cluster: ScriptTarget, document: JsonObject) -> None:
        self._cluster = cluster
        self.document = document
        self.name: str = document["metadata"]["name"]
        self.namespace: str = document["metadata"]["namespace"]
        self.uid: str = document["metadata"]["uid"]

    def enter(self, *states: str, message: str = "") -> None:
        """Move through states, as an operator writes them."""
        for state in states:
            entry = {"currentStateSummary": state, "lastTransitionTime": datetime.now(UTC).isoformat()}
            entry |= {"message": message} if message else {}
            self._cluster.write_cluster_status(self.namespace, self.name, {"currentState": entry})

    def start_master(self) -> None:
        """Let the master be ready."""
        self._pod(f"{self.name}-master-0", ROLE_MASTER)

    def start_workers(self, number: int) -> None:
        """Let so many workers be ready."""
        for index in range(number):
            self._pod(f"{self.name}-worker-{index}", ROLE_WORKER)

    @property
    def workers(self) -> int:
        """How many workers it begins with."""
        wanted: int = self.document["spec"]["clusterTolerations"]["instanceConfig"]["initWorkers"]
        return wanted

    def _pod(self, name: str, role: str) -> None:
        # In truth a StatefulSet is between them; nobody who waits for a cluster asks for that.
        owner = {"apiVersion": self.document["apiVersion"], "kind": "SparkCluster", "name": self.name, "uid": self.uid}
        labels = {LABEL_CLUSTER_NAME: self.name, LABEL_ROLE: role}
        self._cluster.create_pod(self.namespace, name, labels, owner, container_running(role))


SparkClusterScript: TypeAlias = Callable[[SparkCluster], Awaitable[None]]


async def come_up(cluster: SparkCluster) -> None:
    """Be accepted, and have master and workers ready."""
    cluster.enter("Submitted", "RunningHealthy")
    cluster.start_master()
    cluster.start_workers(cluster.workers)


async def be_refused(cluster: SparkCluster) -> None:
    """Not be creatable."""
    cluster.enter("Submitted", "SchedulingFailure", "Failed", message="a quota is exceeded")


async def stay_without_workers(cluster: SparkCluster) -> None:
    """Be accepted, and have a master only."""
    cluster.enter("Submitted", "RunningHealthy")
    cluster.start_master()
