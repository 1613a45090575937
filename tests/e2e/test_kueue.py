"""Run Spark applications on a real node in the queue of a real Kueue, with the permissions of the manifests.

The controller is killed at each event, and started again after it.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
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
from tests.e2e.jobs import build_endless, end_job
from tests.e2e.node import NEEDED, delete_all, run_controller, wait_until, wait_until_terminated
from tests.e2e.test_lifecycle import list_pods, read_history

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
        kubeconfig: The kubeconfig of the controller.
        controller: The process of the controller.
    """

    client: KubeClient
    name: str
    kubeconfig: Path
    controller: ExitStack = field(default_factory=ExitStack)

    def start_controller(self) -> None:
        self.controller.enter_context(run_controller(self.name, self.kubeconfig, "--kueue", killed=True))

    @contextmanager
    def kill_controller(self) -> Iterator[None]:
        """Kill the controller, let something happen, and start the controller again."""
        self.controller.close()
        yield
        self.start_controller()

    async def submit(self, name: str, *, high: bool = False) -> None:
        document = build_endless(name)
        labels = {"kueue.x-k8s.io/queue-name": self.name}
        document["metadata"]["labels"] = labels | ({"kueue.x-k8s.io/priority-class": self.name} if high else {})
        await self.client.create(SPARK_APPLICATIONS, document, self.name)

    async def wait_for_state(self, name: str, state: str, attempt: int = 0) -> Json:
        """Wait until an attempt is in a state; return the status."""
        status: Json = {}

        async def is_in_state() -> bool:
            document = await self.client.get(SPARK_APPLICATIONS, name, self.name)
            status.clear()
            status.update(document.get("status") or {})
            if not status:
                return False
            number = status["currentAttemptSummary"]["attemptInfo"]["id"]
            return (number, status["currentState"]["currentStateSummary"]) == (attempt, state)

        try:
            await wait_until(is_in_state)
        except TimeoutError:
            raise AssertionError(f"{name} is not in {state} in attempt {attempt}: {read_history(status)}") from None
        return status

    async def complete(self, name: str, attempt: int = 0) -> None:
        """End the job of a running attempt while the controller is down."""
        with self.kill_controller():
            await end_job(self.client, self.name, name)
            await wait_until_terminated(self.client, self.name, f"{name}-{attempt}-driver")
        assert "Succeeded" in dict(read_history(await self.wait_for_state(name, "ResourceReleased", attempt)))

    async def get_workload(self, name: str) -> Json:
        """Return the Workload of an application, or an empty object."""
        with suppress(NotFound):
            workload: Json = await self.client.get(WORKLOADS, f"sparkapplication-{name}", self.name)
            return workload
        return {}

    async def wait_for_condition(self, name: str, condition: str, status: str) -> Json:
        """Wait until Kueue has given the Workload of an application a condition; return the Workload."""

        async def has_it() -> bool:
            conditions = (await self.get_workload(name)).get("status", {}).get("conditions", [])
            return any((each["type"], each["status"]) == (condition, status) for each in conditions)

        await wait_until(has_it)
        return await self.get_workload(name)

    async def wait_for_admission_request(self, name: str) -> Json:
        """Wait until Kueue has decided that an application must wait; return the Workload."""
        return await self.wait_for_condition(name, "QuotaReserved", "False")

    async def wait_for_workload(self, name: str) -> None:
        async def exists() -> bool:
            return bool(await self.get_workload(name))

        await wait_until(exists)

    async def wait_for_eviction(self, name: str, workload: Json) -> None:
        """Wait until Kueue has evicted the Workload of an application. The Workload may have been replaced already."""

        async def is_evicted() -> bool:
            found = await self.get_workload(name)
            conditions = found.get("status", {}).get("conditions", [])
            evicted = any((each["type"], each["status"]) == ("Evicted", "True") for each in conditions)
            return evicted or found.get("metadata", {}).get("uid") != workload["metadata"]["uid"]

        await wait_until(is_evicted)

    async def set_active(self, name: str, *, active: bool) -> None:
        patch = {"spec": {"active": active}}
        await self.client.patch(WORKLOADS, f"sparkapplication-{name}", self.name, patch)

    async def set_stop_policy(self, policy: str) -> None:
        await self.client.patch(CLUSTER_QUEUES, self.name, None, {"spec": {"stopPolicy": policy}})

    async def is_unused(self) -> bool:
        queue = await self.client.get(CLUSTER_QUEUES, self.name, None)
        (flavor,) = queue["status"]["flavorsUsage"]
        return all(each["total"] in ("0", 0) for each in flavor["resources"])

    async def list_drivers(self) -> list[str]:
        return sorted(await list_pods(self.client, self.name, "driver"))

    async def list_pods(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in (await self.client.list(PODS, self.name)).items]

    async def has_no_pods(self) -> bool:
        return not await self.list_pods()


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
        queue.start_controller()
        yield queue
        await wait_until(queue.is_unused)
    finally:
        queue.controller.close()
        with run_controller(namespace, controller, "--kueue") as log:  # the controller must remove its finalizers
            await delete_all(client, SPARK_APPLICATIONS, namespace)
        for kind in (CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES):
            with suppress(KubeError):
                await client.delete(kind, namespace, None)
        for kind in (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES):
            await client.delete(kind, f"{namespace}-kueue", None)
    assert "grant the verb" not in log.read_text()


async def test_second_application_runs_when_the_first_has_ended_although_its_workload_was_deleted(queue: Queue) -> None:
    await queue.submit("first")
    await queue.wait_for_state("first", "RunningHealthy")
    await queue.submit("second")
    before = await queue.wait_for_admission_request("second")

    with queue.kill_controller():
        await queue.client.delete(WORKLOADS, before["metadata"]["name"], queue.name)
    after = await queue.wait_for_admission_request("second")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert await queue.list_drivers() == ["first-0-driver"]

    await queue.complete("first")
    await queue.wait_for_state("second", "RunningHealthy")
    await queue.complete("second")


async def test_preempted_application_is_suspended_and_runs_again_later(queue: Queue) -> None:
    await queue.submit("low")
    await queue.wait_for_state("low", "RunningHealthy")
    workload = await queue.get_workload("low")
    await queue.submit("high", high=True)
    await queue.wait_for_workload("high")
    with queue.kill_controller():
        await queue.wait_for_eviction("low", workload)
    await queue.wait_for_condition("high", "Admitted", "True")
    assert not any(pod.startswith("low-") for pod in await queue.list_pods())
    await queue.wait_for_state("high", "RunningHealthy")
    assert await queue.list_drivers() == ["high-0-driver"]
    await queue.wait_for_admission_request("low")

    await queue.complete("high")
    status = await queue.wait_for_state("low", "RunningHealthy", attempt=1)
    assert "Suspended" in dict(read_history(status["previousAttemptSummary"]))
    assert status["currentAttemptSummary"]["attemptInfo"]["restartCounter"] == 0
    await queue.complete("low", attempt=1)


async def test_application_leaves_a_stopped_queue_and_a_deactivated_workload_and_runs_again(queue: Queue) -> None:
    await queue.submit("job")
    await queue.wait_for_state("job", "RunningHealthy")

    with queue.kill_controller():
        await queue.set_stop_policy("HoldAndDrain")
        await queue.wait_for_condition("job", "Evicted", "True")
    await wait_until(queue.is_unused)
    assert await queue.list_pods() == []
    await queue.wait_for_state("job", "Submitted", attempt=1)
    with queue.kill_controller():
        await queue.set_stop_policy("None")
    await queue.wait_for_state("job", "RunningHealthy", attempt=1)

    with queue.kill_controller():
        await queue.set_active("job", active=False)
        await queue.wait_for_condition("job", "Evicted", "True")
    await queue.wait_for_state("job", "Suspended", attempt=1)
    await wait_until(queue.has_no_pods)
    await wait_until(queue.is_unused)
    with queue.kill_controller():
        await queue.set_active("job", active=True)
    await queue.wait_for_state("job", "RunningHealthy", attempt=2)
    await queue.complete("job", attempt=2)
