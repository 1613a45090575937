"""Wait for a Spark application that somebody else has submitted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, conf
from airflow.sdk.exceptions import AirflowException, AirflowSensorTimeout, TaskDeferralTimeout

from airflow_provider_spark_operator.core.arguments import check_booleans, check_existing_name, check_sensor_mode
from airflow_provider_spark_operator.core.dialects.dialect import api_version_problem, dialect_of
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    failure,
)
from airflow_provider_spark_operator.hooks.spark import DEFAULT_CONNECTION_ID, access_from_connection
from airflow_provider_spark_operator.sensors.soft_failure import failures_skipped, reasons_kept
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
from airflow_provider_spark_operator.triggers.loop import LoopThread

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_spark_operator.triggers.spark_application import SparkApplicationStateTrigger

_CANCEL_SECONDS = 20.0
_NO_ANSWER = f"the Kubernetes API did not answer within {_CANCEL_SECONDS:.0f} s"


class SparkApplicationSensor(BaseSensorOperator):
    """Wait until an application has reached a state.

    An application that ends otherwise, or is deleted, fails the sensor at once (or skips it, with
    `soft_fail`), since it will never reach it. The return value is the state.

    Args:
        name: Of the application, which need not exist yet.
        namespace: None for the connection's.
        expects: A state word of the resource, or several of which one is enough; by default success.
        kubernetes_conn_id: A connection of type `kubernetes`; None for the default cluster.
        api_version: Of the resource, that of Kubeflow's operator included; where the cluster does not serve the
            version, another one that it serves.
        deferrable: Wait in the triggerer, without a worker. The default is `[operators] default_deferrable`.
        delete_on_kill: Delete the application when the sensor is killed, or its `timeout` is over, if a task of
            the same DAG run has submitted it. By default only that task does so.
        **kwargs: Airflow's own arguments for every sensor. `timeout` bounds the wait, deferred or not; Airflow
            stops by `execution_timeout` only what is on a worker. `poke_interval` is the time between two looks for
            an application that does not exist yet; one that exists is watched. `mode="reschedule"` is refused,
            unless the sensor is deferrable.

    Raises:
        TypeError: A switch is not a boolean.
        ValueError: `expects` is empty, or holds a word that is no state; `api_version` is none that is known; a name
            is no Kubernetes name; the `mode` is not supported.
    """

    template_fields: Sequence[str] = ("name", "namespace", "kubernetes_conn_id")
    ui_color = "#fbe2d3"

    def __init__(
        self,
        *,
        name: str,
        namespace: str | None = None,
        expects: str | Iterable[str] | None = None,
        kubernetes_conn_id: str | None = DEFAULT_CONNECTION_ID,
        api_version: str = "spark.apache.org/v1",
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        delete_on_kill: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_booleans(deferrable=deferrable, delete_on_kill=delete_on_kill)
        check_sensor_mode(self.mode, type(self).__name__, deferrable=deferrable)
        check_existing_name(name, namespace)
        self.name = name
        self.namespace = namespace
        self.kubernetes_conn_id = kubernetes_conn_id
        self.api_version = _known(api_version)
        self.expects = _states(expects, api_version)
        self.deferrable = deferrable
        self.delete_on_kill = delete_on_kill
        self._waiting: SparkApplicationStateTrigger | None = None

    def execute(self, context: "Context") -> str:
        """Wait; see the class."""
        trigger = self._waiting = self._trigger(context)
        if self.deferrable:
            self.defer(trigger=trigger, method_name="execute_complete", timeout=self.timeout)
        access = access_from_connection(self.kubernetes_conn_id)
        with LoopThread() as loop, failures_skipped(self):
            try:
                event = loop.run(trigger.wait(access), timeout=self.timeout)
            except TimeoutError as error:
                self._delete(trigger)
                raise AirflowSensorTimeout(self._late()) from error
            return self._conclude(event)

    def execute_complete(
        self,
        context: "Context",  # noqa: ARG002 - Airflow's signature
        event: Mapping[str, Any] | None = None,
    ) -> str:
        """End once the trigger has fired. What is raised here `resume_execution` turns into a skip."""
        return self._conclude(ApplicationEvent.from_payload(event or {}))

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: "Context") -> Any:
        """Resume after the deferral; where the time is over, nobody waits for the application any more."""
        try:
            with reasons_kept(self._late()):
                return super().resume_execution(next_method, next_kwargs, context)
        except AirflowException as error:
            if _is_timeout(error):
                self._delete(self._trigger(context))
            raise

    def on_kill(self) -> None:
        """Delete the application if a person has killed the sensor on its worker."""
        if self._waiting is None or not self.delete_on_kill:
            return
        try:
            with LoopThread() as loop:
                loop.run(self._waiting.delete_if_killed(), timeout=_CANCEL_SECONDS)
        except Exception as error:
            # In a signal handler Airflow would lose it, and with it the reason why something still runs.
            self.log.warning("%s could not be deleted and may still run: %s", self.name, str(error) or _NO_ANSWER)

    def _late(self) -> str:
        return f"SparkApplication {self.name} has not reached {' or '.join(self.expects)} within {self.timeout:.0f} s"

    def _delete(self, trigger: "SparkApplicationStateTrigger") -> None:
        if not self.delete_on_kill:
            return
        try:
            with LoopThread() as loop:
                loop.run(trigger.delete(access_from_connection(self.kubernetes_conn_id)), timeout=_CANCEL_SECONDS)
        except Exception as error:
            # The sensor fails for the time that is over; what still runs must be said with it.
            self.log.warning("%s could not be deleted and may still run: %s", self.name, str(error) or _NO_ANSWER)

    def _trigger(self, context: "Context") -> "SparkApplicationStateTrigger":
        from airflow_provider_spark_operator.triggers.spark_application import SparkApplicationStateTrigger
        from airflow_provider_spark_operator.triggers.task_instance import stamp_of

        return SparkApplicationStateTrigger(
            name=self.name,
            expects=self.expects,
            namespace=self.namespace,
            kubernetes_conn_id=self.kubernetes_conn_id,
            api_version=self.api_version,
            poke_interval=self.poke_interval,
            stamp=asdict(stamp_of(context["ti"])),
            delete_on_kill=self.delete_on_kill,
        )

    def _conclude(self, event: ApplicationEvent) -> str:
        if event.kind is EventKind.REACHED:
            self.log.info("%s", event.sentence)
            return event.state or ""
        if event.kind is EventKind.DELETED:
            raise SparkApplicationDeleted(event.sentence)
        if event.kind is EventKind.ENDED and event.outcome == "Failed":
            raise failure(
                event.failure_kind,
                event.sentence,
                state=event.state,
                reason=event.reason,
                retry_worthy=event.retry_worthy,
                out_of_memory=event.out_of_memory,
            )
        if event.kind is EventKind.ENDED:
            expected = " or ".join(self.expects)
            raise SparkApplicationError(f"{event.sentence.rstrip('.')}; it will never reach {expected}")
        raise SparkApplicationError(event.sentence)


def _is_timeout(error: BaseException | None) -> bool:
    # Airflow turns it into a skip where the sensor may fail softly.
    while error is not None and not isinstance(error, AirflowSensorTimeout | TaskDeferralTimeout):
        error = error.__cause__ or error.__context__
    return error is not None


def _known(api_version: str) -> str:
    problem = api_version_problem(api_version)
    if problem:
        raise ValueError(problem)
    return api_version


def _states(expects: str | Iterable[str] | None, api_version: str) -> list[str]:
    dialect = dialect_of(api_version)
    if expects is None:
        return [str(dialect.success)]
    words = [expects] if isinstance(expects, str) else list(expects)
    unknown = sorted(set(words) - set(dialect.states))
    if unknown or not words:
        raise ValueError(
            f"expects must name states of an application, not {', '.join(map(repr, unknown)) or 'nothing'}; "
            f"there are {', '.join(dialect.states)}"
        )
    return sorted(map(str, words))
