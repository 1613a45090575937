"""The runtime of the sensors: wait, report the result, delete the application.

DAG files do not import this module: it loads the Kubernetes client.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from airflow.sdk.types import RuntimeTaskInstanceProtocol

from .. import exceptions
from ..airflow_compat import AirflowSensorTimeout
from ..core.kubernetes.times import read_time
from ..hooks.connection import read_access
from ..hooks.loop import CANCEL_SECONDS, LoopThread
from ..hooks.task_stamp import stamp_of
from ..kube.connection import ClusterAccess
from ..kube.errors import describe_error
from ..links.spark_application import LINKS
from ..links.spark_cluster import CLUSTER_LINKS
from ..links.target import LinkTarget
from ..links.url import TargetLink, push_links
from ..triggers.event import ApplicationEvent, EventKind
from ..triggers.spark_application import SparkApplicationStateTrigger
from ..triggers.spark_cluster import SparkClusterTrigger

if TYPE_CHECKING:
    from .spark_application import SparkApplicationSensor
    from .spark_cluster import SparkClusterSensor

logger = logging.getLogger(__name__)

_Trigger = TypeVar("_Trigger", SparkApplicationStateTrigger, SparkClusterTrigger)


@dataclass(frozen=True)
class Wait(Generic[_Trigger]):
    """The wait of one task instance for a resource.

    Attributes:
        sensor: The sensor, which gets the target of its links.
        task_instance: The task instance.
        trigger: The trigger that waits, in the triggerer or here.
        links: The links of the task.
        timeout_message: The message of a wait that timed out.
        conclude: Returns the result of the task after an event of the trigger, or raises its failure.
    """

    sensor: "SparkApplicationSensor | SparkClusterSensor"
    task_instance: RuntimeTaskInstanceProtocol
    trigger: _Trigger
    links: Sequence[TargetLink]
    timeout_message: str
    conclude: Callable[[ApplicationEvent], str]

    def read_connection(self) -> ClusterAccess:
        """Return the access to the cluster of the connection.

        Raises:
            AirflowException: The connection does not exist or is not valid.
        """
        return read_access(self.sensor.kubernetes_conn_id)

    def run(self, access: ClusterAccess) -> str:
        """Wait on the worker and return the result.

        Args:
            access: The access to the cluster.

        Raises:
            AirflowException: The resource can no longer become what the sensor expects, or the wait timed out.
        """
        with LoopThread() as loop:
            try:
                event = loop.run(self.trigger.wait(access, self._show_links), timeout=self.sensor.timeout)
            except TimeoutError as error:
                raise AirflowSensorTimeout(self.timeout_message) from error
        return self.conclude(event)

    def resume(self, payload: Mapping[str, Any]) -> str:
        """Return the result that the trigger's event reports.

        Args:
            payload: The payload of the event.

        Raises:
            SparkApplicationError: The resource can no longer become what the sensor expects.
        """
        return self.conclude(ApplicationEvent.from_payload(payload))

    def _show_links(self, target: LinkTarget) -> None:
        self.sensor.link_target = target
        push_links(self.links, target, self.task_instance)


def create_application_wait(
    sensor: "SparkApplicationSensor", task_instance: RuntimeTaskInstanceProtocol
) -> Wait[SparkApplicationStateTrigger]:
    """Return the wait for an application, whose result is the state that the application has reached."""
    trigger = SparkApplicationStateTrigger(
        name=sensor.name,
        expects=sensor.expects,
        namespace=sensor.namespace,
        kubernetes_conn_id=sensor.kubernetes_conn_id,
        api_version=sensor.api_version,
        poke_interval=sensor.poke_interval,
        stamp=asdict(stamp_of(task_instance)),
        delete_on_kill=sensor.delete_on_kill,
    )
    states = " or ".join(sensor.expects)
    message = f"SparkApplication {sensor.name} has not reached {states} within {sensor.timeout:.0f} s"
    return Wait(sensor, task_instance, trigger, LINKS, message, partial(_conclude_application, sensor))


def create_cluster_wait(
    sensor: "SparkClusterSensor", task_instance: RuntimeTaskInstanceProtocol
) -> Wait[SparkClusterTrigger]:
    """Return the wait for a SparkCluster, whose result is the name of the cluster."""
    trigger = SparkClusterTrigger(
        name=sensor.name,
        namespace=sensor.namespace,
        kubernetes_conn_id=sensor.kubernetes_conn_id,
        poke_interval=sensor.poke_interval,
        stamp=asdict(stamp_of(task_instance)),
        delete_on_kill=False,
    )
    message = f"SparkCluster {sensor.name} is not ready after {sensor.timeout:.0f} s"
    return Wait(sensor, task_instance, trigger, CLUSTER_LINKS, message, _conclude_cluster)


def delete_application(wait: Wait[SparkApplicationStateTrigger]) -> None:
    """Delete the application if a task of the same DAG run submitted it. Log a problem instead of raising."""
    with _log_failure(wait):  # the task fails because of the timeout
        access = wait.read_connection()
        with LoopThread() as loop:
            loop.run(wait.trigger.delete(access), timeout=CANCEL_SECONDS)


def delete_killed_application(wait: Wait[SparkApplicationStateTrigger]) -> None:
    """Delete the application as `delete_application` does, if a user has stopped the task."""
    with _log_failure(wait), LoopThread() as loop:  # Airflow discards exceptions of a signal handler
        loop.run(wait.trigger.delete_if_killed(), timeout=CANCEL_SECONDS)


@contextmanager
def _log_failure(wait: Wait[SparkApplicationStateTrigger]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        cause = describe_error(error, CANCEL_SECONDS)
        logger.warning("could not delete %s, which may still be running: %s", wait.sensor.name, cause)


def _conclude_application(sensor: "SparkApplicationSensor", event: ApplicationEvent) -> str:
    sensor.link_target = _build_link_target(event, sensor.kubernetes_conn_id) or sensor.link_target
    if event.kind is EventKind.REACHED:
        logger.info("%s", event.sentence)
        return event.state or ""
    if event.kind is EventKind.DELETED:
        raise exceptions.SparkApplicationDeleted(event.sentence)
    if event.kind is EventKind.ENDED and event.outcome == "Failed":
        raise exceptions.build_failure(
            event.failure_kind,
            event.sentence,
            state=event.state,
            reason=event.reason,
            retry_worthy=event.retry_worthy,
            out_of_memory=event.out_of_memory,
        )
    if event.kind is EventKind.ENDED:
        expected = " or ".join(sensor.expects)
        raise exceptions.SparkApplicationError(f"{event.sentence.rstrip('.')}; it can no longer reach {expected}")
    raise exceptions.SparkApplicationError(event.sentence)


def _conclude_cluster(event: ApplicationEvent) -> str:
    if event.kind is EventKind.REACHED:
        logger.info("%s", event.sentence)
        return event.name
    if event.kind is EventKind.DELETED:
        raise exceptions.SparkClusterDeleted(event.sentence)
    if event.kind is EventKind.ENDED:
        raise exceptions.SparkSchedulingFailed(event.sentence)
    raise exceptions.SparkApplicationError(event.sentence)


def _build_link_target(event: ApplicationEvent, conn_id: str | None) -> LinkTarget | None:
    if not event.uid:
        return None
    return LinkTarget(
        namespace=event.namespace,
        name=event.name,
        uid=event.uid,
        application_id=event.application_id or "",
        driver_pod=event.driver_pod if event.had_driver else "",
        own_ui=event.own_ui,
        conn_id=conn_id or "",
        start=read_time(event.created),
        end=datetime.now(UTC) if event.kind is EventKind.ENDED else None,
    )
