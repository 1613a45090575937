"""The runtime of `SparkApplicationSensor`: wait, report the result, delete the application.

DAG files do not import this module: it loads the Kubernetes client.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from airflow.sdk.types import RuntimeTaskInstanceProtocol

from ..airflow_compat import AirflowSensorTimeout
from ..core.kubernetes.times import read_time
from ..exceptions import SparkApplicationDeleted, SparkApplicationError, build_failure
from ..hooks.connection import read_access
from ..hooks.loop import CANCEL_SECONDS, LoopThread
from ..hooks.task_stamp import stamp_of
from ..kube.connection import ClusterAccess
from ..kube.errors import describe_error
from ..links.spark_application import LINKS
from ..links.target import Linked, LinkTarget
from ..links.url import push_links
from ..triggers.event import ApplicationEvent, EventKind
from ..triggers.spark_application import SparkApplicationStateTrigger

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ApplicationWait:
    """The wait of one task for an application.

    Attributes:
        name: Name of the application.
        namespace: Namespace of the application. If None, the namespace of the connection is used.
        expects: State words; the wait ends when the application has one of them.
        kubernetes_conn_id: The connection. If None, the default cluster is used.
        api_version: The apiVersion of the application.
        poke_interval: Seconds between two reads while the application does not exist.
        timeout: Seconds to wait.
        delete_on_kill: Whether the trigger deletes the application if the task is killed.
        task_instance: The task instance that waits.
        sensor: The sensor, which gets the target of its links.
    """

    name: str
    namespace: str | None
    expects: Sequence[str]
    kubernetes_conn_id: str | None
    api_version: str
    poke_interval: float
    timeout: float
    delete_on_kill: bool
    task_instance: RuntimeTaskInstanceProtocol
    sensor: Linked

    @cached_property
    def trigger(self) -> SparkApplicationStateTrigger:
        """The trigger that waits, in the triggerer or here."""
        return SparkApplicationStateTrigger(
            name=self.name,
            expects=self.expects,
            namespace=self.namespace,
            kubernetes_conn_id=self.kubernetes_conn_id,
            api_version=self.api_version,
            poke_interval=self.poke_interval,
            stamp=asdict(stamp_of(self.task_instance)),
            delete_on_kill=self.delete_on_kill,
        )

    @property
    def timeout_message(self) -> str:
        """The message of a wait that timed out."""
        states = " or ".join(self.expects)
        return f"SparkApplication {self.name} has not reached {states} within {self.timeout:.0f} s"

    def read_connection(self) -> ClusterAccess:
        """Return the access to the cluster of the connection.

        Raises:
            AirflowException: The connection does not exist or is not valid.
        """
        return read_access(self.kubernetes_conn_id)

    def run(self, access: ClusterAccess) -> str:
        """Wait on the worker and return the state.

        Args:
            access: The access to the cluster.

        Raises:
            AirflowException: The application can no longer reach an expected state, or the wait timed out.
        """
        with LoopThread() as loop:
            try:
                event = loop.run(self.trigger.wait(access, self._show_links), timeout=self.timeout)
            except TimeoutError as error:
                if self.delete_on_kill:
                    self.delete()
                raise AirflowSensorTimeout(self.timeout_message) from error
        return self.conclude(event)

    def resume(self, payload: Mapping[str, Any]) -> str:
        """Return the state that the trigger's event reports.

        Args:
            payload: The payload of the event.

        Raises:
            SparkApplicationError: The application can no longer reach an expected state.
        """
        return self.conclude(ApplicationEvent.from_payload(payload))

    def conclude(self, event: ApplicationEvent) -> str:
        """Return the state that `event` reports.

        Raises:
            SparkApplicationError: The application can no longer reach an expected state.
        """
        self.sensor.link_target = self._build_link_target(event) or self.sensor.link_target
        if event.kind is EventKind.REACHED:
            logger.info("%s", event.sentence)
            return event.state or ""
        if event.kind is EventKind.DELETED:
            raise SparkApplicationDeleted(event.sentence)
        if event.kind is EventKind.ENDED and event.outcome == "Failed":
            raise build_failure(
                event.failure_kind,
                event.sentence,
                state=event.state,
                reason=event.reason,
                retry_worthy=event.retry_worthy,
                out_of_memory=event.out_of_memory,
            )
        if event.kind is EventKind.ENDED:
            expected = " or ".join(self.expects)
            raise SparkApplicationError(f"{event.sentence.rstrip('.')}; it can no longer reach {expected}")
        raise SparkApplicationError(event.sentence)

    def _build_link_target(self, event: ApplicationEvent) -> LinkTarget | None:
        if not event.uid:
            return None
        return LinkTarget(
            namespace=event.namespace,
            name=event.name,
            uid=event.uid,
            application_id=event.application_id or "",
            driver_pod=event.driver_pod if event.had_driver else "",
            own_ui=event.own_ui,
            conn_id=self.kubernetes_conn_id or "",
            start=read_time(event.created),
            end=datetime.now(UTC) if event.kind is EventKind.ENDED else None,
        )

    def _show_links(self, target: LinkTarget) -> None:
        self.sensor.link_target = target
        push_links(LINKS, target, self.task_instance)

    def delete(self) -> None:
        """Delete the application if a task of the same DAG run submitted it. Log a problem instead of raising."""
        try:
            access = read_access(self.kubernetes_conn_id)
            with LoopThread() as loop:
                loop.run(self.trigger.delete(access), timeout=CANCEL_SECONDS)
        except Exception as error:
            # The task fails because of the timeout; the log reports that the application may still run.
            self._log_failure(error)

    def delete_if_killed(self) -> None:
        """Delete the application as `delete` does, if a user has stopped the task."""
        try:
            with LoopThread() as loop:
                loop.run(self.trigger.delete_if_killed(), timeout=CANCEL_SECONDS)
        except Exception as error:
            # Airflow discards exceptions of a signal handler, and with them the reason why the application still runs.
            self._log_failure(error)

    def _log_failure(self, error: Exception) -> None:
        cause = describe_error(error, CANCEL_SECONDS)
        logger.warning("could not delete %s, which may still be running: %s", self.name, cause)
