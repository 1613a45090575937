"""Wait for a Spark application in the triggerer. A task that does not defer runs the same code on its worker."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.names import DEFAULT_API_VERSION
from .event import ApplicationEvent
from .lifecycle import FORMAT_VERSION, Lifecycle

if TYPE_CHECKING:
    from ..kube.connection import ClusterAccess
    from .spark_application_runtime import ApplicationWatch, StateWatch
    from .xcoms import ShowLinks

__all__ = ["SparkApplicationStateTrigger", "SparkApplicationTrigger"]


class SparkApplicationTrigger(BaseTrigger):
    """Fires once: when the application has ended or was deleted, or when the deadline has passed.

    Airflow stores the arguments in its database in plain text. They contain no secrets. The event is an
    `ApplicationEvent`.

    Args:
        namespace: Namespace of the application.
        name: Name of the application.
        uid: uid of the application. If another application now has the name, this application was deleted.
        kubernetes_conn_id: Id of the connection to the cluster of the application. If None, the default cluster is
            used.
        api_version: apiVersion of the application. The default is that of the Apache operator.
        stamp: Fields that identify the try that owns the application, as the operators of this package write them. If
            None, the application is not deleted when a user stops the task.
        deadline: Time after which the wait ends, in ISO 8601 with the offset, for example "2026-01-31T12:00:00+00:00".
            If None, there is no limit.
        delete_on_kill: Whether to delete the application if a user stops the task.
        driver_log: Whether to add the log of the driver to the task log. The name of a level, for example "WARNING",
            adds it without Spark's own lines below this level.
        connection_required: Whether the connection existed at the submission. If the connection was deleted since then,
            the trigger reports an error instead of looking for the application in the default cluster.
        secret_places: Where the application contains secrets, as the operators of this package write it. The trigger
            masks the values at these places in the log of the task and in the event.
        record: Whether to store the record of the run as the XCom `spark_run` of the task that `stamp` describes. The
            default is False.
        budget: The budget, with the members `max_core_hours`, `max_cost` and `ends_application`, as the operators of
            this package write it. If None, the use is not limited.
        metrics: Whether to read the Spark UI of the driver while the application runs. The default is False.
        capacity_wait: How long the task may wait for capacity, with the members `seconds`, `since` and `failures`, as
            the operators of this package write it. If the cluster has no room for the application, the trigger fires
            when the task must submit it again. If None, the trigger fires at once.
        expects: States that also end the wait, for example ["DriverReady"]. The event is then REACHED.
        streaming: The expectations of the task about streaming queries, as the operators of this package write them. If
            None, the application is expected to end.
        version: Version of the format of these arguments. Leave it out.
        **later: Arguments that a later release added. They are ignored.
    """

    def __init__(
        self,
        namespace: str,
        name: str,
        uid: str,
        kubernetes_conn_id: str | None = None,
        api_version: str = DEFAULT_API_VERSION,
        stamp: Mapping[str, Any] | None = None,
        deadline: str | None = None,
        delete_on_kill: bool = True,
        driver_log: bool | str = True,
        connection_required: bool = False,
        secret_places: Sequence[Any] = (),
        record: bool = False,
        budget: Mapping[str, Any] | None = None,
        metrics: bool = False,
        capacity_wait: Mapping[str, Any] | None = None,
        streaming: Mapping[str, Any] | None = None,
        version: int = FORMAT_VERSION,
        expects: Sequence[str] = (),
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
        self.secret_places = list(secret_places)
        self.record = record
        self.budget = dict(budget) if budget else None
        self.metrics = metrics
        self.capacity_wait = dict(capacity_wait) if capacity_wait else None
        self.expects = list(expects)
        self.streaming = dict(streaming) if streaming else None
        self.version = version
        self._lifecycle = Lifecycle(self, later)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments, as Airflow stores them."""
        return self._lifecycle.serialize()

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and fire the event."""
        if_interrupted = self._watch.delete if self.delete_on_kill else None
        yield await self._lifecycle.fire(self._watch.run(), if_interrupted=if_interrupted)

    async def wait(self, access: "ClusterAccess") -> ApplicationEvent:
        """Wait on a worker. Whatever happens to the application or to the API becomes an event.

        Args:
            access: The access to the cluster.
        """
        return await self._watch.wait(access, resumable=False)

    @property
    def timeout_sentence(self) -> str:
        """The sentence for a task that timed out: the application, its state, and what it waits for."""
        return self._watch.timeout_sentence

    def build_record(self) -> JsonObject | None:
        """Return the record of the run as of now. None if the run is not recorded, or if nothing is known about it."""
        recorder = self._watch.recorder
        return recorder.build() if recorder is not None else None

    async def on_kill(self) -> None:
        """Delete the application if a user has stopped the task, and if this try still owns the application."""
        if self.delete_on_kill and self.stamp is not None:
            await self._lifecycle.kill(self._watch.delete_if_killed, str(self._watch.reference))

    async def cleanup(self) -> None:
        """Call `on_kill` if a user may have stopped the task. Airflow 3.3 and newer call it themselves."""
        await self._lifecycle.clean_up(self.on_kill)

    @cached_property
    def _watch(self) -> "ApplicationWatch":
        from .spark_application_runtime import ApplicationWatch

        return ApplicationWatch(self)


class SparkApplicationStateTrigger(BaseTrigger):
    """Fires once: when the application has one of the expected states, has ended, or was deleted.

    The event is an `ApplicationEvent`: REACHED if the application has one of the expected states.

    Args:
        name: Name of the application, which need not exist yet.
        expects: The expected states, for example ["RunningHealthy", "Succeeded"].
        namespace: Namespace of the application. If None, the namespace of the connection is used.
        kubernetes_conn_id: Id of the connection to the cluster of the application. If None, the default cluster is
            used.
        api_version: apiVersion of the application. The default is that of the Apache operator.
        poke_interval: Seconds between two reads while the application does not exist. The default is 60.
        stamp: Fields that identify the try of the task that waits, as the sensor of this package writes them. If None,
            the application is not deleted when a user stops the task.
        delete_on_kill: Whether to delete the application if a user stops the task, but only if a task of the same DAG
            run submitted the application.
        version: Version of the format of these arguments. Leave it out.
        **later: Arguments that a later release added. They are ignored.
    """

    def __init__(
        self,
        name: str,
        expects: Iterable[str],
        namespace: str | None = None,
        kubernetes_conn_id: str | None = None,
        api_version: str = DEFAULT_API_VERSION,
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
        """Wait, and fire the event."""
        yield await self._lifecycle.fire(self._watch.run())

    async def wait(self, access: "ClusterAccess", show_links: "ShowLinks") -> ApplicationEvent:
        """Wait on a worker. Whatever happens to the application or to the API becomes an event.

        Args:
            access: The access to the cluster.
            show_links: Called once with the target of the links of the task, when the application exists.
        """
        return await self._watch.wait(access, show_links)

    async def on_kill(self) -> None:
        """Delete the application if a user has stopped the task, and if its DAG run submitted the application."""
        await self._lifecycle.kill(self.delete_if_killed, f"SparkApplication {self.name}")

    async def cleanup(self) -> None:
        """Call `on_kill` if a user may have stopped the task. Airflow 3.3 and newer call it themselves."""
        await self._lifecycle.clean_up(self.on_kill)

    async def delete_if_killed(self) -> None:
        """Delete the application under the conditions of `on_kill`, at once. Log a problem instead of raising."""
        if self.delete_on_kill:
            await self._watch.delete_if_killed()

    async def delete(self, access: "ClusterAccess") -> None:
        """Delete the application if the DAG run of the task submitted it. Tolerates an outage of the API.

        Args:
            access: The access to the cluster.

        Raises:
            KubeError: The API rejected the deletion, or could not be reached.
            ConfigurationError: The configuration of the client is not valid.
        """
        await self._watch.delete(access)

    @cached_property
    def _watch(self) -> "StateWatch":
        from .spark_application_runtime import StateWatch

        return StateWatch(self)
