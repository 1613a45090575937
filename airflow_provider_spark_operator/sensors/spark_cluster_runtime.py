"""The runtime of `SparkClusterSensor`. DAG files do not import it: it loads the Kubernetes client."""

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from airflow.sdk.types import RuntimeTaskInstanceProtocol

from ..airflow_compat import AirflowSensorTimeout
from ..exceptions import SparkApplicationError, SparkClusterDeleted, SparkSchedulingFailed
from ..hooks.connection import read_access
from ..hooks.loop import LoopThread
from ..hooks.task_stamp import stamp_of
from ..kube.connection import ClusterAccess
from ..links.spark_cluster import CLUSTER_LINKS
from ..links.target import Linked, LinkTarget
from ..links.url import push_links
from ..triggers.event import ApplicationEvent, EventKind
from ..triggers.spark_cluster import SparkClusterTrigger

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClusterWait:
    """The wait of one task for a cluster.

    Attributes:
        name: Name of the cluster.
        namespace: Namespace of the cluster. If None, the namespace of the connection is used.
        kubernetes_conn_id: The connection. If None, the default cluster is used.
        poke_interval: Seconds between two reads while the cluster does not exist.
        timeout: Seconds to wait.
        task_instance: The task instance that waits.
        sensor: The sensor, which gets the target of its links.
    """

    name: str
    namespace: str | None
    kubernetes_conn_id: str | None
    poke_interval: float
    timeout: float
    task_instance: RuntimeTaskInstanceProtocol
    sensor: Linked

    @property
    def trigger(self) -> SparkClusterTrigger:
        """The trigger that waits, in the triggerer or here."""
        return SparkClusterTrigger(
            name=self.name,
            namespace=self.namespace,
            kubernetes_conn_id=self.kubernetes_conn_id,
            poke_interval=self.poke_interval,
            stamp=asdict(stamp_of(self.task_instance)),
            delete_on_kill=False,
        )

    @property
    def timeout_message(self) -> str:
        """The message of a wait that timed out."""
        return f"SparkCluster {self.name} is not ready after {self.timeout:.0f} s"

    def read_connection(self) -> ClusterAccess:
        """Return the access to the cluster of the connection.

        Raises:
            AirflowException: The connection does not exist or is not valid.
        """
        return read_access(self.kubernetes_conn_id)

    def run(self, access: ClusterAccess) -> str:
        """Wait on the worker and return the name of the cluster.

        Args:
            access: The access to the cluster.

        Raises:
            AirflowException: The cluster failed or was deleted, or the wait timed out.
        """
        with LoopThread() as loop:
            try:
                event = loop.run(self.trigger.wait(access, self._show_links), timeout=self.timeout)
            except TimeoutError as error:
                raise AirflowSensorTimeout(self.timeout_message) from error
        return self.conclude(event)

    def resume(self, payload: Mapping[str, Any]) -> str:
        """Return the name of the cluster that the trigger's event reports as ready.

        Args:
            payload: The payload of the event.

        Raises:
            SparkApplicationError: The cluster failed or was deleted.
        """
        return self.conclude(ApplicationEvent.from_payload(payload))

    def conclude(self, event: ApplicationEvent) -> str:
        """Return the name of the cluster that `event` reports as ready.

        Raises:
            SparkApplicationError: The cluster failed or was deleted.
        """
        if event.kind is EventKind.REACHED:
            logger.info("%s", event.sentence)
            return event.name
        if event.kind is EventKind.DELETED:
            raise SparkClusterDeleted(event.sentence)
        if event.kind is EventKind.ENDED:
            raise SparkSchedulingFailed(event.sentence)
        raise SparkApplicationError(event.sentence)

    def _show_links(self, target: LinkTarget) -> None:
        self.sensor.link_target = target
        push_links(CLUSTER_LINKS, target, self.task_instance)
