"""Wait for a Spark application that another task or program submits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink, BaseSensorOperator, Context

from ..airflow_compat import AirflowException, conf, is_of_earlier_try, take_retry_policy
from ..core.kubernetes.names import DEFAULT_API_VERSION
from ..core.parameters import arguments
from ..core.states.states import ApplicationState
from ..links.spark_application import LINKS
from .soft_failure import is_timeout, keep_reasons, start_wait

if TYPE_CHECKING:
    from ..links.target import LinkTarget
    from ..triggers.spark_application import SparkApplicationStateTrigger
    from .runtime import Wait

__all__ = ["SparkApplicationSensor"]


class SparkApplicationSensor(BaseSensorOperator):
    """Wait until an application has reached a state.

    The sensor fails immediately (or is skipped, with `soft_fail`) if the application ends in another state or is
    deleted. The return value is the state.

    Args:
        name: Name of the application, which need not exist yet.
        namespace: Namespace of the application. If None, the namespace of the connection is used.
        expects: One or more states, for example ["RunningHealthy", "Succeeded"]. The sensor succeeds when the
            application has one of them. The default is the state of success, "Succeeded" (for Kubeflow's operator
            "COMPLETED").
        kubernetes_conn_id: Id of a connection to a Kubernetes cluster. If None, the default Kubernetes cluster is
            used: the one in which Airflow runs, or that of the local kubeconfig. The default is `kubernetes_default`.
        api_version: apiVersion of the application, for Kubeflow's operator "sparkoperator.k8s.io/v1beta2". If the
            cluster does not serve the version, the sensor uses another version that the cluster serves.
        deferrable: Wait in the triggerer, so that the task does not occupy a worker. The default is `[operators]
            default_deferrable` of Airflow's configuration.
        delete_on_kill: If a user stops the sensor, or its `timeout` expires, delete the application, but only if a task
            of the same DAG run submitted it. By default, the sensor deletes nothing, and only the task that
            submitted the application deletes it.
        **kwargs: Arguments that Airflow accepts for all sensors. `timeout` limits the wait in seconds, deferred or not.
            Unlike `SparkApplicationOperator`, a deferred sensor ignores `execution_timeout`. `poke_interval` is the
            number of seconds between two reads while the application does not exist. An existing application is
            watched. `mode="reschedule"` is supported only if the sensor is deferrable.

    Raises:
        TypeError: A switch is not a boolean.
        ValueError: `expects` is empty or contains an unknown state; `api_version` is not supported; a name is not a
            valid Kubernetes name; the `mode` is not supported.
    """

    template_fields: Sequence[str] = ("name", "namespace", "kubernetes_conn_id")
    operator_extra_links: Sequence[BaseOperatorLink] = LINKS
    ui_color = "#fbe2d3"

    def __init__(
        self,
        *,
        name: str,
        namespace: str | None = None,
        expects: str | Iterable[str] | None = None,
        kubernetes_conn_id: str | None = arguments.DEFAULT_CONNECTION_ID,
        api_version: str = DEFAULT_API_VERSION,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        delete_on_kill: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**take_retry_policy(kwargs))
        arguments.check_booleans(deferrable=deferrable, delete_on_kill=delete_on_kill)
        arguments.check_sensor_mode(self.mode, type(self).__name__, deferrable=deferrable)
        arguments.check_existing_name(name, namespace)
        arguments.check_connection_id(kubernetes_conn_id)
        self.name = name
        self.namespace = namespace
        self.kubernetes_conn_id = kubernetes_conn_id
        self.api_version = api_version
        self.expects = _select_states(expects, api_version)
        self.deferrable = deferrable
        self.delete_on_kill = delete_on_kill
        self.link_target: LinkTarget | None = None
        self.resumed = False
        self._wait: Wait[SparkApplicationStateTrigger] | None = None

    def execute(self, context: Context) -> str:
        """Wait for the application; see the class."""
        self._wait = self._create_wait(context)
        self.resumed = self.deferrable  # the trigger may store the links before Airflow asks this process for them
        with self._delete_after_timeout(self._wait):
            return start_wait(self, self._wait, deferrable=self.deferrable)

    def execute_complete(self, context: Context, event: Mapping[str, Any] | None = None) -> str:
        """Return the state that the trigger reports. `resume_execution` turns an exception into a skip."""
        return self._create_wait(context).resume(event or {})

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Resume after the deferral. If the sensor timed out, delete the application if `delete_on_kill` is set."""
        if is_of_earlier_try(next_kwargs, context["ti"].try_number):
            return self.execute(context)
        self.resumed = True
        wait = self._create_wait(context)
        with self._delete_after_timeout(wait), keep_reasons(self, wait.timeout_message):
            return super().resume_execution(next_method, next_kwargs, context)

    def on_kill(self) -> None:
        """Delete the application if a user has stopped the sensor on its worker."""
        if self._wait is not None and self.delete_on_kill:
            from .runtime import delete_killed_application

            delete_killed_application(self._wait)

    def _create_wait(self, context: Context) -> "Wait[SparkApplicationStateTrigger]":
        from .runtime import create_application_wait

        return create_application_wait(self, context["ti"])

    @contextmanager
    def _delete_after_timeout(self, wait: "Wait[SparkApplicationStateTrigger]") -> Iterator[None]:
        try:
            yield
        except AirflowException as error:
            if self.delete_on_kill and is_timeout(error):
                from .runtime import delete_application

                delete_application(wait)
            raise


def _select_states(expects: str | Iterable[str] | None, api_version: str) -> list[str]:
    """Return the states to wait for. The defaults are valid, so they need no dialect."""
    if expects is None and api_version == DEFAULT_API_VERSION:
        return [str(ApplicationState.SUCCEEDED)]
    from .dialect_checks import select_states

    return select_states(expects, api_version)
