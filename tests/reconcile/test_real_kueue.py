"""The controller with a real Kueue, on a cluster without nodes: the tests play the kubelet."""

from contextlib import suppress

from airflow_provider_spark_operator.core.models.cluster import ClusterState
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import (
    PODS,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    STATEFUL_SETS,
    WORKLOADS,
)
from tests import builders
from tests.reconcile.kueue_harness import CLUSTER, QueuedNamespace, client, pytestmark, queued
from tests.reconcile.reconcilers import test_clusters

__all__ = ["client", "pytestmark", "queued"]

S, C = ApplicationState, ClusterState


async def test_second_application_starts_when_the_first_has_ended(queued: QueuedNamespace) -> None:
    async with queued.event():
        await queued.submit("first")
    await queued.run_driver("first")
    async with queued.event():
        await queued.submit("second")
    waiting = await queued.wait_for_admission_request("second")
    assert waiting["spec"]["queueName"] == queued.name
    assert await queued.list_drivers() == ["first-0-driver"]
    async with queued.event():
        await queued.end_driver("first")
    await queued.api.wait_for_state(S.RESOURCE_RELEASED, name="first")
    await queued.run_driver("second")
    await queued.complete("second")


async def test_higher_priority_preempts_an_application_that_runs_again_later(queued: QueuedNamespace) -> None:
    await queued.submit("low")
    await queued.run_driver("low")
    workload = await queued.get_workload("low")
    await queued.submit("high", high=True)
    await queued.wait_for_workload("high")
    async with queued.event():
        await queued.wait_for_eviction(workload)
    await queued.run_driver("high")
    await queued.wait_for_admission_request("low")
    assert await queued.get_state("low") == "Submitted"
    assert await queued.list_drivers() == ["high-0-driver"]
    async with queued.event():
        await queued.end_driver("high")
    await queued.run_driver("low", 1)
    low = await queued.api.client.get(SPARK_APPLICATIONS, "low", queued.api.namespace)
    info = low["status"]["currentAttemptSummary"]["attemptInfo"]
    assert (info["id"], info["restartCounter"]) == (1, 0)
    await queued.complete("low", 1)


async def test_waiting_application_follows_its_priority_class_and_the_removal_of_the_class(
    queued: QueuedNamespace,
) -> None:
    await queued.set_stop_policy("Hold")
    await queued.submit("one", high=True)
    high = (await queued.wait_for_admission_request("one"))["spec"]
    assert high["priorityClassRef"]["name"] == queued.name

    async def has_no_class() -> bool:
        return "priorityClassRef" not in (await queued.get_workload("one"))["spec"]

    async with queued.event():
        label = {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": None}}}
        await queued.api.client.patch(SPARK_APPLICATIONS, "one", queued.api.namespace, label)
    await queued.api.wait_until_true(has_no_class)
    await queued.set_stop_policy("None")
    await queued.run_driver("one")
    await queued.complete("one")


async def test_workload_deleted_while_pending_is_created_again(queued: QueuedNamespace) -> None:
    await queued.submit("first")
    await queued.run_driver("first")
    await queued.submit("second")
    before = await queued.wait_for_admission_request("second")
    async with queued.event():
        await queued.api.client.delete(WORKLOADS, before["metadata"]["name"], queued.api.namespace)

    async def is_replaced() -> bool:
        with suppress(NotFound):
            return bool((await queued.get_workload("second"))["metadata"]["uid"] != before["metadata"]["uid"])
        return False

    await queued.api.wait_until_true(is_replaced)
    assert await queued.list_drivers() == ["first-0-driver"]
    await queued.complete("first")
    await queued.run_driver("second")
    await queued.complete("second")


async def test_stopped_queue_suspends_the_application_until_it_is_open_again(queued: QueuedNamespace) -> None:
    await queued.submit("job")
    await queued.run_driver("job")
    async with queued.event():
        await queued.set_stop_policy("HoldAndDrain")
    await queued.wait_for_usage("0")
    await queued.api.wait_for_state(S.SUBMITTED, name="job")
    assert await queued.list_drivers() == []
    async with queued.event():
        await queued.set_stop_policy("None")
    await queued.run_driver("job", 1)
    await queued.complete("job", 1)


async def test_deactivated_workload_suspends_the_application_until_it_is_active_again(queued: QueuedNamespace) -> None:
    await queued.submit("job")
    await queued.run_driver("job")
    async with queued.event():
        await queued.patch_workload("job", {"spec": {"active": False}})
    await queued.api.wait_for_state(S.SUSPENDED, name="job")
    await queued.wait_for_usage("0")

    # Kueue stops counting a deactivated Workload at once, even if the driver has not been deleted yet.
    async def has_no_drivers() -> bool:
        return await queued.list_drivers() == []

    await queued.api.wait_until_true(has_no_drivers)
    async with queued.event():
        await queued.patch_workload("job", {"spec": {"active": True}})
    await queued.run_driver("job", 1)
    await queued.complete("job", 1)


async def test_suspended_application_gives_its_place_to_the_next(queued: QueuedNamespace) -> None:
    await queued.submit("first")
    await queued.run_driver("first")
    await queued.submit("second")
    await queued.wait_for_admission_request("second")
    async with queued.event():
        await queued.api.patch({"spec": {"suspend": True}}, "first")
    await queued.run_driver("second")
    assert await queued.get_state("first") == "Suspended"
    async with queued.event():
        await queued.api.patch({"spec": {"suspend": False}}, "first")
    await queued.wait_for_admission_request("first")
    await queued.complete("second")
    await queued.run_driver("first", 1)
    await queued.complete("first", 1)


async def test_deleted_application_returns_its_quota(queued: QueuedNamespace) -> None:
    await queued.submit("first")
    await queued.run_driver("first")
    await queued.submit("second")
    await queued.wait_for_admission_request("second")
    async with queued.event():
        await queued.api.delete("first")
    await queued.api.wait_until(lambda seen: seen is None, "first")
    await queued.run_driver("second")
    await queued.api.delete("second")
    await queued.api.wait_until(lambda seen: seen is None, "second")


async def run_cluster(queued: QueuedNamespace, name: str) -> None:
    """Wait until a cluster was admitted and its pods exist."""
    await test_clusters.wait_for_state(queued.api, C.RUNNING_HEALTHY, name)
    await wait_for_pods(queued, [f"{name}-master-0", f"{name}-worker-0"])


async def wait_for_pods(queued: QueuedNamespace, names: list[str]) -> None:
    async def are_there() -> bool:
        return await queued.list_drivers() == names

    await queued.api.wait_until_true(are_there)


async def delete_cluster(queued: QueuedNamespace, name: str) -> None:
    async with queued.event():
        await queued.api.client.delete(SPARK_CLUSTERS, name, queued.api.namespace)
    await test_clusters.wait_for_deletion(queued.api, name)


async def set_cluster_suspend(queued: QueuedNamespace, name: str, suspend: bool) -> None:
    async with queued.event():
        patch = {"spec": {"suspend": suspend}}
        await queued.api.client.patch(SPARK_CLUSTERS, name, queued.api.namespace, patch)


async def test_admitted_cluster_reports_its_readiness_and_returns_its_quota_when_deleted(
    queued: QueuedNamespace,
) -> None:
    async with queued.event():
        await queued.submit_cluster("cl")
    await run_cluster(queued, "cl")
    await queued.wait_for_usage("2")
    status = builders.build_driver_pod("ready")["status"]
    async with queued.event():
        for pod in ("cl-master-0", "cl-worker-0"):
            await queued.api.client.patch(PODS, pod, queued.api.namespace, {"status": status}, subresource="status")
    await queued.wait_for_condition("cl", CLUSTER, "PodsReady")
    await delete_cluster(queued, "cl")
    await queued.wait_for_usage("0")


async def test_cluster_waits_until_an_application_returns_its_quota(queued: QueuedNamespace) -> None:
    await queued.submit("job")
    await queued.run_driver("job")
    async with queued.event():
        await queued.submit_cluster("cl")
    await queued.wait_for_admission_request("cl", CLUSTER)
    assert await queued.api.list_names(STATEFUL_SETS) == []
    await queued.complete("job")
    await run_cluster(queued, "cl")
    await delete_cluster(queued, "cl")


async def test_higher_priority_preempts_a_cluster_that_runs_again_later(queued: QueuedNamespace) -> None:
    await queued.submit_cluster("low")
    await run_cluster(queued, "low")
    workload = await queued.get_workload("low", CLUSTER)
    await queued.submit_cluster("high", high=True)
    await queued.wait_for_workload("high", CLUSTER)
    async with queued.event():
        await queued.wait_for_eviction(workload)
    await run_cluster(queued, "high")
    await queued.wait_for_admission_request("low", CLUSTER)
    await test_clusters.wait_for_state(queued.api, C.SUBMITTED, "low")
    await delete_cluster(queued, "high")
    await run_cluster(queued, "low")
    await delete_cluster(queued, "low")


async def test_suspended_cluster_gives_its_place_to_an_application(queued: QueuedNamespace) -> None:
    await queued.submit_cluster("cl")
    await run_cluster(queued, "cl")
    await queued.submit("job")
    await queued.wait_for_admission_request("job")
    await set_cluster_suspend(queued, "cl", True)
    await queued.run_driver("job")
    assert await queued.list_drivers() == ["job-0-driver"]
    await test_clusters.wait_for_state(queued.api, C.SUSPENDED, "cl")
    await set_cluster_suspend(queued, "cl", False)
    await queued.wait_for_admission_request("cl", CLUSTER)
    await queued.complete("job")
    await run_cluster(queued, "cl")
    await delete_cluster(queued, "cl")
