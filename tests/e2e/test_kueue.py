"""Spark applications in the queue of a real Kueue, with the permissions of the manifests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError, NotFound
from airflow_provider_spark_operator.kube.resources import (
    PODS,
    RESOURCE_FLAVORS,
    SPARK_APPLICATIONS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
    ResourceType,
)
from tests.e2e.conftest import CONTROLLER, MANIFESTS, ROLE_BINDINGS, ROLES
from tests.e2e.node import DEADLINE, NEEDED, delete_all, run_controller
from tests.e2e.test_lifecycle import COUNT, WORK, build_script, read_history, wait_for_application

Json = dict[str, Any]

pytestmark = NEEDED

CLUSTER_QUEUES = ResourceType("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue")
LOCAL_QUEUES = ResourceType("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")
CLUSTER_ROLES = ResourceType(ROLES.group, "v1", "clusterroles", "ClusterRole")
CLUSTER_ROLE_BINDINGS = ResourceType(ROLES.group, "v1", "clusterrolebindings", "ClusterRoleBinding")


@dataclass(frozen=True)
class Queue:
    """A queue with room for one driver and one executor.

    Attributes:
        client: A client with all permissions.
        name: The name of the namespace, the queues, the flavor and the priority class.
        controller: The kubeconfig of the controller.
    """

    client: KubeClient
    name: str
    controller: Path

    async def submit(self, name: str, text: str, *, high: bool = False) -> None:
        document = build_script(name, text)
        labels = {"kueue.x-k8s.io/queue-name": self.name}
        document["metadata"]["labels"] = labels | ({"kueue.x-k8s.io/priority-class": self.name} if high else {})
        await self.client.create(SPARK_APPLICATIONS, document, self.name)

    async def wait_for_state(self, name: str, *states: str) -> list[tuple[str, str]]:
        return await wait_for_application(self.client, self.name, name, *states)

    async def is_waiting(self, name: str) -> bool:
        """Whether Kueue has decided that an application must wait."""
        with suppress(NotFound):
            workload = await self.client.get(WORKLOADS, f"sparkapplication-{name}", self.name)
            conditions = workload.get("status", {}).get("conditions", [])
            return any(each["type"] == "QuotaReserved" and each["status"] == "False" for each in conditions)
        return False

    async def is_unused(self) -> bool:
        queue = await self.client.get(CLUSTER_QUEUES, self.name, None)
        (flavor,) = queue["status"]["flavorsUsage"]
        return all(each["total"] in ("0", 0) for each in flavor["resources"])

    async def list_drivers(self) -> list[str]:
        pods = (await self.client.list(PODS, self.name, label_selector="spark-role=driver")).items
        return sorted(pod["metadata"]["name"] for pod in pods)


async def wait_until_true(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not await condition():  # noqa: ASYNC110 - the state of an API is no Event
            await asyncio.sleep(0.5)


def build_objects(name: str) -> list[tuple[ResourceType, Json]]:
    resources = [{"name": "cpu", "nominalQuota": "400m"}, {"name": "memory", "nominalQuota": "2Gi"}]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": name, "resources": resources}]}
    queue = {"namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"}, "resourceGroups": [group]}
    fields: list[tuple[ResourceType, Json]] = [
        (RESOURCE_FLAVORS, {}),
        (CLUSTER_QUEUES, {"spec": queue}),
        (WORKLOAD_PRIORITY_CLASSES, {"value": 1000}),
    ]
    return [
        (kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, **each})
        for kind, each in fields
    ]


async def grant(client: KubeClient, namespace: str) -> None:
    """Grant the controller the permissions of the manifest."""
    subjects = [{"kind": "ServiceAccount", "name": CONTROLLER, "namespace": namespace}]
    for document in yaml.safe_load_all((MANIFESTS / "kueue.yaml").read_text()):
        is_role = document["kind"] == "Role"
        kind, binding = (ROLES, ROLE_BINDINGS) if is_role else (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)
        document["metadata"] = {"name": f"{namespace}-kueue"}
        await client.create(kind, document, namespace if is_role else None)
        reference = {"apiGroup": ROLES.group, "kind": kind.kind, "name": f"{namespace}-kueue"}
        body = {"metadata": document["metadata"], "roleRef": reference, "subjects": subjects}
        await client.create(binding, body, namespace if is_role else None)


@pytest.fixture
async def queue(client: KubeClient, namespace: str, definitions: None, controller: Path) -> AsyncIterator[Queue]:
    """A queue whose quota must be unused at the end."""
    if not await client.is_served(WORKLOADS):
        pytest.skip("there is no Kueue on the cluster")
    await grant(client, namespace)
    for kind, document in build_objects(namespace):
        await client.create(kind, document, None)
    local: Json = {"apiVersion": LOCAL_QUEUES.api_version, "kind": "LocalQueue", "metadata": {"name": namespace}}
    await client.create(LOCAL_QUEUES, {**local, "spec": {"clusterQueue": namespace}}, namespace)
    queue = Queue(client, namespace, controller)
    try:
        yield queue
        await wait_until_true(queue.is_unused)
    finally:
        with run_controller(namespace, controller, "--kueue") as log:  # the controller must remove its finalizers
            await delete_all(client, SPARK_APPLICATIONS, namespace)
        for kind in (CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES):
            with suppress(KubeError):
                await client.delete(kind, namespace, None)
        for kind in (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES):
            await client.delete(kind, f"{namespace}-kueue", None)
    assert "grant the verb" not in log.read_text()


async def test_second_application_runs_when_the_first_has_ended(queue: Queue) -> None:
    with run_controller(queue.name, queue.controller, "--kueue"):
        await queue.submit("first", WORK)
        await queue.wait_for_state("first", "RunningHealthy")
        await queue.submit("second", COUNT)
        await wait_until_true(lambda: queue.is_waiting("second"))
        assert await queue.list_drivers() == ["first-0-driver"]
        assert "Succeeded" in dict(await queue.wait_for_state("first", "ResourceReleased"))
        assert "Succeeded" in dict(await queue.wait_for_state("second", "ResourceReleased"))


async def test_preempted_application_is_suspended_and_runs_again_although_the_controller_is_killed(
    queue: Queue,
) -> None:
    with run_controller(queue.name, queue.controller, "--kueue", killed=True):
        await queue.submit("low", WORK)
        await queue.wait_for_state("low", "RunningHealthy")
        await queue.submit("high", COUNT, high=True)
        await queue.wait_for_state("low", "Suspended")
    with run_controller(queue.name, queue.controller, "--kueue", killed=True):
        assert "Succeeded" in dict(await queue.wait_for_state("high", "Succeeded"))
    with run_controller(queue.name, queue.controller, "--kueue"):
        assert "Succeeded" in dict(await queue.wait_for_state("low", "ResourceReleased"))
        low = await queue.client.get(SPARK_APPLICATIONS, "low", queue.name)
        info = low["status"]["currentAttemptSummary"]["attemptInfo"]
        assert (info["id"], info["restartCounter"]) == (1, 0)
        assert "Suspended" in dict(read_history(low["status"]["previousAttemptSummary"]))
