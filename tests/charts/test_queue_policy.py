"""The policy of the chart for changes of the queue, on a real API server."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
)
from tests import builders
from tests.charts.conftest import Cluster, build_path
from tests.charts.helm import Json, needs_helm, render_chart, select_kind

from control_plane import build_kubeconfig

pytestmark = [needs_helm, pytest.mark.timeout(300), pytest.mark.xdist_group("queue_policy")]

QUEUE = "kueue.x-k8s.io/queue-name"
DEADLINE = 120


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[KubeClient]:
    async with await open_client(ClusterAccess(kubeconfig_document=build_kubeconfig(cluster.server))) as client:
        for definition in build_custom_resource_definitions():
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
        for kind in (SPARK_APPLICATIONS, SPARK_CLUSTERS):
            async with asyncio.timeout(DEADLINE):
                while not await client.is_served(kind):  # noqa: ASYNC110 - no event reports it
                    await asyncio.sleep(0.05)
        yield client


@pytest.fixture
def policy(cluster: Cluster) -> Iterator[None]:
    """Install the policy of a release that watches the namespace `jobs`."""
    documents = render_chart({"kueue": {"enabled": True}, "watch": {"namespaces": ["jobs"]}})
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    chosen = [document for kind in kinds for document in select_kind(documents, kind)]
    for document in chosen:
        cluster.ask("POST", build_path(document), document)
    yield
    for document in chosen:
        cluster.ask("DELETE", f"{build_path(document)}/{document['metadata']['name']}")


async def create(client: KubeClient, name: str, namespace: str, state: str | None, queue: str | None) -> None:
    """Create an application in a state and in a queue."""
    document = builders.build_application_document(name=name, finalizer=False)
    document["metadata"] = {"name": name, "labels": {} if queue is None else {QUEUE: queue}}
    document.pop("status", None)
    await client.create(SPARK_APPLICATIONS, document, namespace)
    if state is not None:
        record = {"currentStateSummary": state, "lastTransitionTime": "2026-11-01T00:00:00Z"}
        status: Json = {"currentState": record}
        await client.patch(SPARK_APPLICATIONS, name, namespace, {"status": status}, subresource="status")


async def can_move(client: KubeClient, name: str, namespace: str, queue: str | None) -> bool:
    """Return whether the queue of an application can be changed."""
    try:
        await client.patch(SPARK_APPLICATIONS, name, namespace, {"metadata": {"labels": {QUEUE: queue}}})
    except Forbidden as error:
        return "suspend the resource first" not in str(error)
    return True


async def wait_for_policy(client: KubeClient) -> None:
    """Wait until the API server applies the policy."""
    await create(client, "probe", "jobs", "RunningHealthy", "a")
    async with asyncio.timeout(DEADLINE):
        while await can_move(client, "probe", "jobs", "b"):
            await can_move(client, "probe", "jobs", "a")
            await asyncio.sleep(0.1)


async def test_queue_changes_only_while_there_are_no_pods(client: KubeClient, policy: None) -> None:
    await wait_for_policy(client)
    for state in (None, "Submitted", "ScheduledToRestart", "Suspended"):
        name = f"free-{str(state).lower()}"
        await create(client, name, "jobs", state, None)
        assert [await can_move(client, name, "jobs", queue) for queue in ("a", "b", None)] == [True] * 3
    for state in ("DriverRequested", "RunningHealthy", "Succeeded", "ResourceReleased"):
        name = f"bound-{state.lower()}"
        await create(client, name, "jobs", state, "a")
        assert [await can_move(client, name, "jobs", queue) for queue in ("a", "b", None)] == [True, False, False]
        await client.patch(SPARK_APPLICATIONS, name, "jobs", {"metadata": {"labels": {"other": "x"}}})
    await create(client, "unlabelled", "jobs", "RunningHealthy", None)
    assert not await can_move(client, "unlabelled", "jobs", "a")
    await create(client, "elsewhere", "more-jobs", "RunningHealthy", "a")
    assert await can_move(client, "elsewhere", "more-jobs", "b")  # the release does not watch this namespace
