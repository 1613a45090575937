"""Suspend a real Spark application with executors on the local cluster, and resume it."""

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.local.cluster import run_cluster
from tests.builders import build_application_document

from kubelet.running_node import wait_until_async

# The first attempt runs until it is stopped, with a task on its executor.
PROGRAM = """
import time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
first = spark.conf.get("spark.app.id").endswith("-0")
spark.sparkContext.parallelize([1], 1).foreach(lambda _: time.sleep(600 if first else 0))
"""


class Application:
    """The application of the test."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def read_status(self) -> dict[str, Any]:
        found = await self._client.get(SPARK_APPLICATIONS, "nap", "default")
        return found.get("status") or {}

    async def has_entered(self, state: ApplicationState) -> bool:
        current: dict[str, Any] = (await self.read_status()).get("currentState", {})
        return current.get("currentStateSummary") == state

    async def wait_for(self, state: ApplicationState) -> None:
        await wait_until_async(lambda: self.has_entered(state), seconds=160)

    async def set_suspended(self, *, suspended: bool) -> None:
        await self._client.patch(SPARK_APPLICATIONS, "nap", "default", {"spec": {"suspend": suspended}})

    async def has_executor(self) -> bool:
        pods = (await self._client.list(PODS, "default", label_selector="spark-role=executor")).items
        return any(pod.get("status", {}).get("phase") == "Running" for pod in pods)

    async def has_no_pods(self) -> bool:
        return not (await self._client.list(PODS, "default")).items


@pytest.mark.spark
@pytest.mark.timeout(400)
async def test_suspended_application_has_no_pods_and_runs_again_from_the_beginning(tmp_path: Path) -> None:
    program = tmp_path / "nap.py"
    program.write_text(PROGRAM)
    conf = {"spark.kubernetes.container.image": "spark:4.3.0", "spark.executor.instances": "1"}
    document = build_application_document(
        name="nap", conf=conf, mainClass=None, jars=None, pyFiles=f"local://{program}"
    )
    document["metadata"] = {"name": "nap"}
    async with run_cluster(tmp_path / "home") as cluster:
        application = Application(cluster.client)
        await cluster.client.create(SPARK_APPLICATIONS, document, "default")
        await wait_until_async(application.has_executor, seconds=160)
        await application.set_suspended(suspended=True)
        await application.wait_for(ApplicationState.SUSPENDED)
        await wait_until_async(application.has_no_pods, seconds=60)
        await application.set_suspended(suspended=False)
        await application.wait_for(ApplicationState.RESOURCE_RELEASED)
        status = await application.read_status()
    assert status["outcome"] == "Succeeded", status["currentState"]
    assert status["currentAttemptSummary"]["attemptInfo"]["id"] == 1
    assert status["currentAttemptSummary"]["attemptInfo"]["restartCounter"] == 0
