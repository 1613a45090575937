"""The controller with Kueue and the permissions of the chart, on a real API server. The test decides as Kueue does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kueue import state
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import AlreadyExists, NotFound
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    PRIORITY_CLASSES,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
)
from tests.charts.conftest import Cluster
from tests.charts.helm import CHART, NAMESPACE, RELEASE, Json, needs_helm, render_chart, run_helm
from tests.charts.test_chart import list_permissions
from tests.charts.test_server import EVERY_EVENT, client, definitions, run_chart_controller, wait_until_served
from tests.reconcile.harness import IMAGE, Api, build_application, run_controller
from tests.reconcile.kueue_objects import KINDS, QUEUE_LABEL, admit, build_definition, create_flavor, get_workload

__all__ = ["client", "definitions"]

pytestmark = [needs_helm, pytest.mark.timeout(300), pytest.mark.xdist_group("kueue_permissions")]

DEADLINE = 120
# Without executors, the application is ready when its driver is.
LOCAL = {**IMAGE, "spark.kubernetes.driver.master": "local[2]"}
VALUES: Json = {"watch": {"namespaces": ["jobs"]}, "kueue": {"enabled": True}}


@pytest.fixture
async def kueue(cluster: Cluster, client: KubeClient, definitions: None) -> AsyncIterator[None]:
    """Install Kueue's definitions with a flavor and priority classes, and the chart."""
    for kind, scope in KINDS.items():
        with suppress(AlreadyExists):
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, build_definition(kind, scope), None)
        async with asyncio.timeout(DEADLINE):
            while not await client.is_served(kind):  # noqa: ASYNC110 - no event reports it
                await asyncio.sleep(0.05)
    await create_flavor(client)
    for kind in (WORKLOAD_PRIORITY_CLASSES, PRIORITY_CLASSES):
        document = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "high"}, "value": 1000}
        await client.create(kind, document, None)
    run_helm("install", RELEASE, str(CHART), "--namespace", NAMESPACE, kubeconfig=cluster.kubeconfig, values=VALUES)
    yield
    run_helm("uninstall", RELEASE, "--namespace", NAMESPACE, kubeconfig=cluster.kubeconfig)


def build_queued(name: str, **modifiers: object) -> JsonObject:
    document = build_application(name, conf=LOCAL, **modifiers)
    document["metadata"]["labels"] = {QUEUE_LABEL: "team-a"}
    return document


async def wait_for_workload(api: Api, name: str, condition: Callable[[JsonObject], bool]) -> JsonObject:
    """Wait until the Workload of an application fulfills a condition."""
    workload = f"sparkapplication-{name}"

    async def holds() -> bool:
        with suppress(NotFound):
            return condition(await get_workload(api.client, api.namespace, workload))
        return False

    await api.wait_until_true(holds)
    return await get_workload(api.client, api.namespace, workload)


async def run_applications(api: Api) -> None:
    """Run applications that cause every request of the controller to Kueue."""
    await api.submit(build_queued("pi"))
    await wait_for_workload(api, "pi", lambda seen: seen["spec"]["queueName"] == "team-a")
    await api.patch({"metadata": {"labels": {QUEUE_LABEL: "team-b"}}})
    moved = await wait_for_workload(api, "pi", lambda seen: seen["spec"]["queueName"] == "team-b")
    await admit(api.client, moved)
    await api.wait_for_state(ApplicationState.DRIVER_REQUESTED)
    await api.set_pod("pi-0-driver", "ready")
    await wait_for_workload(api, "pi", lambda seen: state.is_true(seen, state.PODS_READY))
    await api.set_pod("pi-0-driver", "succeeded")
    await api.wait_for_state(ApplicationState.RESOURCE_RELEASED)
    named = build_queued("named")
    named["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    await api.submit(named)
    await wait_for_workload(api, "named", lambda seen: seen["spec"]["priority"] == 1000)
    template = {"podTemplateSpec": {"spec": {"priorityClassName": "high"}}}
    await api.submit(build_queued("templated", driverSpec=template))
    await wait_for_workload(api, "templated", lambda seen: seen["spec"]["priority"] == 1000)


async def test_permissions_are_sufficient_with_kueue_and_all_are_used(
    cluster: Cluster, client: KubeClient, kueue: None
) -> None:
    used: set[tuple[str, str, str]] = set()
    await wait_until_served(client)
    settings, api = replace(EVERY_EVENT, kueue=True), Api(client, "jobs")
    async with run_chart_controller(cluster, used) as limited, run_controller(api, limited, settings=settings):
        await run_applications(api)
    documents = render_chart(VALUES)
    granted = list_permissions(documents, RELEASE) | list_permissions(documents, f"{NAMESPACE}-{RELEASE}-kueue")
    assert used <= granted
    groups = {RESOURCE_FLAVORS.group, PRIORITY_CLASSES.group}
    assert {each for each in used if each[0] in groups} == {each for each in granted if each[0] in groups}
