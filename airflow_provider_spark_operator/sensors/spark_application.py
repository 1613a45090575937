"""Wait for a Spark application that somebody else has submitted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, conf
from airflow.sdk.exceptions import AirflowException, AirflowSensorTimeout, AirflowSkipException

from airflow_provider_spark_operator.core.dialects.dialect import DIALECTS, dialect_of
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    failure,
)
from airflow_provider_spark_operator.hooks.spark import DEFAULT_CONNECTION_ID, access_from_connection
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
from airflow_provider_spark_operator.triggers.loop import LoopThread

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_spark_operator.triggers.spark_application import SparkApplicationStateTrigger


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
        **kwargs: Airflow's own arguments for every sensor. `poke_interval` is the time between two looks for
            an application that does not exist yet; one that exists is watched. `mode` has no effect.

    Raises:
        ValueError: `expects` is empty, or holds a word that is no state; `api_version` is none that is known.
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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.name = name
        self.namespace = namespace
        self.kubernetes_conn_id = kubernetes_conn_id
        self.api_version = _known(api_version)
        self.expects = _states(expects, api_version)
        self.deferrable = deferrable

    def execute(self, context: "Context") -> str:  # noqa: ARG002 - Airflow's signature
        """Wait; see the class."""
        trigger = self._trigger()
        if self.deferrable:
            self.defer(trigger=trigger, method_name="execute_complete", timeout=self.timeout)
        access = access_from_connection(self.kubernetes_conn_id)
        with LoopThread() as loop, self._failures_skipped():
            try:
                event = loop.run(trigger.wait(access), timeout=self.timeout)
            except TimeoutError as error:
                raise AirflowSensorTimeout(
                    f"SparkApplication {self.name} has not reached {' or '.join(self.expects)} within "
                    f"{self.timeout:.0f} s"
                ) from error
            return self._conclude(event)

    def execute_complete(
        self,
        context: "Context",  # noqa: ARG002 - Airflow's signature
        event: Mapping[str, Any] | None = None,
    ) -> str:
        """End once the trigger has fired. What is raised here `resume_execution` turns into a skip."""
        return self._conclude(ApplicationEvent.from_payload(event or {}))

    def _trigger(self) -> "SparkApplicationStateTrigger":
        from airflow_provider_spark_operator.triggers.spark_application import SparkApplicationStateTrigger

        return SparkApplicationStateTrigger(
            name=self.name,
            expects=self.expects,
            namespace=self.namespace,
            kubernetes_conn_id=self.kubernetes_conn_id,
            api_version=self.api_version,
            poke_interval=self.poke_interval,
        )

    def _conclude(self, event: ApplicationEvent) -> str:
        if event.kind is EventKind.REACHED:
            self.log.info("%s", event.sentence)
            return event.state or ""
        if event.kind is EventKind.DELETED:
            raise SparkApplicationDeleted(event.sentence)
        if event.kind is EventKind.ENDED and event.outcome == "Failed":
            raise failure(event.failure_kind, event.sentence, state=event.state, reason=event.reason)
        if event.kind is EventKind.ENDED:
            expected = " or ".join(self.expects)
            raise SparkApplicationError(f"{event.sentence.rstrip('.')}; it will never reach {expected}")
        raise SparkApplicationError(event.sentence)

    @contextmanager
    def _failures_skipped(self) -> Iterator[None]:
        """Airflow's meaning of `soft_fail` and `never_fail`, which it gives to deferred sensors and pokes only."""
        try:
            yield
        except AirflowException as error:
            if self.soft_fail or self.never_fail:
                raise AirflowSkipException(str(error)) from error
            raise


def _known(api_version: str) -> str:
    known = [f"{dialect.group}/{version}" for dialect in DIALECTS for version in dialect.versions]
    if api_version not in known:
        raise ValueError(f"api_version must be one of {', '.join(known)}, not {api_version!r}")
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
