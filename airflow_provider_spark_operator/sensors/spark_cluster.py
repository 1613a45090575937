"""Wait for a SparkCluster that another task or program creates."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink, BaseSensorOperator, Context

from ..airflow_compat import conf, is_of_earlier_try, take_retry_policy
from ..core.parameters import arguments
from ..links.spark_cluster import CLUSTER_LINKS
from .soft_failure import keep_reasons, start_wait

if TYPE_CHECKING:
    from ..links.target import LinkTarget
    from ..triggers.spark_cluster import SparkClusterTrigger
    from .runtime import Wait

__all__ = ["SparkClusterSensor"]


class SparkClusterSensor(BaseSensorOperator):
    """Wait until a SparkCluster can run applications: its master and its workers are ready.

    The sensor fails immediately (or is skipped, with `soft_fail`) if the cluster has failed or is deleted. The return
    value is the name of the cluster.

    Args:
        name: Name of the cluster, which need not exist yet.
        namespace: Namespace of the cluster. If None, the namespace of the connection is used.
        kubernetes_conn_id: Id of a connection to a Kubernetes cluster. If None, the default Kubernetes cluster is
            used: the one in which Airflow runs, or that of the local kubeconfig. The default is `kubernetes_default`.
        deferrable: Wait in the triggerer, so that the task does not occupy a worker. The default is `[operators]
            default_deferrable` of Airflow's configuration.
        **kwargs: Arguments that Airflow accepts for all sensors. `timeout` limits the wait in seconds. `poke_interval`
            is the number of seconds between two reads while the cluster does not exist; an existing cluster is watched.
            `mode="reschedule"` is supported only if the sensor is deferrable.

    Raises:
        TypeError: A switch is not a boolean.
        ValueError: A name is not a valid Kubernetes name, or the `mode` is not supported.
    """

    template_fields: Sequence[str] = ("name", "namespace", "kubernetes_conn_id")
    operator_extra_links: Sequence[BaseOperatorLink] = CLUSTER_LINKS
    ui_color = "#f6e3c5"

    def __init__(
        self,
        *,
        name: str,
        namespace: str | None = None,
        kubernetes_conn_id: str | None = arguments.DEFAULT_CONNECTION_ID,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**take_retry_policy(kwargs))
        arguments.check_booleans(deferrable=deferrable)
        arguments.check_sensor_mode(self.mode, type(self).__name__, deferrable=deferrable)
        arguments.check_existing_name(name, namespace)
        arguments.check_connection_id(kubernetes_conn_id)
        self.name = name
        self.namespace = namespace
        self.kubernetes_conn_id = kubernetes_conn_id
        self.deferrable = deferrable
        self.link_target: LinkTarget | None = None
        self.resumed = False

    def execute(self, context: Context) -> str:
        """Wait for the cluster; see the class."""
        self.resumed = self.deferrable  # the trigger may store the links before Airflow asks this process for them
        return start_wait(self, self._create_wait(context), deferrable=self.deferrable)

    def execute_complete(self, context: Context, event: Mapping[str, Any] | None = None) -> str:
        """Return the name of the ready cluster. `resume_execution` turns an exception into a skip."""
        return self._create_wait(context).resume(event or {})

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Resume after the deferral, and add the reason to a failure."""
        if is_of_earlier_try(next_kwargs, context["ti"].try_number):
            return self.execute(context)
        self.resumed = True
        with keep_reasons(self, self._create_wait(context).timeout_message):
            return super().resume_execution(next_method, next_kwargs, context)

    def _create_wait(self, context: Context) -> "Wait[SparkClusterTrigger]":
        from .runtime import create_cluster_wait

        return create_cluster_wait(self, context["ti"])
