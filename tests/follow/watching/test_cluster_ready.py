"""The time limit of the wait for a SparkCluster."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from airflow_provider_spark_operator.core.verdict.holds import Hold
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.watching import cluster_ready
from airflow_provider_spark_operator.follow.watching.cluster_ready import ClusterNotReady, wait_until_ready
from airflow_provider_spark_operator.follow.watching.watch import WatchHub
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import ServerError
from airflow_provider_spark_operator.kube.resources import SPARK_CLUSTERS
from tests.cluster import NAMESPACE, Cluster

LIMIT = 0.05
PAUSE = 0.01
# More than the limit permits.
MANY = 20


@pytest.fixture
async def hub(cluster: Cluster) -> AsyncIterator[WatchHub]:
    async with await open_client(ClusterAccess(kubeconfig_document=cluster.kubeconfig)) as client:
        hub = WatchHub(client)
        yield hub
        await hub.close()


async def create(hub: WatchHub, cluster: Cluster) -> ApplicationReference:
    """Create a SparkCluster in a queue, which no operator starts."""

    async def do_nothing(_: object) -> None:
        pass

    cluster.cluster_script = do_nothing
    document: dict[str, Any] = {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkCluster",
        "metadata": {"name": "shared", "labels": {"kueue.x-k8s.io/queue-name": "team-a"}},
        "spec": {
            "runtimeVersions": {"sparkVersion": "4.3.0"},
            "clusterTolerations": {"instanceConfig": {"initWorkers": 1, "minWorkers": 1, "maxWorkers": 1}},
        },
    }
    created = await hub.client.create(SPARK_CLUSTERS, document, NAMESPACE)
    return ApplicationReference.of(created, SPARK_CLUSTERS)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_ready, "_FIRST_HOLD_PAUSE_SECONDS", PAUSE)
    monkeypatch.setattr(cluster_ready, "_LONGEST_HOLD_PAUSE_SECONDS", PAUSE)


async def test_time_in_the_queue_does_not_count(
    cluster: Cluster, hub: WatchHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reads = 0

    async def read_hold(*_: object) -> Hold | None:
        nonlocal reads
        reads += 1
        if reads == MANY:
            raise ServerError(500, "InternalError", "busy")
        return Hold("it waits for Kueue admission in queue team-a") if reads < 2 * MANY else None

    monkeypatch.setattr(cluster_ready, "read_hold", read_hold)
    reference = await create(hub, cluster)
    with pytest.raises(ClusterNotReady):
        async with asyncio.timeout(60):
            await wait_until_ready(hub, reference, logging.getLogger("test"), ready_seconds=LIMIT)
    assert reads >= 2 * MANY
    assert caplog.text.count("SparkCluster jobs/shared is waiting: it waits for Kueue admission in queue team-a") == 1


async def test_cluster_in_a_queue_that_no_operator_reports_counts(cluster: Cluster, hub: WatchHub) -> None:
    reference = await create(hub, cluster)
    with pytest.raises(ClusterNotReady):
        async with asyncio.timeout(60):
            await wait_until_ready(hub, reference, logging.getLogger("test"), ready_seconds=LIMIT)
