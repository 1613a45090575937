"""The runtime of `SparkClusterTrigger`: wait, report the result, delete after a kill.

DAG files do not import this module: it loads the Kubernetes client.
"""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async

from ..airflow_compat import AirflowException
from ..core.states.reasons import CLUSTER_NOT_READY
from ..follow.access.reference import ApplicationDeleted, ApplicationReference, resource_of
from ..follow.access.versions import choose_served_version
from ..follow.submission.cancel import CancelOutcome, cancel
from ..follow.submission.stamp import TaskStamp
from ..follow.watching.cluster_ready import ClusterFailed, ClusterNotReady, read_readiness, wait_until_ready
from ..follow.watching.shared_watch import share_hub
from ..follow.watching.wait import compute_seconds_until, wait_for_appearance
from ..follow.watching.watch import WatchHub
from ..hooks.connection import async_read_access
from ..kube.connection import ClusterAccess
from ..kube.errors import ConfigurationError, KubeError, describe_error
from ..kube.resources import SPARK_CLUSTERS
from ..links.spark_cluster import CLUSTER_LINKS, build_cluster_target
from .event import ApplicationEvent, EventKind
from .kill import delete_and_log, delete_if_killed
from .lifecycle import LAST_READ_SECONDS
from .resource_secrets import ResourceSecrets
from .xcoms import ShowLinks, build_link_storage, remember_outages

if TYPE_CHECKING:
    from .spark_cluster import SparkClusterTrigger

logger = logging.getLogger(__name__)

_READY = "Ready"


class ClusterWatch:
    """The wait of a task until applications can run on a SparkCluster.

    Args:
        trigger: The trigger, which stores the arguments of the wait.
    """

    def __init__(self, trigger: "SparkClusterTrigger") -> None:
        self._trigger = trigger
        self._resource = resource_of(trigger.api_version, SPARK_CLUSTERS)
        self._secrets = ResourceSecrets(trigger.secret_places)

    @property
    def subject(self) -> str:
        """The cluster, for messages."""
        return f"SparkCluster {f'{self._trigger.namespace}/' if self._trigger.namespace else ''}{self._trigger.name}"

    async def run(self) -> ApplicationEvent:
        """Read the connection and wait."""
        try:
            stamp = TaskStamp.from_arguments(self._trigger.stamp) if self._trigger.stamp else None
            remember_outages(stamp)
            return await self.wait(await self._read_access(), build_link_storage(CLUSTER_LINKS, stamp))
        except AirflowException as error:
            return self._build_event(EventKind.LOST, f"could not follow {self.subject}: {error}")

    async def wait(self, access: ClusterAccess, show_links: ShowLinks | None = None) -> ApplicationEvent:
        """Wait for the cluster. Whatever happens to the cluster or to the API becomes an event.

        Args:
            access: The access to the Kubernetes cluster.
            show_links: Called once when a cluster without a known uid exists. If None, nothing is called.
        """
        return self._secrets.redact(await self._wait(access, show_links))

    async def _wait(self, access: ClusterAccess, show_links: ShowLinks | None) -> ApplicationEvent:
        try:
            async with (
                asyncio.timeout(compute_seconds_until(self._trigger.deadline)) as limit,
                share_hub(access, waiting_for=self.subject) as hub,
            ):
                reference = await self._find_reference(hub, show_links)
                await self._secrets.learn(hub, reference)
                log = self._secrets.protect(logger)
                await wait_until_ready(hub, reference, log, ready_seconds=self._trigger.ready_seconds)
        except ApplicationDeleted as error:
            return self._build_event(EventKind.DELETED, f"{error.reference} was deleted before it was ready")
        except ClusterFailed as error:
            failed = self._build_event(EventKind.ENDED, str(error))
            return replace(failed, state="Failed", outcome="Failed", failure_kind="scheduling")
        except ClusterNotReady:
            return replace(await self._describe_timeout(access), reason=CLUSTER_NOT_READY)
        except TimeoutError:
            if not limit.expired():
                raise
            return await self._describe_timeout(access)
        except (KubeError, ConfigurationError) as error:
            return self._build_event(EventKind.LOST, f"could not follow {self.subject} any longer: {error}")
        ready = self._build_event(EventKind.REACHED, f"{reference} is ready")
        return replace(ready, state=_READY, namespace=reference.namespace, uid=reference.uid)

    async def delete_if_killed(self) -> None:
        """Delete the cluster if a user has stopped the task, and if this try still owns the cluster."""
        await delete_if_killed(TaskStamp.from_arguments(self._trigger.stamp or {}), self._cancel, self.subject, logger)

    async def delete(self) -> None:
        """Delete the cluster if this try still owns it. Never raises."""
        await delete_and_log(self._cancel, self.subject, logger)

    def _read_access(self) -> Awaitable[ClusterAccess]:
        return async_read_access(self._trigger.kubernetes_conn_id, required=self._trigger.connection_required)

    async def _find_reference(self, hub: WatchHub, show_links: ShowLinks | None = None) -> ApplicationReference:
        wanted, namespace = self._resource, self._trigger.namespace or hub.client.default_namespace
        if self._trigger.uid is None:
            reference, cluster = await wait_for_appearance(
                hub, wanted, self._trigger.name, namespace, self._trigger.poke_interval, logger
            )
            if show_links is not None:
                await sync_to_async(show_links)(build_cluster_target(cluster, self._trigger.kubernetes_conn_id))
            return reference
        return ApplicationReference(
            namespace, self._trigger.name, self._trigger.uid, await hub.choose_version(wanted, self.subject)
        )

    async def _describe_timeout(self, access: ClusterAccess) -> ApplicationEvent:
        """Return the event for a cluster that was not ready in time, with what is missing if it can be read."""
        sentence = f"{self.subject} was not ready"
        try:
            async with asyncio.timeout(LAST_READ_SECONDS), share_hub(access, waiting_for=self.subject) as hub:
                resource, namespace = (
                    await hub.choose_version(self._resource, self.subject),
                    self._trigger.namespace or hub.client.default_namespace,
                )
                found = await hub.client.get(resource, self._trigger.name, namespace)
                reference = await self._find_reference(hub)
                sentence += f" ({await read_readiness(hub, reference, found)})"
        except (KubeError, ConfigurationError, TimeoutError) as error:
            sentence += f" ({describe_error(error, LAST_READ_SECONDS)})"
        return self._build_event(EventKind.TIMED_OUT, sentence)

    async def _cancel(self) -> Mapping[ApplicationReference, CancelOutcome]:
        async with share_hub(await self._read_access()) as hub:
            resource = await choose_served_version(hub.client, self._resource)
            namespace = self._trigger.namespace or hub.client.default_namespace
            reference = ApplicationReference(namespace, self._trigger.name, self._trigger.uid or "", resource)
            return {reference: await cancel(hub.client, reference, TaskStamp.from_arguments(self._trigger.stamp or {}))}

    def _build_event(self, kind: EventKind, sentence: str) -> ApplicationEvent:
        where = (self._trigger.namespace or "", self._trigger.name, self._trigger.uid or "")
        return ApplicationEvent(kind, *where, sentence=sentence, api_version=self._trigger.api_version)
