"""Wait for a Spark application in the triggerer; a worker that does not defer waits by the same code."""

from collections.abc import AsyncIterator, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_spark_operator.triggers.event import ApplicationEvent
from airflow_provider_spark_operator.triggers.lifecycle import FORMAT_VERSION, Lifecycle

if TYPE_CHECKING:
    from airflow_provider_spark_operator.kube.connection import ClusterAccess
    from airflow_provider_spark_operator.triggers.spark_application_runtime import ApplicationWatch, StateWatch


class SparkApplicationTrigger(BaseTrigger):
    """Fires once, when an application has ended, is gone, or the task's time is over.

    The arguments are stored in Airflow's database in clear, and hold no secret.

    Args:
        namespace: Of the application; with `name` and `uid` says which one it is.
        name: See `namespace`.
        uid: See `namespace`.
        kubernetes_conn_id: The connection to read where it runs.
        api_version: Of the resource.
        stamp: The fields of a `TaskStamp`: whose the application is. Without it a kill deletes nothing.
        deadline: ISO 8601 time after which to stop waiting; None for no end.
        delete_on_kill: Delete the application when a person kills the task.
        driver_log: Tell the driver's log to the task's log.
        connection_required: The connection existed at the submission. Should it be gone, the application is
            lost; the cluster that the triggerer finds without it would be another one.
        version: Of these arguments.
        **later: Arguments that a later release added; an older one that finds them does without.
    """

    def __init__(
        self,
        namespace: str,
        name: str,
        uid: str,
        kubernetes_conn_id: str | None = None,
        api_version: str = "spark.apache.org/v1",
        stamp: Mapping[str, Any] | None = None,
        deadline: str | None = None,
        delete_on_kill: bool = True,
        driver_log: bool = True,
        connection_required: bool = False,
        version: int = FORMAT_VERSION,
        **later: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.namespace = namespace
        self.name = name
        self.uid = uid
        self.kubernetes_conn_id = kubernetes_conn_id
        self.api_version = api_version
        self.stamp = dict(stamp) if stamp else None
        self.deadline = deadline
        self.delete_on_kill = delete_on_kill
        self.driver_log = driver_log
        self.connection_required = connection_required
        self.version = version
        self._lifecycle = Lifecycle(self, later)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments, as Airflow stores them."""
        return self._lifecycle.serialize()

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and fire the one event."""
        yield await self._lifecycle.fire(self._watch.run())

    async def wait(self, access: "ClusterAccess") -> ApplicationEvent:
        """Wait on a worker. Whatever happens to the application or to the API becomes an event.

        Args:
            access: The access to the cluster.
        """
        return await self._watch.wait(access, resumable=False)

    @property
    def timeout_sentence(self) -> str:
        """The sentence for a task whose time is over: which application, its state, and what it waits for."""
        return self._watch.timeout_sentence

    async def on_kill(self) -> None:
        """Delete the application if a person has killed the task, and if this try still owns it."""
        if self.delete_on_kill and self.stamp is not None:
            await self._lifecycle.kill(self._watch.delete_if_killed, str(self._watch.reference))

    @cached_property
    def _watch(self) -> "ApplicationWatch":
        from airflow_provider_spark_operator.triggers.spark_application_runtime import build_application_watch

        return build_application_watch(
            namespace=self.namespace,
            name=self.name,
            uid=self.uid,
            api_version=self.api_version,
            stamp=self.stamp,
            kubernetes_conn_id=self.kubernetes_conn_id,
            connection_required=self.connection_required,
            deadline=self.deadline,
            driver_log=self.driver_log,
        )


class SparkApplicationStateTrigger(BaseTrigger):
    """Fires once, when an application of that name has reached one of some states, has ended, or is gone.

    Args:
        name: Of the application, which need not exist yet.
        expects: State words.
        namespace: None for the connection's.
        kubernetes_conn_id: The connection to read where it runs.
        api_version: Of the resource.
        poke_interval: Seconds between two looks for an application that does not exist yet.
        stamp: The fields of the `TaskStamp` of the task that waits. Without it a kill deletes nothing.
        delete_on_kill: Delete the application, if the task's own DAG run has made it, when a person kills the task.
        version: Of these arguments.
        **later: Arguments that a later release added; an older one that finds them does without.
    """

    def __init__(
        self,
        name: str,
        expects: Iterable[str],
        namespace: str | None = None,
        kubernetes_conn_id: str | None = None,
        api_version: str = "spark.apache.org/v1",
        poke_interval: float = 60.0,
        stamp: Mapping[str, Any] | None = None,
        delete_on_kill: bool = False,
        version: int = FORMAT_VERSION,
        **later: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.name = name
        self.expects = sorted(expects)
        self.namespace = namespace
        self.kubernetes_conn_id = kubernetes_conn_id
        self.api_version = api_version
        self.poke_interval = poke_interval
        self.stamp = dict(stamp) if stamp else None
        self.delete_on_kill = delete_on_kill
        self.version = version
        self._lifecycle = Lifecycle(self, later)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments, as Airflow stores them."""
        return self._lifecycle.serialize()

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and fire the one event."""
        yield await self._lifecycle.fire(self._watch.run())

    async def wait(self, access: "ClusterAccess") -> ApplicationEvent:
        """Wait on a worker. Whatever happens to the application or to the API becomes an event.

        Args:
            access: The access to the cluster.
        """
        return await self._watch.wait(access)

    async def on_kill(self) -> None:
        """Delete the application if a person has killed the task, and if its DAG run has submitted it."""
        await self._lifecycle.kill(self.delete_if_killed, f"SparkApplication {self.name}")

    async def delete_if_killed(self) -> None:
        """Delete the application as `on_kill` does, at once. Log a problem instead of raising."""
        if self.delete_on_kill:
            await self._watch.delete_if_killed()

    async def delete(self, access: "ClusterAccess") -> None:
        """Delete the application if the DAG run of the task has submitted it. Tolerates an outage.

        Args:
            access: The access to the cluster.

        Raises:
            KubeError: The API refused the deletion, or could not be reached.
            ConfigurationError: The configuration of the client is not usable.
        """
        await self._watch.delete(access)

    @cached_property
    def _watch(self) -> "StateWatch":
        from airflow_provider_spark_operator.triggers.spark_application_runtime import build_state_watch

        return build_state_watch(
            name=self.name,
            expects=self.expects,
            namespace=self.namespace,
            kubernetes_conn_id=self.kubernetes_conn_id,
            api_version=self.api_version,
            poke_interval=self.poke_interval,
            stamp=self.stamp,
        )
