"""Run a standalone Spark cluster as processes of this machine, and an application on it."""

import re
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import (
    PODS,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    STATEFUL_SETS,
    ResourceType,
)
from airflow_provider_spark_operator.local.cluster import run_cluster

from kubelet.running_node import wait_until_async

SPARK_CLUSTER = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkCluster",
    "metadata": {"name": "shared"},
    "spec": {
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "sparkConf": {
            "spark.kubernetes.container.image": "apache/spark:{{SPARK_VERSION}}",
            "spark.master.ui.title": 'with "quotes"',
        },
        "clusterTolerations": {"instanceConfig": {"initWorkers": 2, "minWorkers": 2, "maxWorkers": 2}},
    },
}
APPLICATION = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "metadata": {"name": "pi"},
    "spec": {
        "pyFiles": "local:///opt/spark/examples/src/main/python/pi.py",
        "driverArgs": ["2"],
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "applicationTolerations": {"resourceRetainPolicy": "Always"},
        "sparkConf": {
            "spark.master": "spark://shared-master-svc:7077",
            "spark.kubernetes.container.image": "apache/spark:4.3.0",
            "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
            "spark.authenticate": "false",
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
            "spark.cores.max": "1",
            "spark.executor.cores": "1",
            "spark.ui.enabled": "false",
        },
    },
}


async def state(client: KubeClient, kind: ResourceType, name: str) -> str:
    status: dict[str, Any] = (await client.get(kind, name, "default")).get("status") or {}
    return str((status.get("currentState") or {}).get("currentStateSummary"))


@pytest.mark.spark
@pytest.mark.timeout(400)
async def test_application_runs_on_a_spark_cluster(tmp_path: Path) -> None:
    async with run_cluster(tmp_path / "home") as cluster:
        client = cluster.client
        await client.create(SPARK_CLUSTERS, SPARK_CLUSTER, "default")

        async def two_workers() -> bool:
            sets = (await client.list(STATEFUL_SETS, "default")).items
            ready = {item["metadata"]["name"]: (item.get("status") or {}).get("readyReplicas") for item in sets}
            return ready == {"shared-master": 1, "shared-worker": 2}

        async def has_registered_workers() -> bool:
            """A worker that starts before its master registers only some seconds later."""
            log = "\n".join([line async for line in client.logs("default", "shared-master-0")])
            return len(set(re.findall(r"Registering worker (\S+) ", log))) == 2

        await wait_until_async(two_workers)
        await wait_until_async(has_registered_workers, seconds=60)
        await client.create(SPARK_APPLICATIONS, APPLICATION, "default")

        async def has_ended() -> bool:
            return await state(client, SPARK_APPLICATIONS, "pi") in (
                "ResourceReleased",
                "TerminatedWithoutReleaseResources",
                "Failed",
            )

        await wait_until_async(has_ended, seconds=160)

        pods = {item["metadata"]["name"]: item for item in (await client.list(PODS, "default")).items}
        driver = next(name for name in pods if name.startswith("pi-"))
        log = "\n".join([line async for line in client.logs("default", driver)])
        master = "\n".join([line async for line in client.logs("default", "shared-master-0")])
        assert re.search(r"Pi is roughly 3\.\d+", log), log
        assert "Registered app" in master, master
        assert not any("-exec-" in name for name in pods)
