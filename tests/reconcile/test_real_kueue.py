"""The controller with a real Kueue, on a cluster without nodes: the tests play the kubelet.

KUEUE_KUBECONFIG names the kubeconfig of a cluster on which Kueue runs.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import AlreadyExists, KubeError, NotFound
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    PODS,
    RESOURCE_FLAVORS,
    SPARK_APPLICATIONS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.scope import NamedNamespaces
from tests.reconcile.kueue import QUEUE_LABEL
from tests.reconcile.stage import IMAGE, QUICK, Stage, build_application, state_of

KUBECONFIG = os.environ.get("KUEUE_KUBECONFIG")
pytestmark = [
    pytest.mark.skipif(KUBECONFIG is None, reason="there is no Kueue: set KUEUE_KUBECONFIG"),
    pytest.mark.timeout(300),
]

CLUSTER_QUEUES = ResourceType("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue")
LOCAL_QUEUES = ResourceType("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")
QUEUED = replace(QUICK, kueue=True)
S = ApplicationState


@dataclass
class Scene:
    """A namespace with a queue that has room for one driver with one executor.

    Attributes:
        stage: The namespace.
        name: The name of the queues, the flavor and the priority class.
        restarts: Whether the controller does not run while something happens, as after a kill.
    """

    stage: Stage
    name: str
    restarts: bool
    running: "asyncio.Task[None] | None" = field(default=None)

    @asynccontextmanager
    async def event(self) -> AsyncIterator[None]:
        """Let something happen, while the controller is down if `restarts` is true."""
        if self.restarts:
            await self.stop()
        yield
        if self.restarts:
            await self.start()

    async def start(self) -> None:
        ready = asyncio.Event()
        controller = Controller(self.stage.client, NamedNamespaces((self.stage.namespace,)), QUEUED)
        self.running = asyncio.create_task(controller.run(ready.set))
        await asyncio.wait_for(ready.wait(), 60)

    async def stop(self) -> None:
        if self.running is not None:
            self.running.cancel()
            await asyncio.wait([self.running])
            self.running = None

    async def submit(self, name: str, *, high: bool = False) -> None:
        document = build_application(name, conf={**IMAGE, "spark.executor.instances": "1"})
        labels = {QUEUE_LABEL: self.name} | ({"kueue.x-k8s.io/priority-class": self.name} if high else {})
        document["metadata"]["labels"] = labels
        await self.stage.submit(document)

    async def run_driver(self, name: str, attempt: int = 0) -> None:
        """Wait for the driver of an attempt, and start it."""
        await self.stage.wait_for_state(S.DRIVER_REQUESTED, name=name)
        await self.stage.set_pod(f"{name}-{attempt}-driver", "ready")
        await self.stage.wait_for_state(S.RUNNING_HEALTHY, name=name)

    async def end_driver(self, name: str, attempt: int = 0) -> None:
        await self.stage.set_pod(f"{name}-{attempt}-driver", "succeeded")

    async def complete(self, name: str, attempt: int = 0) -> None:
        await self.end_driver(name, attempt)
        await self.stage.wait_for_state(S.RESOURCE_RELEASED, name=name)

    async def wait_for_admission_request(self, name: str) -> JsonObject:
        """Wait until Kueue has decided that the Workload of an application must wait."""

        async def waits() -> bool:
            with suppress(NotFound):
                conditions = (await self.get_workload(name)).get("status", {}).get("conditions", [])
                return any(each["type"] == "QuotaReserved" and each["status"] == "False" for each in conditions)
            return False

        await self.stage.wait_until_true(waits)
        return await self.get_workload(name)

    async def wait_for_workload(self, name: str) -> None:
        async def exists() -> bool:
            with suppress(NotFound):
                return bool(await self.get_workload(name))
            return False

        await self.stage.wait_until_true(exists)

    async def wait_for_eviction(self, workload: JsonObject) -> None:
        """Wait until Kueue has evicted a Workload. It may have been replaced already."""
        metadata = workload["metadata"]

        async def is_evicted() -> bool:
            try:
                found = await self.stage.client.get(WORKLOADS, metadata["name"], metadata["namespace"])
            except NotFound:
                return True
            conditions = found.get("status", {}).get("conditions", [])
            evicted = any(each["type"] == "Evicted" and each["status"] == "True" for each in conditions)
            return bool(evicted or found["metadata"]["uid"] != metadata["uid"])

        await self.stage.wait_until_true(is_evicted)

    async def get_workload(self, name: str) -> JsonObject:
        return await self.stage.client.get(WORKLOADS, f"sparkapplication-{name}", self.stage.namespace)

    async def patch_workload(self, name: str, patch: JsonObject) -> None:
        await self.stage.client.patch(WORKLOADS, f"sparkapplication-{name}", self.stage.namespace, patch)

    async def set_stop_policy(self, policy: str) -> None:
        await self.stage.client.patch(CLUSTER_QUEUES, self.name, None, {"spec": {"stopPolicy": policy}})

    async def list_drivers(self) -> list[str]:
        return sorted(await self.stage.list_names(PODS))

    async def get_state(self, name: str) -> str | None:
        return state_of(await self.stage.client.get(SPARK_APPLICATIONS, name, self.stage.namespace))

    async def wait_for_usage(self, cpu: str) -> None:
        async def is_used() -> bool:
            queue = await self.stage.client.get(CLUSTER_QUEUES, self.name, None)
            (flavor,) = queue["status"]["flavorsUsage"]
            return [each["total"] for each in flavor["resources"] if each["name"] == "cpu"] == [cpu]

        await self.stage.wait_until_true(is_used)


def build_objects(name: str) -> list[tuple[ResourceType, JsonObject]]:
    """Build the flavor, the queue and the priority class of a scene."""
    resources = [{"name": "cpu", "nominalQuota": 2}, {"name": "memory", "nominalQuota": "4Gi"}]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": name, "resources": resources}]}
    queue = {"namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"}, "resourceGroups": [group]}
    fields: list[tuple[ResourceType, JsonObject]] = [
        (RESOURCE_FLAVORS, {}),
        (CLUSTER_QUEUES, {"spec": queue}),
        (WORKLOAD_PRIORITY_CLASSES, {"value": 1000}),
    ]
    return [
        (kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, **each})
        for kind, each in fields
    ]


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    async with await open_client(ClusterAccess(kubeconfig=str(KUBECONFIG))) as opened:
        for definition in build_custom_resource_definitions():
            with suppress(AlreadyExists):
                await opened.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
        yield opened


@pytest.fixture(params=[False, True], ids=["running", "killed"])
async def scene(client: KubeClient, request: pytest.FixtureRequest) -> AsyncIterator[Scene]:
    """A scene whose quota must be unused at the end."""
    name = f"kueue-{secrets.token_hex(3)}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, None)
    for kind, document in build_objects(name):
        await client.create(kind, document, None)
    queue: JsonObject = {"apiVersion": LOCAL_QUEUES.api_version, "kind": "LocalQueue", "metadata": {"name": name}}
    await client.create(LOCAL_QUEUES, {**queue, "spec": {"clusterQueue": name}}, name)
    scene = Scene(Stage(client, name), name, request.param)
    try:
        await scene.start()
        yield scene
        await scene.wait_for_usage("0")
    finally:
        await scene.stop()
        await _clean_up(client, name)


async def _clean_up(client: KubeClient, name: str) -> None:
    for application in (await client.list(SPARK_APPLICATIONS, name)).items:
        patch: Any = {"metadata": {"finalizers": None}}
        await client.patch(SPARK_APPLICATIONS, application["metadata"]["name"], name, patch)
    for kind in (NAMESPACES, CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES):
        with suppress(KubeError):
            await client.delete(kind, name, None)


async def test_second_application_starts_when_the_first_has_ended(scene: Scene) -> None:
    async with scene.event():
        await scene.submit("first")
    await scene.run_driver("first")
    async with scene.event():
        await scene.submit("second")
    waiting = await scene.wait_for_admission_request("second")
    assert waiting["spec"]["queueName"] == scene.name
    assert await scene.list_drivers() == ["first-0-driver"]
    async with scene.event():
        await scene.end_driver("first")
    await scene.stage.wait_for_state(S.RESOURCE_RELEASED, name="first")
    await scene.run_driver("second")
    await scene.complete("second")


async def test_higher_priority_preempts_an_application_that_runs_again_later(scene: Scene) -> None:
    await scene.submit("low")
    await scene.run_driver("low")
    workload = await scene.get_workload("low")
    await scene.submit("high", high=True)
    await scene.wait_for_workload("high")
    async with scene.event():
        await scene.wait_for_eviction(workload)
    await scene.run_driver("high")
    await scene.wait_for_admission_request("low")
    assert await scene.get_state("low") == "Submitted"
    assert await scene.list_drivers() == ["high-0-driver"]
    async with scene.event():
        await scene.end_driver("high")
    await scene.run_driver("low", 1)
    low = await scene.stage.client.get(SPARK_APPLICATIONS, "low", scene.stage.namespace)
    info = low["status"]["currentAttemptSummary"]["attemptInfo"]
    assert (info["id"], info["restartCounter"]) == (1, 0)
    await scene.complete("low", 1)


async def test_workload_deleted_while_pending_is_created_again(scene: Scene) -> None:
    await scene.submit("first")
    await scene.run_driver("first")
    await scene.submit("second")
    before = await scene.wait_for_admission_request("second")
    async with scene.event():
        await scene.stage.client.delete(WORKLOADS, before["metadata"]["name"], scene.stage.namespace)

    async def is_replaced() -> bool:
        with suppress(NotFound):
            return bool((await scene.get_workload("second"))["metadata"]["uid"] != before["metadata"]["uid"])
        return False

    await scene.stage.wait_until_true(is_replaced)
    assert await scene.list_drivers() == ["first-0-driver"]
    await scene.complete("first")
    await scene.run_driver("second")
    await scene.complete("second")


async def test_stopped_queue_suspends_the_application_until_it_is_open_again(scene: Scene) -> None:
    await scene.submit("job")
    await scene.run_driver("job")
    async with scene.event():
        await scene.set_stop_policy("HoldAndDrain")
    await scene.wait_for_usage("0")
    await scene.stage.wait_for_state(S.SUBMITTED, name="job")
    assert await scene.list_drivers() == []
    async with scene.event():
        await scene.set_stop_policy("None")
    await scene.run_driver("job", 1)
    await scene.complete("job", 1)


async def test_deactivated_workload_suspends_the_application_until_it_is_active_again(scene: Scene) -> None:
    await scene.submit("job")
    await scene.run_driver("job")
    async with scene.event():
        await scene.patch_workload("job", {"spec": {"active": False}})
    await scene.stage.wait_for_state(S.SUSPENDED, name="job")
    await scene.wait_for_usage("0")

    # Kueue stops counting a deactivated Workload at once, even if the driver has not been deleted yet.
    async def has_no_drivers() -> bool:
        return await scene.list_drivers() == []

    await scene.stage.wait_until_true(has_no_drivers)
    async with scene.event():
        await scene.patch_workload("job", {"spec": {"active": True}})
    await scene.run_driver("job", 1)
    await scene.complete("job", 1)


async def test_suspended_application_gives_its_place_to_the_next(scene: Scene) -> None:
    await scene.submit("first")
    await scene.run_driver("first")
    await scene.submit("second")
    await scene.wait_for_admission_request("second")
    async with scene.event():
        await scene.stage.patch({"spec": {"suspend": True}}, "first")
    await scene.run_driver("second")
    assert await scene.get_state("first") == "Suspended"
    async with scene.event():
        await scene.stage.patch({"spec": {"suspend": False}}, "first")
    await scene.wait_for_admission_request("first")
    await scene.complete("second")
    await scene.run_driver("first", 1)
    await scene.complete("first", 1)


async def test_deleted_application_returns_its_quota(scene: Scene) -> None:
    await scene.submit("first")
    await scene.run_driver("first")
    await scene.submit("second")
    await scene.wait_for_admission_request("second")
    async with scene.event():
        await scene.stage.delete("first")
    await scene.stage.wait_until(lambda seen: seen is None, "first")
    await scene.run_driver("second")
    await scene.stage.delete("second")
    await scene.stage.wait_until(lambda seen: seen is None, "second")
