"""Wait for a SparkCluster in the triggerer; a worker that does not defer waits by the same code."""

from collections.abc import AsyncIterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_spark_operator.triggers.event import ApplicationEvent
from airflow_provider_spark_operator.triggers.lifecycle import FORMAT_VERSION, Lifecycle

if TYPE_CHECKING:
    from airflow_provider_spark_operator.kube.connection import ClusterAccess
    from airflow_provider_spark_operator.triggers.spark_cluster_runtime import ClusterWatch


class SparkClusterTrigger(BaseTrigger):
    """Fires once, when a SparkCluster can be used, has failed, is gone, or the time is over.

    The arguments are stored in Airflow's database in clear, and hold no secret. The event is an
    `ApplicationEvent`: REACHED when the cluster is ready, ENDED when it has failed.

    Args:
        name: Of the SparkCluster.
        namespace: None for the connection's.
        uid: Which one of that name; None for any, which need not exist yet.
        kubernetes_conn_id: The connection to read where it is.
        api_version: Of the resource.
        stamp: The fields of a `TaskStamp`: whose it is. Without it a kill deletes nothing.
        deadline: ISO 8601 time after which to stop waiting; None for no end.
        delete_on_kill: Delete the cluster when a person kills the task.
        connection_required: The connection existed when the cluster was created: no other one may stand for it.
        poke_interval: Seconds between two looks for a cluster that does not exist yet.
        version: Of these arguments.
        **later: Arguments that a later release added; an older one that finds them does without.
    """

    def __init__(
        self,
        name: str,
        namespace: str | None = None,
        uid: str | None = None,
        kubernetes_conn_id: str | None = None,
        api_version: str = "spark.apache.org/v1",
        stamp: Mapping[str, Any] | None = None,
        deadline: str | None = None,
        delete_on_kill: bool = True,
        connection_required: bool = False,
        poke_interval: float = 60.0,
        version: int = FORMAT_VERSION,
        **later: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.name = name
        self.namespace = namespace
        self.uid = uid
        self.kubernetes_conn_id = kubernetes_conn_id
        self.api_version = api_version
        self.stamp = dict(stamp) if stamp else None
        self.deadline = deadline
        self.delete_on_kill = delete_on_kill
        self.connection_required = connection_required
        self.poke_interval = poke_interval
        self.version = version
        self._lifecycle = Lifecycle(self, later)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments, as Airflow stores them."""
        return self._lifecycle.serialize()

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and fire the one event."""
        yield await self._lifecycle.fire(self._watch.run())

    async def wait(self, access: "ClusterAccess") -> ApplicationEvent:
        """Wait on a worker. Whatever happens to the cluster or to the API becomes an event.

        Args:
            access: The access to the Kubernetes cluster.
        """
        return await self._watch.wait(access)

    async def on_kill(self) -> None:
        """Delete the cluster if a person has killed the task, and if this try still owns it."""
        if self.delete_on_kill and self.stamp is not None and self.uid is not None:
            await self._lifecycle.kill(self._watch.delete_if_killed, self._watch.subject)

    @cached_property
    def _watch(self) -> "ClusterWatch":
        from airflow_provider_spark_operator.triggers.spark_cluster_runtime import ClusterWatch

        return ClusterWatch(
            name=self.name,
            namespace=self.namespace,
            uid=self.uid,
            kubernetes_conn_id=self.kubernetes_conn_id,
            api_version=self.api_version,
            stamp=self.stamp,
            deadline=self.deadline,
            connection_required=self.connection_required,
            poke_interval=self.poke_interval,
        )
