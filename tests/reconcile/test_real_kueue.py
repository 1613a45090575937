"""The controller with a real Kueue, on a cluster without nodes: the tests play the kubelet."""

from contextlib import suppress

from airflow_provider_spark_operator.core.models.cluster_status import ClusterState
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
from tests.reconcile.kueue_harness import CLUSTER, Scene, client, pytestmark, scene
from tests.reconcile.reconcilers import test_clusters

__all__ = ["client", "pytestmark", "scene"]

S, C = ApplicationState, ClusterState


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
    await scene.api.wait_for_state(S.RESOURCE_RELEASED, name="first")
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
    low = await scene.api.client.get(SPARK_APPLICATIONS, "low", scene.api.namespace)
    info = low["status"]["currentAttemptSummary"]["attemptInfo"]
    assert (info["id"], info["restartCounter"]) == (1, 0)
    await scene.complete("low", 1)


async def test_waiting_application_follows_its_priority_class_and_the_removal_of_the_class(scene: Scene) -> None:
    await scene.set_stop_policy("Hold")
    await scene.submit("one", high=True)
    high = (await scene.wait_for_admission_request("one"))["spec"]
    assert high["priorityClassRef"]["name"] == scene.name

    async def has_no_class() -> bool:
        return "priorityClassRef" not in (await scene.get_workload("one"))["spec"]

    async with scene.event():
        label = {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": None}}}
        await scene.api.client.patch(SPARK_APPLICATIONS, "one", scene.api.namespace, label)
    await scene.api.wait_until_true(has_no_class)
    await scene.set_stop_policy("None")
    await scene.run_driver("one")
    await scene.complete("one")


async def test_workload_deleted_while_pending_is_created_again(scene: Scene) -> None:
    await scene.submit("first")
    await scene.run_driver("first")
    await scene.submit("second")
    before = await scene.wait_for_admission_request("second")
    async with scene.event():
        await scene.api.client.delete(WORKLOADS, before["metadata"]["name"], scene.api.namespace)

    async def is_replaced() -> bool:
        with suppress(NotFound):
            return bool((await scene.get_workload("second"))["metadata"]["uid"] != before["metadata"]["uid"])
        return False

    await scene.api.wait_until_true(is_replaced)
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
    await scene.api.wait_for_state(S.SUBMITTED, name="job")
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
    await scene.api.wait_for_state(S.SUSPENDED, name="job")
    await scene.wait_for_usage("0")

    # Kueue stops counting a deactivated Workload at once, even if the driver has not been deleted yet.
    async def has_no_drivers() -> bool:
        return await scene.list_drivers() == []

    await scene.api.wait_until_true(has_no_drivers)
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
        await scene.api.patch({"spec": {"suspend": True}}, "first")
    await scene.run_driver("second")
    assert await scene.get_state("first") == "Suspended"
    async with scene.event():
        await scene.api.patch({"spec": {"suspend": False}}, "first")
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
        await scene.api.delete("first")
    await scene.api.wait_until(lambda seen: seen is None, "first")
    await scene.run_driver("second")
    await scene.api.delete("second")
    await scene.api.wait_until(lambda seen: seen is None, "second")


async def run_cluster(scene: Scene, name: str) -> None:
    """Wait until a cluster was admitted and its pods exist."""
    await test_clusters.wait_for_state(scene.api, C.RUNNING_HEALTHY, name)
    await wait_for_pods(scene, [f"{name}-master-0", f"{name}-worker-0"])


async def wait_for_pods(scene: Scene, names: list[str]) -> None:
    async def are_there() -> bool:
        return await scene.list_drivers() == names

    await scene.api.wait_until_true(are_there)


async def delete_cluster(scene: Scene, name: str) -> None:
    async with scene.event():
        await scene.api.client.delete(SPARK_CLUSTERS, name, scene.api.namespace)
    await test_clusters.wait_for_deletion(scene.api, name)


async def set_cluster_suspend(scene: Scene, name: str, suspend: bool) -> None:
    async with scene.event():
        patch = {"spec": {"suspend": suspend}}
        await scene.api.client.patch(SPARK_CLUSTERS, name, scene.api.namespace, patch)


async def test_admitted_cluster_reports_its_readiness_and_returns_its_quota_when_deleted(scene: Scene) -> None:
    async with scene.event():
        await scene.submit_cluster("cl")
    await run_cluster(scene, "cl")
    await scene.wait_for_usage("2")
    status = builders.build_driver_pod("ready")["status"]
    async with scene.event():
        for pod in ("cl-master-0", "cl-worker-0"):
            await scene.api.client.patch(PODS, pod, scene.api.namespace, {"status": status}, subresource="status")
    await scene.wait_for_condition("cl", CLUSTER, "PodsReady")
    await delete_cluster(scene, "cl")
    await scene.wait_for_usage("0")


async def test_cluster_waits_until_an_application_returns_its_quota(scene: Scene) -> None:
    await scene.submit("job")
    await scene.run_driver("job")
    async with scene.event():
        await scene.submit_cluster("cl")
    await scene.wait_for_admission_request("cl", CLUSTER)
    assert await scene.api.list_names(STATEFUL_SETS) == []
    await scene.complete("job")
    await run_cluster(scene, "cl")
    await delete_cluster(scene, "cl")


async def test_higher_priority_preempts_a_cluster_that_runs_again_later(scene: Scene) -> None:
    await scene.submit_cluster("low")
    await run_cluster(scene, "low")
    workload = await scene.get_workload("low", CLUSTER)
    await scene.submit_cluster("high", high=True)
    await scene.wait_for_workload("high", CLUSTER)
    async with scene.event():
        await scene.wait_for_eviction(workload)
    await run_cluster(scene, "high")
    await scene.wait_for_admission_request("low", CLUSTER)
    await test_clusters.wait_for_state(scene.api, C.SUBMITTED, "low")
    await delete_cluster(scene, "high")
    await run_cluster(scene, "low")
    await delete_cluster(scene, "low")


async def test_suspended_cluster_gives_its_place_to_an_application(scene: Scene) -> None:
    await scene.submit_cluster("cl")
    await run_cluster(scene, "cl")
    await scene.submit("job")
    await scene.wait_for_admission_request("job")
    await set_cluster_suspend(scene, "cl", True)
    await scene.run_driver("job")
    assert await scene.list_drivers() == ["job-0-driver"]
    await test_clusters.wait_for_state(scene.api, C.SUSPENDED, "cl")
    await set_cluster_suspend(scene, "cl", False)
    await scene.wait_for_admission_request("cl", CLUSTER)
    await scene.complete("job")
    await run_cluster(scene, "cl")
    await delete_cluster(scene, "cl")
