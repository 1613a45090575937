"""Suspend and resume an application and a SparkCluster on a real node, without Kueue."""

from functools import partial
from typing import Any

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS, SPARK_CLUSTERS, ResourceType
from tests.e2e.jobs import build_endless, end_job
from tests.e2e.node import NEEDED, wait_until
from tests.e2e.test_lifecycle import list_pods, read_history, wait_for_application
from tests.e2e.test_spark_cluster import create_cluster, wait_until_ready

pytestmark = NEEDED


async def test_suspended_application_has_no_pods_and_runs_again_when_resumed(client: KubeClient, driven: str) -> None:
    await client.create(SPARK_APPLICATIONS, build_endless("job"), driven)
    await wait_for_application(client, driven, "job", "RunningHealthy")
    assert await list_pods(client, driven, "executor")

    await suspend(client, SPARK_APPLICATIONS, driven, "job", value=True)
    await wait_until(partial(is_in_state, client, SPARK_APPLICATIONS, driven, "job", "Suspended"))
    await wait_until(partial(has_no_pods, client, driven))

    await suspend(client, SPARK_APPLICATIONS, driven, "job", value=False)
    await wait_until(partial(is_in_state, client, SPARK_APPLICATIONS, driven, "job", "RunningHealthy"))
    assert await list_pods(client, driven, "driver") == ["job-1-driver"]
    await end_job(client, driven, "job")
    seen = await wait_for_application(client, driven, "job", "ResourceReleased")
    assert "Succeeded" in dict(seen), seen
    status = (await client.get(SPARK_APPLICATIONS, "job", driven))["status"]
    assert status["currentAttemptSummary"]["attemptInfo"]["restartCounter"] == 0
    assert "Suspended" in dict(read_history(status["previousAttemptSummary"]))


async def test_suspended_cluster_has_no_pods_and_starts_again_when_resumed(client: KubeClient, driven: str) -> None:
    await create_cluster(client, driven)
    await wait_until(partial(is_in_state, client, SPARK_CLUSTERS, driven, "shared", "RunningHealthy"))
    await wait_until_ready(client, driven)

    await suspend(client, SPARK_CLUSTERS, driven, "shared", value=True)
    await wait_until(partial(is_in_state, client, SPARK_CLUSTERS, driven, "shared", "Suspended"))
    await wait_until(partial(has_no_pods, client, driven))

    await suspend(client, SPARK_CLUSTERS, driven, "shared", value=False)
    await wait_until(partial(is_in_state, client, SPARK_CLUSTERS, driven, "shared", "RunningHealthy"))
    await wait_until_ready(client, driven)
    assert not await has_no_pods(client, driven)


async def suspend(client: KubeClient, kind: ResourceType, namespace: str, name: str, *, value: bool) -> None:
    await client.patch(kind, name, namespace, {"spec": {"suspend": value}})


async def is_in_state(client: KubeClient, kind: ResourceType, namespace: str, name: str, state: str) -> bool:
    resource: dict[str, Any] = await client.get(kind, name, namespace)
    current = (resource.get("status") or {}).get("currentState") or {}
    return bool(current.get("currentStateSummary") == state)


async def has_no_pods(client: KubeClient, namespace: str) -> bool:
    return not (await client.list(PODS, namespace)).items
