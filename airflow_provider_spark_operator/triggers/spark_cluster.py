"""Wait for a SparkCluster in the triggerer; a worker that does not defer waits by the same code."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_spark_operator.hooks.spark import async_access_from_connection
from airflow_provider_spark_operator.triggers import lasting
from airflow_provider_spark_operator.triggers.deadline import seconds_until
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
from airflow_provider_spark_operator.triggers.task_instance import LEFT_RUNNING, Fate, fate_of_deferred

if TYPE_CHECKING:
    from airflow_provider_spark_operator.follow.cancel import CancelOutcome
    from airflow_provider_spark_operator.follow.reference import ApplicationReference
    from airflow_provider_spark_operator.follow.stamp import TaskStamp
    from airflow_provider_spark_operator.follow.watch import WatchHub
    from airflow_provider_spark_operator.kube.connection import ClusterAccess
    from airflow_provider_spark_operator.kube.resources import ResourceType

logger = logging.getLogger(__name__)

_PATH = "airflow_provider_spark_operator.triggers.spark_cluster.SparkClusterTrigger"
_LAST_LOOK_SECONDS = 20.0
FORMAT_VERSION = 1
READY = "Ready"


class SparkClusterTrigger(BaseTrigger):
    """Fires once, when a SparkCluster can be used, has failed, is gone, or the time is over.

    The arguments are stored in Airflow's database in clear, and hold no secret. The event is an
    `ApplicationEvent`: REACHED when the cluster is ready, ENDED when it has failed.

    Args:
        name: Of the SparkCluster.
        namespace: None for the connection's.
        uid: Which one of that name; None for any, which need not exist yet.
        kubernetes_conn_id: The connection to read where it is.
        api_version: Of the resource.
        stamp: The fields of a `TaskStamp`: whose it is. Without it a kill deletes nothing.
        deadline: ISO 8601 time after which to stop waiting; None for no end.
        delete_on_kill: Delete the cluster when a person kills the task.
        connection_required: The connection existed when the cluster was created: no other one may stand for it.
        poke_interval: Seconds between two looks for a cluster that does not exist yet.
        version: Of these arguments.
        **later: Arguments that a later release added; an older one that finds them does without.
    """

    def __init__(
        self,
        name: str,
        namespace: str | None = None,
        uid: str | None = None,
        kubernetes_conn_id: str | None = None,
        api_version: str = "spark.apache.org/v1",
        stamp: Mapping[str, Any] | None = None,
        deadline: str | None = None,
        delete_on_kill: bool = True,
        connection_required: bool = False,
        poke_interval: float = 60.0,
        version: int = FORMAT_VERSION,
        **later: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.name = name
        self.namespace = namespace
        self.uid = uid
        self.kubernetes_conn_id = kubernetes_conn_id
        self.api_version = api_version
        self.stamp = dict(stamp) if stamp else None
        self.deadline = deadline
        self.delete_on_kill = delete_on_kill
        self.connection_required = connection_required
        self.poke_interval = poke_interval
        self.version = version
        self._later = later
        self._fired = False

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, as Airflow stores them."""
        arguments = {
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
            "kubernetes_conn_id": self.kubernetes_conn_id,
            "api_version": self.api_version,
            "stamp": self.stamp,
            "deadline": self.deadline,
            "delete_on_kill": self.delete_on_kill,
            "connection_required": self.connection_required,
            "poke_interval": self.poke_interval,
            "version": self.version,
        }
        return _PATH, self._later | arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and fire the one event."""
        from airflow.sdk.exceptions import AirflowException

        try:
            event = await self.wait(await self._access())
        except AirflowException as error:
            event = self._event(EventKind.LOST, f"{self._shown()} cannot be followed: {error}")
        self._fired = True
        yield TriggerEvent(event.to_payload())  # type: ignore[no-untyped-call]

    async def wait(self, access: "ClusterAccess") -> ApplicationEvent:
        """Wait for the cluster; nothing that can happen to it or to the API is raised.

        Args:
            access: To the Kubernetes cluster, as the connection says.
        """
        from airflow_provider_spark_operator.follow.cluster_ready import ClusterFailed, wait_until_ready
        from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
        from airflow_provider_spark_operator.follow.watch import shared_hub
        from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError

        try:
            async with (
                asyncio.timeout(seconds_until(self.deadline)) as limit,
                shared_hub(access, waiting_for=self._shown()) as hub,
            ):
                reference = await self._appearance(hub)
                await wait_until_ready(hub, reference, logger)
        except ApplicationDeleted as error:
            return self._event(EventKind.DELETED, f"{error.reference} was deleted before it was ready")
        except ClusterFailed as error:
            failed = self._event(EventKind.ENDED, str(error))
            return replace(failed, state="Failed", outcome="Failed", failure_kind="scheduling")
        except TimeoutError:
            if not limit.expired():
                raise
            return await self._too_late(access)
        except (KubeError, ConfigurationError) as error:
            return self._event(EventKind.LOST, f"{self._shown()} cannot be followed any more: {error}")
        ready = self._event(EventKind.REACHED, f"{reference} is ready")
        return replace(ready, state=READY, namespace=reference.namespace, uid=reference.uid)

    async def on_kill(self) -> None:
        """Delete the cluster if a person has killed the task, and if it is still this try's."""
        if not self._fired and self.delete_on_kill and self.stamp is not None and self.uid is not None:
            await lasting.finish(self._delete_if_killed(), f"deletion of {self._shown()}", logger)

    async def _access(self) -> "ClusterAccess":
        return await async_access_from_connection(self.kubernetes_conn_id, required=self.connection_required)

    async def _appearance(self, hub: "WatchHub") -> "ApplicationReference":
        from airflow_provider_spark_operator.follow.reference import ApplicationReference

        resource, namespace = await hub.served(self._resource()), self.namespace or hub.client.default_namespace
        if self.uid is not None:
            return ApplicationReference(namespace, self.name, self.uid, resource)
        said = False
        while (found := await hub.read(resource, self.name, namespace)) is None:
            if not said:
                logger.info("%s %s/%s does not exist yet", resource.kind, namespace, self.name)
            said = True
            await asyncio.sleep(self.poke_interval)
        return ApplicationReference.of(found, resource)

    async def _too_late(self, access: "ClusterAccess") -> ApplicationEvent:
        """The time is over: say what is missing, as far as it can still be seen."""
        from airflow_provider_spark_operator.follow.cluster_ready import readiness
        from airflow_provider_spark_operator.follow.watch import shared_hub
        from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError

        sentence = f"{self._shown()} was not ready"
        try:
            async with asyncio.timeout(_LAST_LOOK_SECONDS), shared_hub(access, waiting_for=self._shown()) as hub:
                resource, namespace = await hub.served(self._resource()), self.namespace or hub.client.default_namespace
                found = await hub.client.get(resource, self.name, namespace)
                reference = await self._appearance(hub)
                sentence += f" ({await readiness(hub, reference, found)})"
        except (KubeError, ConfigurationError, TimeoutError) as error:
            sentence += f" ({error or 'the API does not answer'})"
        return self._event(EventKind.TIMED_OUT, sentence)

    async def _delete_if_killed(self) -> None:
        from asgiref.sync import sync_to_async

        from airflow_provider_spark_operator.follow.patience import retry
        from airflow_provider_spark_operator.follow.stamp import TaskStamp

        try:
            stamp = TaskStamp.from_arguments(self.stamp or {})
            if await sync_to_async(fate_of_deferred)(stamp) is Fate.MOVED:
                logger.info(LEFT_RUNNING, self._shown())
                return
            outcome = await retry(partial(self._cancel, stamp), f"deletion of {self._shown()}", logger.log)
        except Exception as error:
            # Nobody waits for this task any more: what is not logged here is lost.
            logger.warning(
                "%s could not be deleted and may still run: %s", self._shown(), str(error) or type(error).__name__
            )
        else:
            logger.info("the task was killed; %s: %s", self._shown(), outcome)

    async def _cancel(self, stamp: "TaskStamp") -> "CancelOutcome":
        from airflow_provider_spark_operator.follow.cancel import cancel
        from airflow_provider_spark_operator.follow.reference import ApplicationReference
        from airflow_provider_spark_operator.follow.versions import served_version
        from airflow_provider_spark_operator.follow.watch import shared_hub

        async with shared_hub(await self._access()) as hub:
            resource = await served_version(hub.client, self._resource())
            namespace = self.namespace or hub.client.default_namespace
            return await cancel(hub.client, ApplicationReference(namespace, self.name, self.uid or "", resource), stamp)

    def _resource(self) -> "ResourceType":
        from airflow_provider_spark_operator.follow.reference import resource_of
        from airflow_provider_spark_operator.kube.resources import SPARK_CLUSTERS

        return resource_of(self.api_version, SPARK_CLUSTERS)

    def _shown(self) -> str:
        return f"SparkCluster {f'{self.namespace}/' if self.namespace else ''}{self.name}"

    def _event(self, kind: EventKind, sentence: str) -> ApplicationEvent:
        where = (self.namespace or "", self.name, self.uid or "")
        return ApplicationEvent(kind, *where, sentence=sentence, api_version=self.api_version)
