"""Wait for a SparkCluster in the triggerer. A task that does not defer runs the same code on its worker."""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from ..core.kubernetes.names import DEFAULT_API_VERSION
from .event import ApplicationEvent
from .lifecycle import FORMAT_VERSION, Lifecycle

if TYPE_CHECKING:
    from ..kube.connection import ClusterAccess
    from .spark_cluster_runtime import ClusterWatch
    from .xcoms import ShowLinks

__all__ = ["SparkClusterTrigger"]


class SparkClusterTrigger(BaseTrigger):
    """Fires once: when the SparkCluster is ready, has failed or was deleted, or when the deadline has passed.

    Airflow stores the arguments in its database in plain text. They contain no secrets. The event is an
    `ApplicationEvent`: REACHED if the cluster is ready, ENDED if it has failed.

    Args:
        name: Name of the SparkCluster.
        namespace: Namespace of the SparkCluster. If None, the namespace of the connection is used.
        uid: uid of the SparkCluster. If None, any SparkCluster of the name is meant, which need not exist yet.
        kubernetes_conn_id: Id of the connection to the Kubernetes cluster. If None, the default cluster is used.
        api_version: apiVersion of the SparkCluster. The default is that of the Apache operator.
        stamp: Fields that identify the try that owns the SparkCluster, as the operator of this package writes them. If
            None, the SparkCluster is not deleted when a user stops the task.
        deadline: Time after which the wait ends, in ISO 8601 with the offset, for example "2026-01-31T12:00:00+00:00".
            If None, there is no limit.
        ready_seconds: Seconds after which the wait ends, without the time in which Kueue or `spec.suspend` holds the
            SparkCluster. If None, there is no such limit. If another triggerer continues the wait, the time starts
            again at 0.
        delete_on_kill: Whether to delete the SparkCluster if a user stops the task.
        connection_required: Whether the connection existed when the SparkCluster was created. If the connection was
            deleted since then, the trigger reports an error instead of looking for the SparkCluster in the default
            cluster.
        poke_interval: Seconds between two reads while the SparkCluster does not exist. The default is 60.
        secret_places: Where the SparkCluster contains secrets, as the operator of this package writes it. The trigger
            masks the values at these places in the log of the task and in the event.
        version: Version of the format of these arguments. Leave it out.
        **later: Arguments that a later release added. They are ignored.
    """

    def __init__(
        self,
        name: str,
        namespace: str | None = None,
        uid: str | None = None,
        kubernetes_conn_id: str | None = None,
        api_version: str = DEFAULT_API_VERSION,
        stamp: Mapping[str, Any] | None = None,
        deadline: str | None = None,
        delete_on_kill: bool = True,
        connection_required: bool = False,
        poke_interval: float = 60.0,
        version: int = FORMAT_VERSION,
        ready_seconds: float | None = None,
        secret_places: Sequence[Any] = (),
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
        self.ready_seconds = ready_seconds
        self.secret_places = list(secret_places)
        self.version = version
        self._lifecycle = Lifecycle(self, later, "SparkCluster")

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments, as Airflow stores them."""
        return self._lifecycle.serialize()

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and fire the event."""
        if_interrupted = self._watch.delete if self.delete_on_kill and self.uid is not None else None
        yield await self._lifecycle.fire(self._watch.run(), if_interrupted=if_interrupted)

    async def wait(self, access: "ClusterAccess", show_links: "ShowLinks | None" = None) -> ApplicationEvent:
        """Wait on a worker. Whatever happens to the cluster or to the API becomes an event.

        Args:
            access: The access to the Kubernetes cluster.
            show_links: Called once with the target of the links of the task, when a cluster without a known `uid`
                exists. If None, nothing is called.
        """
        return await self._watch.wait(access, show_links)

    async def on_kill(self) -> None:
        """Delete the cluster if a user has stopped the task, and if this try still owns the cluster."""
        if self.delete_on_kill and self.stamp is not None and self.uid is not None:
            await self._lifecycle.kill(self._watch.delete_if_killed, self._watch.subject)

    async def cleanup(self) -> None:
        """Call `on_kill` if a user may have stopped the task. Airflow 3.3 and newer call it themselves."""
        await self._lifecycle.clean_up(self.on_kill)

    @cached_property
    def _watch(self) -> "ClusterWatch":
        from .spark_cluster_runtime import ClusterWatch

        return ClusterWatch(self)
