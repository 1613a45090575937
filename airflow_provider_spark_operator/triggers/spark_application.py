"""Wait for a Spark application in the triggerer; a worker that does not defer waits by the same code."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_spark_operator.hooks.spark import async_access_from_connection
from airflow_provider_spark_operator.triggers import lasting
from airflow_provider_spark_operator.triggers.deadline import seconds_until
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
from airflow_provider_spark_operator.triggers.task_instance import LEFT_RUNNING, Fate, fate, fate_of_deferred

if TYPE_CHECKING:
    from airflow_provider_spark_operator.follow.cancel import CancelOutcome
    from airflow_provider_spark_operator.follow.narrator import Narration
    from airflow_provider_spark_operator.follow.obstacles import Situation
    from airflow_provider_spark_operator.follow.reference import ApplicationReference
    from airflow_provider_spark_operator.follow.stamp import TaskStamp
    from airflow_provider_spark_operator.follow.watch import WatchHub
    from airflow_provider_spark_operator.kube.connection import ClusterAccess

logger = logging.getLogger(__name__)

# Airflow's own timeout comes a minute after the deadline; by then this must be over.
_LAST_LOOK_SECONDS = 20.0
_PATH = "airflow_provider_spark_operator.triggers.spark_application"
FORMAT_VERSION = 1


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
        self._later = later
        self._fired = False
        self._situation: Situation | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, as Airflow stores them."""
        arguments = {
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "kubernetes_conn_id": self.kubernetes_conn_id,
            "api_version": self.api_version,
            "stamp": self.stamp,
            "deadline": self.deadline,
            "delete_on_kill": self.delete_on_kill,
            "driver_log": self.driver_log,
            "connection_required": self.connection_required,
            "version": self.version,
        }
        return f"{_PATH}.{type(self).__name__}", self._later | arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and fire the one event."""
        event = await self._event_of_connection()
        self._fired = True
        yield TriggerEvent(event.to_payload())  # type: ignore[no-untyped-call]

    async def wait(self, access: "ClusterAccess", *, resumable: bool = False) -> ApplicationEvent:
        """Wait for the application; nothing that can happen to it or to the API is raised.

        Args:
            access: To the cluster, as the connection says.
            resumable: Another triggerer may take over, and then goes on with the driver's log where this one stopped.
        """
        from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
        from airflow_provider_spark_operator.follow.logs import LogPosition
        from airflow_provider_spark_operator.follow.narrator import Narration
        from airflow_provider_spark_operator.follow.obstacles import Situation
        from airflow_provider_spark_operator.follow.wait import wait_for_end
        from airflow_provider_spark_operator.follow.watch import shared_hub
        from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError
        from airflow_provider_spark_operator.triggers.outcome import describe_end
        from airflow_provider_spark_operator.triggers.task_log import TaskLog, read_driver_log_options

        reference = self._reference()
        reader = self.stamp.get("task_instance_id") if resumable and self.stamp else None
        driver_log = read_driver_log_options(reader, LogPosition()) if self.driver_log else None
        self._situation = Situation()
        narration = Narration(TaskLog(reference, logger), driver_log, self._situation)
        try:
            async with (
                asyncio.timeout(seconds_until(self.deadline)) as limit,
                shared_hub(access, waiting_for=str(reference)) as hub,
            ):
                reference = await self._served_reference(hub)
                return describe_end(await wait_for_end(hub, reference, narration))
        except ApplicationDeleted as error:
            successor = await self._successor(access)
            if successor is None:
                return self._event(EventKind.DELETED, str(error))
            sentence = f"{reference} was replaced by {successor} before this task had recorded its end"
            return self._event(EventKind.REPLACED, sentence)
        except TimeoutError:
            if not limit.expired():
                raise
            return await self._last_look(access, narration)
        except (KubeError, ConfigurationError) as error:
            return self._event(EventKind.LOST, f"{reference} cannot be followed any more: {error}")

    @property
    def unended(self) -> str:
        """The sentence for a task whose time is over: which application, its state, and what it waits for."""
        return f"{self._reference()} had not ended{self._situation or ''}"

    async def on_kill(self) -> None:
        """Delete the application if a person has killed the task, and if it is still this try's."""
        if self._fired or not self.delete_on_kill or self.stamp is None:
            return
        await lasting.finish(self._delete_if_killed(), f"deletion of {self._reference()}", logger)

    async def _access(self) -> "ClusterAccess":
        return await async_access_from_connection(self.kubernetes_conn_id, required=self.connection_required)

    async def _event_of_connection(self) -> ApplicationEvent:
        from airflow.sdk.exceptions import AirflowException

        try:
            access = await self._access()
        except AirflowException as error:
            return self._event(EventKind.LOST, f"{self._reference()} cannot be followed: {error}")
        return await self.wait(access, resumable=True)

    async def _last_look(self, access: "ClusterAccess", narration: "Narration") -> ApplicationEvent:
        """The time is over, but the application may have ended in that moment, or while no triggerer ran."""
        from airflow_provider_spark_operator.follow.wait import read_end
        from airflow_provider_spark_operator.follow.watch import shared_hub
        from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError
        from airflow_provider_spark_operator.triggers.outcome import describe_end

        reference = self._reference()
        try:
            async with asyncio.timeout(_LAST_LOOK_SECONDS), shared_hub(access, waiting_for=str(reference)) as hub:
                ended = await read_end(hub, await self._served_reference(hub), narration)
        except (KubeError, ConfigurationError, TimeoutError) as error:
            cause = str(error) or f"the Kubernetes API did not answer within {_LAST_LOOK_SECONDS:.0f} s"
            logger.warning("could not read %s again: %s", reference, cause)
            ended = None
        return describe_end(ended) if ended else self._event(EventKind.TIMED_OUT, self.unended)

    async def _successor(self, access: "ClusterAccess") -> str | None:
        """The other run of the task that has replaced the application; None if there is none, or it is unknown."""
        from airflow_provider_spark_operator.follow.stamp import TaskStamp, owner_of
        from airflow_provider_spark_operator.follow.watch import shared_hub
        from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError

        if self.stamp is None:
            return None
        try:
            async with asyncio.timeout(_LAST_LOOK_SECONDS), shared_hub(access) as hub:
                reference = await self._served_reference(hub)
                present = await hub.client.get(reference.resource, reference.name, reference.namespace)
        except (KubeError, ConfigurationError, TimeoutError):
            return None
        return owner_of(present) if TaskStamp.from_arguments(self.stamp).is_another_run_of(present) else None

    async def _delete_if_killed(self) -> None:
        from asgiref.sync import sync_to_async

        from airflow_provider_spark_operator.follow.patience import retry
        from airflow_provider_spark_operator.follow.stamp import TaskStamp

        reference = self._reference()
        try:
            stamp = TaskStamp.from_arguments(self.stamp or {})
            if await sync_to_async(fate_of_deferred)(stamp) is Fate.MOVED:
                logger.info(LEFT_RUNNING, reference)
                return
            outcome = await retry(partial(self._cancel, stamp), f"deletion of {reference}", logger.log)
        except Exception as error:
            # Nobody waits for this task any more: what is not logged here is lost.
            logger.warning(
                "%s could not be deleted and may still run: %s", reference, str(error) or type(error).__name__
            )
        else:
            logger.info("the task was killed; %s: %s", reference, outcome)

    async def _cancel(self, stamp: "TaskStamp") -> "CancelOutcome":
        from airflow_provider_spark_operator.follow.cancel import cancel
        from airflow_provider_spark_operator.follow.versions import served_version
        from airflow_provider_spark_operator.follow.watch import shared_hub

        reference = self._reference()
        async with shared_hub(await self._access()) as hub:
            served = replace(reference, resource=await served_version(hub.client, reference.resource))
            return await cancel(hub.client, served, stamp)

    def _event(self, kind: EventKind, sentence: str) -> ApplicationEvent:
        where = (self.namespace, self.name, self.uid)
        return ApplicationEvent(kind, *where, sentence=sentence, api_version=self.api_version)

    def _reference(self) -> "ApplicationReference":
        from airflow_provider_spark_operator.follow.reference import ApplicationReference, resource_of

        return ApplicationReference(self.namespace, self.name, self.uid, resource_of(self.api_version))

    async def _served_reference(self, hub: "WatchHub") -> "ApplicationReference":
        """The application in a version that the cluster serves: its definition may have been replaced meanwhile."""
        reference = self._reference()
        return replace(reference, resource=await hub.served(reference.resource))


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
        self._later = later
        self._fired = False

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, as Airflow stores them."""
        arguments = {
            "name": self.name,
            "expects": self.expects,
            "namespace": self.namespace,
            "kubernetes_conn_id": self.kubernetes_conn_id,
            "api_version": self.api_version,
            "poke_interval": self.poke_interval,
            "stamp": self.stamp,
            "delete_on_kill": self.delete_on_kill,
            "version": self.version,
        }
        return f"{_PATH}.{type(self).__name__}", self._later | arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and fire the one event."""
        from airflow.sdk.exceptions import AirflowException

        try:
            event = await self.wait(await async_access_from_connection(self.kubernetes_conn_id))
        except AirflowException as error:
            event = self._event(EventKind.LOST, f"SparkApplication {self.name} cannot be followed: {error}")
        self._fired = True
        yield TriggerEvent(event.to_payload())  # type: ignore[no-untyped-call]

    async def on_kill(self) -> None:
        """Delete the application if a person has killed the task that waits for it, and if it is its run's."""
        if not self._fired:
            await lasting.finish(self.delete_if_killed(), f"deletion of SparkApplication {self.name}", logger)

    async def delete_if_killed(self) -> None:
        """The same at once; never raises, since nobody could do anything about it."""
        from asgiref.sync import sync_to_async

        if not self.delete_on_kill or self.stamp is None:
            return
        try:
            if await sync_to_async(fate)(_stamp_from(self.stamp)) is Fate.KILLED:
                await self.delete(await async_access_from_connection(self.kubernetes_conn_id))
        except Exception as error:
            logger.warning(
                "SparkApplication %s could not be deleted and may still run: %s",
                self.name,
                str(error) or type(error).__name__,
            )

    async def delete(self, access: "ClusterAccess") -> None:
        """Delete the application if the run of the task that waits has made it. Tolerates an outage.

        Args:
            access: To the cluster, as the connection says.

        Raises:
            KubeError: The API refused, or could not be reached.
            ConfigurationError: No client can be made.
        """
        from airflow_provider_spark_operator.follow.cancel_run import cancel_run
        from airflow_provider_spark_operator.follow.patience import retry
        from airflow_provider_spark_operator.follow.reference import resource_of
        from airflow_provider_spark_operator.follow.watch import shared_hub

        if self.stamp is None:
            return
        stamp, resource = _stamp_from(self.stamp), resource_of(self.api_version)

        async def cancel() -> "CancelOutcome":
            async with shared_hub(access) as hub:
                return await cancel_run(hub.client, resource, self.name, self.namespace, stamp)

        outcome = await retry(cancel, f"deletion of {resource.kind} {self.name}", logger.log)
        logger.info("nobody waits for %s %s any more: %s", resource.kind, self.name, outcome)

    async def wait(self, access: "ClusterAccess") -> ApplicationEvent:
        """Wait for the state; nothing that can happen to the application or to the API is raised.

        Args:
            access: To the cluster, as the connection says.
        """
        from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
        from airflow_provider_spark_operator.follow.narrator import Narration
        from airflow_provider_spark_operator.follow.wait import ReachedState, wait_for_state
        from airflow_provider_spark_operator.follow.watch import shared_hub
        from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError
        from airflow_provider_spark_operator.triggers.outcome import describe_end, describe_state
        from airflow_provider_spark_operator.triggers.task_log import TaskLog

        try:
            async with shared_hub(access, waiting_for=f"SparkApplication {self.name}") as hub:
                reference = await self._appearance(hub)
                found = await wait_for_state(hub, reference, self.expects, Narration(TaskLog(reference, logger)))
                return describe_state(found) if isinstance(found, ReachedState) else describe_end(found)
        except ApplicationDeleted as error:
            return self._event(EventKind.DELETED, str(error))
        except (KubeError, ConfigurationError) as error:
            return self._event(EventKind.LOST, f"SparkApplication {self.name} cannot be followed: {error}")

    async def _appearance(self, hub: "WatchHub") -> "ApplicationReference":
        from airflow_provider_spark_operator.follow.reference import ApplicationReference, resource_of
        from airflow_provider_spark_operator.follow.versions import tell_substitution

        wanted, namespace = resource_of(self.api_version), self.namespace or hub.client.default_namespace
        said = False
        while True:
            resource = await hub.served(wanted)
            if not said:
                tell_substitution(wanted, resource, logger)
            found = await hub.read(resource, self.name, namespace)
            if found is not None:
                return ApplicationReference.of(found, resource)
            if not said:
                logger.info("%s %s/%s does not exist yet", resource.kind, namespace, self.name)
            said = True
            await asyncio.sleep(self.poke_interval)

    def _event(self, kind: EventKind, sentence: str) -> ApplicationEvent:
        return ApplicationEvent(kind, self.namespace or "", self.name, "", sentence=sentence)


def _stamp_from(fields: Mapping[str, Any]) -> "TaskStamp":
    from airflow_provider_spark_operator.follow.stamp import TaskStamp

    return TaskStamp.from_arguments(fields)
