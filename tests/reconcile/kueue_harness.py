"""A namespace with a queue of a real Kueue, on a cluster without nodes: the tests play the kubelet.

KUEUE_KUBECONFIG names the kubeconfig of a cluster on which Kueue runs.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.states.states import ApplicationState
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
    SPARK_CLUSTERS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.objects.scope import NamedNamespaces
from tests.reconcile.harness import IMAGE, QUICK, Api, build_application, state_of
from tests.reconcile.kueue_objects import QUEUE_LABEL
from tests.reconcile.reconcilers import test_clusters

KUBECONFIG = os.environ.get("KUEUE_KUBECONFIG")
pytestmark = [
    pytest.mark.skipif(KUBECONFIG is None, reason="there is no Kueue: set KUEUE_KUBECONFIG"),
    pytest.mark.timeout(300),
]

CLUSTER_QUEUES = ResourceType("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue")
LOCAL_QUEUES = ResourceType("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")
QUEUED = replace(QUICK, kueue=True)
APPLICATION, CLUSTER = "sparkapplication", "sparkcluster"
S = ApplicationState


@dataclass
class QueuedNamespace:
    """A namespace with a queue that has room for one driver with one executor, or for one cluster with one worker.

    Attributes:
        api: The API, whose namespace is this one.
        name: The name of the queues, the flavor and the priority class.
        restarts: Whether the controller does not run while something happens, as after a kill.
    """

    api: Api
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
        controller = Controller(self.api.client, NamedNamespaces((self.api.namespace,)), QUEUED)
        self.running = asyncio.create_task(controller.run(ready.set))
        await asyncio.wait_for(ready.wait(), 60)

    async def stop(self) -> None:
        if self.running is not None:
            self.running.cancel()
            await asyncio.wait([self.running])
            self.running = None

    async def submit(self, name: str, *, high: bool = False) -> None:
        document = build_application(name, conf={**IMAGE, "spark.executor.instances": "1"})
        await self.api.submit(self._add_labels(document, high=high))

    async def submit_cluster(self, name: str, *, high: bool = False) -> None:
        document = test_clusters.build_cluster(name, init=1, maximum=1, conf=IMAGE)
        await test_clusters.submit(self.api, self._add_labels(document, high=high))

    def _add_labels(self, document: JsonObject, *, high: bool) -> JsonObject:
        labels = {QUEUE_LABEL: self.name} | ({"kueue.x-k8s.io/priority-class": self.name} if high else {})
        return {**document, "metadata": {**document["metadata"], "labels": labels}}

    async def run_driver(self, name: str, attempt: int = 0) -> None:
        """Wait for the driver of an attempt, and start it."""
        await self.api.wait_for_state(S.DRIVER_REQUESTED, name=name)
        await self.api.set_pod(f"{name}-{attempt}-driver", "ready")
        await self.api.wait_for_state(S.RUNNING_HEALTHY, name=name)

    async def end_driver(self, name: str, attempt: int = 0) -> None:
        await self.api.set_pod(f"{name}-{attempt}-driver", "succeeded")

    async def complete(self, name: str, attempt: int = 0) -> None:
        await self.end_driver(name, attempt)
        await self.api.wait_for_state(S.RESOURCE_RELEASED, name=name)

    async def wait_for_admission_request(self, name: str, kind: str = APPLICATION) -> JsonObject:
        """Wait until Kueue has decided that the Workload of a resource must wait."""
        return await self.wait_for_condition(name, kind, "QuotaReserved", "False")

    async def wait_for_condition(self, name: str, kind: str, condition: str, status: str = "True") -> JsonObject:
        """Wait until the Workload of a resource has a condition with a status; return the Workload."""

        async def has_it() -> bool:
            with suppress(NotFound):
                conditions = (await self.get_workload(name, kind)).get("status", {}).get("conditions", [])
                return any(each["type"] == condition and each["status"] == status for each in conditions)
            return False

        await self.api.wait_until_true(has_it)
        return await self.get_workload(name, kind)

    async def wait_for_workload(self, name: str, kind: str = APPLICATION) -> None:
        async def exists() -> bool:
            with suppress(NotFound):
                return bool(await self.get_workload(name, kind))
            return False

        await self.api.wait_until_true(exists)

    async def wait_for_eviction(self, workload: JsonObject) -> None:
        """Wait until Kueue has evicted a Workload. It may have been replaced already."""
        metadata = workload["metadata"]

        async def is_evicted() -> bool:
            try:
                found = await self.api.client.get(WORKLOADS, metadata["name"], metadata["namespace"])
            except NotFound:
                return True
            conditions = found.get("status", {}).get("conditions", [])
            evicted = any(each["type"] == "Evicted" and each["status"] == "True" for each in conditions)
            return bool(evicted or found["metadata"]["uid"] != metadata["uid"])

        await self.api.wait_until_true(is_evicted)

    async def get_workload(self, name: str, kind: str = APPLICATION) -> JsonObject:
        return await self.api.client.get(WORKLOADS, f"{kind}-{name}", self.api.namespace)

    async def patch_workload(self, name: str, patch: JsonObject) -> None:
        await self.api.client.patch(WORKLOADS, f"sparkapplication-{name}", self.api.namespace, patch)

    async def set_stop_policy(self, policy: str) -> None:
        await self.api.client.patch(CLUSTER_QUEUES, self.name, None, {"spec": {"stopPolicy": policy}})

    async def list_drivers(self) -> list[str]:
        return sorted(await self.api.list_names(PODS))

    async def get_state(self, name: str) -> str | None:
        return state_of(await self.api.client.get(SPARK_APPLICATIONS, name, self.api.namespace))

    async def wait_for_usage(self, cpu: str) -> None:
        async def is_used() -> bool:
            queue = await self.api.client.get(CLUSTER_QUEUES, self.name, None)
            (flavor,) = queue["status"]["flavorsUsage"]
            return [each["total"] for each in flavor["resources"] if each["name"] == "cpu"] == [cpu]

        await self.api.wait_until_true(is_used)


def build_objects(name: str) -> list[tuple[ResourceType, JsonObject]]:
    """Build the flavor, the queue and the priority class of a namespace."""
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
async def queued(client: KubeClient, request: pytest.FixtureRequest) -> AsyncIterator[QueuedNamespace]:
    """A namespace with a queue, whose quota must be unused at the end."""
    name = f"kueue-{secrets.token_hex(3)}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, None)
    for kind, document in build_objects(name):
        await client.create(kind, document, None)
    queue: JsonObject = {"apiVersion": LOCAL_QUEUES.api_version, "kind": "LocalQueue", "metadata": {"name": name}}
    await client.create(LOCAL_QUEUES, {**queue, "spec": {"clusterQueue": name}}, name)
    queued = QueuedNamespace(Api(client, name), name, request.param)
    try:
        await queued.start()
        yield queued
        await queued.wait_for_usage("0")
    finally:
        await queued.stop()
        await _clean_up(client, name)


async def _clean_up(client: KubeClient, name: str) -> None:
    patch: JsonObject = {"metadata": {"finalizers": None}}
    for kind in (SPARK_APPLICATIONS, SPARK_CLUSTERS):
        for resource in (await client.list(kind, name)).items:
            await client.patch(kind, resource["metadata"]["name"], name, patch)
    for kind in (NAMESPACES, CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES):
        with suppress(KubeError):
            await client.delete(kind, name, None)
