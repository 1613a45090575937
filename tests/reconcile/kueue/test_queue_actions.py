"""The controller with Kueue on an API server. The tests decide as Kueue does."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.models.cluster import ClusterState
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import NotFound, ServerError
from airflow_provider_spark_operator.kube.resources import (
    CONFIG_MAPS,
    PODS,
    SPARK_CLUSTERS,
    STATEFUL_SETS,
    WORKLOADS,
    ResourceType,
)
from tests.local_api import NAMESPACE
from tests.reconcile.harness import (
    DEADLINE,
    QUICK,
    Api,
    FaultyClient,
    Killed,
    build_application,
    build_error,
    run_controller,
)
from tests.reconcile.kueue_objects import QUEUE_LABEL, admit, evict, get_workload, install_kueue
from tests.reconcile.reconcilers import test_clusters
from tests.reconcile.test_unreadable_applications import UNKNOWN_MODE, install_newer_definitions

QUEUED = replace(QUICK, kueue=True)
S = ApplicationState


class RecordingClient:
    """A client that notes the kinds of all requests."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self.resources: set[ResourceType] = set()

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._client, name)
        if not callable(real):
            return real

        def call(*arguments: Any, **options: Any) -> Any:
            self.resources |= {each for each in arguments if isinstance(each, ResourceType)}
            return real(*arguments, **options)

        return call


class BrokenWorkloads:
    """A client of an API whose conversion webhook of Workloads fails."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._client, name)
        if name not in ("get", "list", "create", "watch"):
            return real

        def call(resource: ResourceType, *arguments: Any, **options: Any) -> Any:
            if resource == WORKLOADS:
                raise build_error(ServerError, 500)
            return real(resource, *arguments, **options)

        return call


def build_queued(**modifiers: Any) -> JsonObject:
    document = build_application(**modifiers)
    document["metadata"]["labels"] = {QUEUE_LABEL: "team-a"}
    return document


async def wait_for_workload(api: Api, name: str = "sparkapplication-pi", *, other_than: str = "") -> JsonObject:
    """Wait until a Workload exists whose uid is not `other_than`."""

    async def exists() -> bool:
        try:
            found = await get_workload(api.client, api.namespace, name)
        except NotFound:
            return False
        return bool(found["metadata"]["uid"] != other_than)

    await api.wait_until_true(exists)
    return await get_workload(api.client, api.namespace, name)


async def start(api: Api) -> JsonObject:
    """Submit an application, admit it, and start its driver; return its Workload."""
    await api.submit(build_queued())
    workload = await wait_for_workload(api)
    await admit(api.client, workload)
    await api.wait_for_state(S.DRIVER_REQUESTED)
    await api.set_pod("pi-0-driver", "ready")
    await api.wait_for_state(S.RUNNING_HEALTHY)
    return workload


async def is_released(api: Api) -> bool:
    return not (await api.client.list(WORKLOADS, api.namespace)).items


async def test_application_starts_with_its_flavor_after_its_admission(client: KubeClient, api: Api) -> None:
    await install_kueue(client)
    async with run_controller(api, settings=QUEUED):
        await api.submit(build_queued())
        workload = await wait_for_workload(api)
        event, *_ = await api.wait_for_events(reasons.KUEUE_ADMISSION_PENDING)
        assert event["type"] == "Normal"
        assert await api.list_names(PODS) == []
        await admit(client, workload)
        await api.wait_for_state(S.DRIVER_REQUESTED)
        (driver,) = await api.list_objects(PODS)
        assert driver["spec"]["nodeSelector"] == {"pool": "spot"}
        templates = [text for each in await api.list_objects(CONFIG_MAPS) for text in each.get("data", {}).values()]
        assert any('"pool": "spot"' in text for text in templates)
        await api.wait_for_events(reasons.KUEUE_ADMITTED)
        await api.set_pod("pi-0-driver", "succeeded")
        await api.wait_for_state(S.RESOURCE_RELEASED)
        assert await is_released(api)


async def test_evicted_application_is_suspended_and_queued_again(client: KubeClient, api: Api) -> None:
    await install_kueue(client)
    async with run_controller(api, settings=QUEUED):
        first = await start(api)
        await evict(client, first)
        second = await wait_for_workload(api, other_than=first["metadata"]["uid"])
        await admit(client, second)
        again = await api.wait_for_state(S.DRIVER_REQUESTED)
        assert await api.list_names(PODS) == ["pi-1-driver"]
        records = again["status"]["previousAttemptSummary"]["stateTransitionHistory"].values()
        assert [each["suspendReason"] for each in records if each["currentStateSummary"] == "Suspended"] == [
            "KueueEviction"
        ]
        await api.delete()
        await api.wait_for_deletion()
        assert await is_released(api)


async def create_executor(api: Api, phase: str) -> None:
    """Create an executor of an earlier application of the same name."""
    labels = {
        "spark.operator/name": "spark-kubernetes-operator",
        "spark.operator/spark-app-name": "pi",
        "spark-role": "executor",
    }
    executor = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "old-executor", "namespace": NAMESPACE, "labels": labels},
        "spec": {"containers": [{"name": "executor", "image": "spark"}]},
    }
    await api.client.create(PODS, executor, NAMESPACE)
    await api.client.patch(PODS, "old-executor", NAMESPACE, {"status": {"phase": phase}}, subresource="status")


async def leave_workload_and_executor(api: Api, phase: str) -> JsonObject:
    """Create an executor and the Workload of an earlier application of the same name; return the Workload."""
    await create_executor(api, phase)
    workload = {
        "apiVersion": WORKLOADS.api_version,
        "kind": "Workload",
        "metadata": {"name": "sparkapplication-pi", "namespace": NAMESPACE},
        "spec": {"queueName": "team-a", "podSets": []},
    }
    return await api.client.create(WORKLOADS, workload, NAMESPACE)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_ended_pod_does_not_keep_the_workload_of_an_earlier_application(
    client: KubeClient, api: Api, phase: str
) -> None:
    await install_kueue(client)
    earlier = await leave_workload_and_executor(api, phase)
    async with run_controller(api, settings=QUEUED):
        await api.submit(build_queued())
        await wait_for_workload(api, other_than=earlier["metadata"]["uid"])


async def test_application_reports_that_it_waits_for_the_pods_of_an_earlier_one(client: KubeClient, api: Api) -> None:
    await install_kueue(client)
    earlier = await leave_workload_and_executor(api, "Running")
    async with run_controller(api, settings=QUEUED):
        await api.submit(build_queued())
        event, *_ = await api.wait_for_events(reasons.KUEUE_ADMISSION_PENDING)
        assert event["message"] == (
            "The Workload belongs to an earlier resource of the same name. "
            "The Workload is deleted when the pods of the resource have ended."
        )
        await client.delete(PODS, "old-executor", NAMESPACE, grace_seconds=0)
        await wait_for_workload(api, other_than=earlier["metadata"]["uid"])


async def test_waiting_application_that_becomes_unreadable_leaves_the_queue(client: KubeClient, api: Api) -> None:
    await install_kueue(client)
    await install_newer_definitions(api)
    async with run_controller(api, settings=QUEUED):
        await api.submit(build_queued())
        await wait_for_workload(api)
        await api.patch(UNKNOWN_MODE)
        await api.wait_for_state(S.RESOURCE_RELEASED)
        assert await is_released(api)


async def test_unreadable_application_is_refused_although_its_workload_cannot_be_read(
    client: KubeClient, api: Api
) -> None:
    await install_newer_definitions(api)
    document = build_queued()
    document["spec"] |= UNKNOWN_MODE["spec"]
    async with run_controller(api, settings=QUEUED):  # the definitions of Kueue are missing
        await api.submit(document)
        await api.wait_for_state(S.RESOURCE_RELEASED)


async def test_unreadable_application_keeps_its_workload_while_a_pod_uses_the_quota(
    client: KubeClient, api: Api
) -> None:
    await install_kueue(client)
    await install_newer_definitions(api)
    async with run_controller(api, settings=QUEUED):
        await api.submit(build_queued())
        await wait_for_workload(api)
        await create_executor(api, "Running")
        await api.patch(UNKNOWN_MODE)
        await api.wait_for_state(S.RESOURCE_RELEASED)
        assert not await is_released(api)


async def test_deleted_workload_of_a_waiting_application_is_created_again(client: KubeClient, api: Api) -> None:
    await install_kueue(client)
    async with run_controller(api, settings=QUEUED):
        await api.submit(build_queued())
        first = await wait_for_workload(api)
        await client.delete(WORKLOADS, first["metadata"]["name"], NAMESPACE)
        await wait_for_workload(api, other_than=first["metadata"]["uid"])
        assert await api.list_names(PODS) == []


async def test_controller_without_kueue_ignores_the_label_and_reports_it(client: KubeClient, api: Api) -> None:
    await install_kueue(client)
    recording = RecordingClient(client)
    async with run_controller(api, recording):  # type: ignore[arg-type]
        await api.submit(build_queued())
        await api.wait_for_state(S.DRIVER_REQUESTED)
        await api.wait_for_events(reasons.KUEUE_DISABLED)
    assert PODS in recording.resources
    assert WORKLOADS not in recording.resources
    assert await is_released(api)


async def test_cluster_without_kueue_reports_it_and_runs_other_applications(client: KubeClient, api: Api) -> None:
    async with run_controller(api, settings=QUEUED):
        await api.submit(build_queued())
        event, *_ = await api.wait_for_events(reasons.KUEUE_ADMISSION_REQUEST_FAILED)
        assert event["type"] == "Warning"
        assert "CustomResourceDefinition" in event["message"]
        await api.submit(build_application("other"))
        await api.wait_for_state(S.DRIVER_REQUESTED, name="other")
        await api.delete()
        await api.wait_for_deletion()


async def test_controller_runs_other_applications_while_the_api_cannot_serve_workloads(
    client: KubeClient, api: Api
) -> None:
    await install_kueue(client)
    async with run_controller(api, BrokenWorkloads(client), settings=QUEUED):  # type: ignore[arg-type]
        await api.submit(build_queued())
        await api.submit(build_application("other"))
        await api.wait_for_state(S.DRIVER_REQUESTED, name="other")
        assert await api.list_names(PODS) == ["other-0-driver"]


@pytest.mark.parametrize("number", range(1, 7))
async def test_controller_killed_at_any_request_continues(client: KubeClient, api: Api, number: int) -> None:
    await install_kueue(client)
    verbs = ("create", "patch", "delete")
    faulty = FaultyClient(client, verbs, number, Killed(), for_good=True)

    async def admit_all() -> None:
        while True:
            for workload in (await client.list(WORKLOADS, NAMESPACE)).items:
                if "admission" not in workload.get("status", {}):
                    with suppress(NotFound):
                        await admit(client, workload)
            await asyncio.sleep(0.05)

    kueue = asyncio.create_task(admit_all())
    await api.submit(build_queued())
    try:
        with suppress(Killed):
            async with run_controller(api, faulty, settings=QUEUED) as task:  # type: ignore[arg-type]
                await asyncio.wait({task}, timeout=DEADLINE)
        assert faulty.has_struck
        async with run_controller(api, settings=QUEUED):
            await api.wait_for_state(S.DRIVER_REQUESTED)
            await api.set_pod("pi-0-driver", "succeeded")
            await api.wait_for_state(S.RESOURCE_RELEASED)
            assert await is_released(api)
    finally:
        kueue.cancel()
        await asyncio.wait({kueue})


async def test_cluster_waits_for_its_admission_and_is_suspended_when_evicted(client: KubeClient, api: Api) -> None:
    await install_kueue(client)
    name = "sparkcluster-cl"
    async with run_controller(api, settings=QUEUED):
        document = test_clusters.build_cluster(minimum=1, maximum=1)
        document["metadata"]["labels"] = {QUEUE_LABEL: "team-a"}
        await test_clusters.submit(api, document)
        first = await wait_for_workload(api, name)
        assert await api.list_names(STATEFUL_SETS) == []
        await admit(client, first)
        await test_clusters.wait_for_state(api, ClusterState.RUNNING_HEALTHY)
        sets = await api.list_objects(STATEFUL_SETS)
        assert [each["spec"]["template"]["spec"]["nodeSelector"] for each in sets] == [{"pool": "spot"}] * 2
        await evict(client, first)
        second = await wait_for_workload(api, name, other_than=first["metadata"]["uid"])
        assert await api.list_names(STATEFUL_SETS) == []
        await admit(client, second)
        await test_clusters.wait_for_state(api, ClusterState.RUNNING_HEALTHY)


async def test_admission_does_not_overwrite_the_edit_of_a_cluster_whose_state_was_not_written(
    client: KubeClient, api: Api
) -> None:
    await install_kueue(client)
    async with run_controller(api, settings=QUEUED):
        document = test_clusters.build_cluster(minimum=1, maximum=1)
        document["metadata"]["labels"] = {QUEUE_LABEL: "team-a"}
        await test_clusters.submit(api, document)
        await admit(client, await wait_for_workload(api, "sparkcluster-cl"))
        await test_clusters.wait_for_state(api, ClusterState.RUNNING_HEALTHY)
    template = {"spec": {"nodeSelector": {"pool": "large"}}}
    edit = {"spec": {"workerSpec": {"statefulSetSpec": {"template": template}}}}
    await client.patch(SPARK_CLUSTERS, "cl", NAMESPACE, {"status": None}, subresource="status")
    await client.patch(SPARK_CLUSTERS, "cl", NAMESPACE, edit)
    async with run_controller(api, settings=QUEUED):
        released = await test_clusters.wait_for_state(api, ClusterState.RESOURCE_RELEASED)
    history = released["status"]["stateTransitionHistory"].values()
    (message,) = [each["message"] for each in history if each["currentStateSummary"] == ClusterState.SCHEDULING_FAILURE]
    assert "pool=spot for the worker pods, which already have pool=large" in message
    assert await api.list_names(STATEFUL_SETS) == []
    assert await is_released(api)
