"""A simulated node: scheduler, kubelet and driver for any number of applications."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_APPLICATION_NAME, LABEL_ROLE, ROLE_DRIVER
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Conflict, KubeError, NotFound
from airflow_provider_spark_operator.kube.listwatch import Listed, Removed, list_and_watch
from airflow_provider_spark_operator.kube.resources import PODS, SERVICE_ACCOUNTS, SPARK_APPLICATIONS, ResourceType
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectKey, key_of
from tests import builders
from tests.reconcile.harness import state_of

NODE = "scripted"
_ACCOUNT_SECONDS = 60
_BINDINGS = ResourceType("", "v1", "bindings", "Binding")  # only a binding can set the node of a pod
Changed = Callable[[JsonObject], None]


@dataclass
class ScriptedNode:
    """Runs each driver until its application is RunningHealthy, then ends it as scripted. Removes deleted pods.

    Attributes:
        drivers: The uids of all driver pods, by application and pod name.
        applications: The last known content of each application.

    Args:
        client: Client that bypasses all faults.
        ending: Returns how the drivers of an application end, in order: `succeeded`, `failed`, or `run` for a driver
            that does not end. If the result is empty, the drivers are not scheduled.
    """

    client: KubeClient
    ending: Callable[[str], tuple[str, ...]]
    drivers: dict[ObjectKey, dict[str, list[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    applications: dict[ObjectKey, JsonObject] = field(default_factory=dict)
    _leaving: set[str] = field(default_factory=set)
    _moved: dict[ObjectKey, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    _tasks: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)

    @asynccontextmanager
    async def run(self) -> AsyncIterator["ScriptedNode"]:
        """Run the node during the body."""
        task = asyncio.create_task(self._run())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.result()

    async def wait_until(self, key: ObjectKey, holds: Callable[[JsonObject | None], bool]) -> JsonObject | None:
        """Wait until an application fulfills a condition; None stands for an application that does not exist."""
        while not holds(self.applications.get(key)):
            event = self._moved[key]
            event.clear()
            await event.wait()
        return self.applications.get(key)

    async def _run(self) -> None:
        async with self._tasks as group:
            group.create_task(
                follow(self.client, SPARK_APPLICATIONS, None, self._see_application, self._lose_application)
            )
            group.create_task(follow(self.client, PODS, LABEL_ROLE, self._see_pod, lambda _: None))

    def _see_application(self, document: JsonObject) -> None:
        key = key_of(document)
        self.applications[key] = document
        self._moved[key].set()

    def _lose_application(self, document: JsonObject) -> None:
        key = key_of(document)
        self.applications.pop(key, None)
        self._moved[key].set()

    def _see_pod(self, pod: JsonObject) -> None:
        metadata = pod["metadata"]
        labels = metadata["labels"]
        if "deletionTimestamp" in metadata:
            if metadata["uid"] not in self._leaving:
                self._leaving.add(metadata["uid"])
                self._tasks.create_task(self._end(pod))
            return
        if labels[LABEL_ROLE] != ROLE_DRIVER:
            return
        key = ObjectKey(metadata["namespace"], labels[LABEL_APPLICATION_NAME])
        uids = self.drivers[key][metadata["name"]]
        if metadata["uid"] not in uids:
            uids.append(metadata["uid"])
            number = sum(map(len, self.drivers[key].values())) - 1
            if endings := self.ending(key.name):
                self._tasks.create_task(self._play(key, pod, endings[min(number, len(endings) - 1)]))

    async def _play(self, key: ObjectKey, pod: JsonObject, ending: str) -> None:
        """Act as scheduler, kubelet and driver for a new driver pod."""
        await repeat_until_done(lambda: bind(self.client, pod))
        await self._report(pod, "ready")
        if ending != "run":
            await self.wait_until(key, lambda seen: seen is None or state_of(seen) == ApplicationState.RUNNING_HEALTHY)
            await self._report(pod, ending)

    async def _end(self, pod: JsonObject) -> None:
        """Act as the kubelet for a pod under deletion."""
        if pod["spec"].get("nodeName") != NODE:
            return
        metadata = pod["metadata"]
        if (pod.get("status") or {}).get("phase") == "Running":
            await self._report(pod, "failed")
        name, namespace, uid = metadata["name"], metadata["namespace"], metadata["uid"]
        await repeat_until_done(lambda: self.client.delete(PODS, name, namespace, grace_seconds=0, uid=uid))

    async def _report(self, pod: JsonObject, story: str) -> None:
        metadata = pod["metadata"]
        patch = {"metadata": {"uid": metadata["uid"]}, "status": builders.build_driver_pod(story)["status"]}
        name, namespace = metadata["name"], metadata["namespace"]
        await repeat_until_done(lambda: self.client.patch(PODS, name, namespace, patch, subresource="status"))


async def follow(client: KubeClient, kind: ResourceType, selector: str | None, see: Changed, lose: Changed) -> None:
    """Call `see` with each new or changed object of all namespaces, and `lose` with each deleted one."""
    changes = list_and_watch(client, kind, None, label_selector=selector)
    known: dict[ObjectKey, JsonObject] = {}
    async with aclosing(changes) as stream:
        async for change in stream:
            match change:
                case Listed(items):
                    listed = {key_of(item): item for item in items}
                    for key in known.keys() - listed.keys():  # deleted while the watch was interrupted
                        lose(known[key])
                    known = listed
                    for item in items:
                        see(item)
                case Removed(document):
                    known.pop(key_of(document), None)
                    lose(document)
                case _:
                    known[key_of(change.object)] = change.object
                    see(change.object)


async def wait_for_service_account(client: KubeClient, namespace: str) -> None:
    """Wait until Kubernetes has created the service account of a new namespace: before, it rejects pods."""
    async with asyncio.timeout(_ACCOUNT_SECONDS):
        while True:
            with suppress(NotFound):
                await client.get(SERVICE_ACCOUNTS, "default", namespace)
                return
            await asyncio.sleep(0.1)


async def bind(client: KubeClient, pod: JsonObject) -> object:
    """Act as the scheduler for a pod."""
    metadata = pod["metadata"]
    document = {"metadata": {"name": metadata["name"]}, "target": {"kind": "Node", "name": NODE}}
    return await client.create(_BINDINGS, document, metadata["namespace"])


async def repeat_until_done(call: Callable[[], Awaitable[object]]) -> None:
    """Repeat a call until it succeeds or its object is deleted."""
    while True:
        try:
            await call()
        except NotFound:
            return
        except Conflict as error:
            # Other conflicts are final: another pod has the name, or the pod is already bound or under deletion.
            if "has been modified" not in str(error):
                return
            await asyncio.sleep(0.2)
        except KubeError:
            await asyncio.sleep(0.2)
        else:
            return
