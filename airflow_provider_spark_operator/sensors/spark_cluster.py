"""Wait for a SparkCluster that somebody else has created."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, conf
from airflow.sdk.exceptions import AirflowSensorTimeout

from airflow_provider_spark_operator.core.arguments import check_booleans, check_existing_name, check_sensor_mode
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationError,
    SparkClusterDeleted,
    SparkSchedulingFailed,
)
from airflow_provider_spark_operator.hooks.spark import DEFAULT_CONNECTION_ID, access_from_connection
from airflow_provider_spark_operator.sensors.soft_failure import failures_skipped, reasons_kept

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_spark_operator.triggers.event import ApplicationEvent
    from airflow_provider_spark_operator.triggers.spark_cluster import SparkClusterTrigger


class SparkClusterSensor(BaseSensorOperator):
    """Wait until applications can run on a cluster: its master and workers are ready.

    A cluster that could not be created, or is deleted, fails the sensor at once (or skips it, with `soft_fail`).
    The return value is the cluster's name.

    Args:
        name: Of the cluster, which need not exist yet.
        namespace: None for the connection's.
        kubernetes_conn_id: A connection of type `kubernetes`; None for the default cluster.
        deferrable: Wait in the triggerer, without a worker. The default is `[operators] default_deferrable`.
        **kwargs: Airflow's own arguments for every sensor. `poke_interval` is the time between two looks for
            a cluster that does not exist yet; one that exists is watched. `mode="reschedule"` is refused,
            unless the sensor is deferrable.

    Raises:
        TypeError: A switch is not a boolean.
        ValueError: A name is no Kubernetes name, or the `mode` is not supported.
    """

    template_fields: Sequence[str] = ("name", "namespace", "kubernetes_conn_id")
    ui_color = "#f6e3c5"

    def __init__(
        self,
        *,
        name: str,
        namespace: str | None = None,
        kubernetes_conn_id: str | None = DEFAULT_CONNECTION_ID,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_booleans(deferrable=deferrable)
        check_sensor_mode(self.mode, type(self).__name__, deferrable=deferrable)
        check_existing_name(name, namespace)
        self.name = name
        self.namespace = namespace
        self.kubernetes_conn_id = kubernetes_conn_id
        self.deferrable = deferrable

    def execute(self, context: "Context") -> str:  # noqa: ARG002 - Airflow's signature
        """Wait; see the class."""
        from airflow_provider_spark_operator.triggers.loop import LoopThread

        trigger = self._trigger()
        if self.deferrable:
            self.defer(trigger=trigger, method_name="execute_complete", timeout=self.timeout)
        access = access_from_connection(self.kubernetes_conn_id)
        with LoopThread() as loop, failures_skipped(self):
            try:
                event = loop.run(trigger.wait(access), timeout=self.timeout)
            except TimeoutError as error:
                raise AirflowSensorTimeout(self._late()) from error
            return self._conclude(event)

    def execute_complete(
        self,
        context: "Context",  # noqa: ARG002 - Airflow's signature
        event: Mapping[str, Any] | None = None,
    ) -> str:
        """End once the trigger has fired. What is raised here `resume_execution` turns into a skip."""
        from airflow_provider_spark_operator.triggers.event import ApplicationEvent

        return self._conclude(ApplicationEvent.from_payload(event or {}))

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: "Context") -> Any:
        """Resume after the deferral, and say why it is over."""
        with reasons_kept(self._late()):
            return super().resume_execution(next_method, next_kwargs, context)

    def _late(self) -> str:
        return f"SparkCluster {self.name} is not ready after {self.timeout:.0f} s"

    def _trigger(self) -> "SparkClusterTrigger":
        from airflow_provider_spark_operator.triggers.spark_cluster import SparkClusterTrigger

        return SparkClusterTrigger(
            name=self.name,
            namespace=self.namespace,
            kubernetes_conn_id=self.kubernetes_conn_id,
            poke_interval=self.poke_interval,
        )

    def _conclude(self, event: "ApplicationEvent") -> str:
        from airflow_provider_spark_operator.triggers.event import EventKind

        if event.kind is EventKind.REACHED:
            self.log.info("%s", event.sentence)
            return event.name
        if event.kind is EventKind.DELETED:
            raise SparkClusterDeleted(event.sentence)
        if event.kind is EventKind.ENDED:
            raise SparkSchedulingFailed(event.sentence)
        raise SparkApplicationError(event.sentence)
