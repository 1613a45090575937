"""A Spark Connect server with real Spark: 20 tasks share it, it is killed in the middle, and nothing is left."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, task

from airflow_provider_spark_operator.exceptions import SparkInfrastructureFailed
from airflow_provider_spark_operator.follow.access.connect import find_missing_packages
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import PODS, SECRETS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.local.cluster import run_cluster
from airflow_provider_spark_operator.operators.spark_connect import DeleteSparkConnectOperator, SparkConnectOperator
from tests.task import TaskInstance, run

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(find_missing_packages()), reason="the extra `connect` is not installed"),
    pytest.mark.filterwarnings("default"),
]

TASKS = 20


def build_task(function: Any, *arguments: Any) -> Any:
    with DAG("etl"):
        called: Any = task.spark_connect(name="shared", kubernetes_conn_id="spark")(function)(*arguments)
    return called.operator


def count(limit: int, spark: Any) -> int:
    return int(spark.range(limit).count())


def run_for_minutes(spark: Any) -> None:
    spark.range(10**12).selectExpr("sum(id % 7)").collect()


async def list_names(client: KubeClient) -> list[str]:
    found = [await client.list(kind, "default") for kind in (SPARK_APPLICATIONS, PODS, SECRETS)]
    return [item["metadata"]["name"] for one in found for item in one.items]


async def test_tasks_share_a_server_and_its_loss_is_an_infrastructure_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    async with run_cluster(tmp_path / "home") as cluster:
        extra = {"kube_config_path": str(cluster.kubeconfig)}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps({"conn_type": "kubernetes", "extra": extra}))
        server = SparkConnectOperator(
            task_id="start",
            name="shared",
            image="apache/spark:4.3.0",
            executor_instances=1,
            kubernetes_conn_id="spark",
            deferrable=False,
        )
        assert await asyncio.to_thread(run, server, TaskInstance()) == "sc://shared-0-driver-svc.default.svc:15002"
        with ThreadPoolExecutor(TASKS) as pool:
            counting = [
                loop.run_in_executor(pool, run, build_task(count, number), TaskInstance(f"count_{number}"))
                for number in range(TASKS)
            ]
            assert await asyncio.gather(*counting) == [*range(TASKS)]
            lost = [
                loop.run_in_executor(pool, run, build_task(run_for_minutes), TaskInstance(f"lost_{number}"))
                for number in range(3)
            ]
            await asyncio.sleep(5)  # the queries run
            await cluster.client.delete(PODS, "shared-0-driver", "default")
            results = await asyncio.gather(*lost, return_exceptions=True)
        assert [type(one) for one in results] == [SparkInfrastructureFailed] * 3, results
        delete = DeleteSparkConnectOperator(task_id="stop", name="shared", kubernetes_conn_id="spark")
        await asyncio.to_thread(run, delete, TaskInstance("stop"))
        async with asyncio.timeout(60):
            while await list_names(cluster.client):  # noqa: ASYNC110 - the garbage collector needs a moment
                await asyncio.sleep(0.2)
