"""Applications that a user deletes while tasks wait for them, in real Airflow processes."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_TASK_ID
from airflow_provider_spark_operator.testing.applications import Application
from demo.task_log import read_failure
from tests.airflow.real_run import DEADLINE_SECONDS, run_real_dag
from tests.cluster import NAMESPACE, Cluster

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

DAG_FILE = """
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

APPLICATION = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "metadata": {"finalizers": ["example.org/operator"]},
    "spec": {"pyFiles": "local:///opt/job.py", "runtimeVersions": {"sparkVersion": "4.3.0"}},
}
GIVEN = {"application": APPLICATION, "retries": 2}

with DAG("deferred", schedule=None, default_args={"retry_delay": timedelta(seconds=1)}):
    SparkApplicationOperator(task_id="plain", deferrable=True, **GIVEN)
    SparkApplicationOperator(task_id="policy", deferrable=True, retry_policy=SparkRetryPolicy(), **GIVEN)
    SparkApplicationOperator(task_id="started", start_from_trigger=True, **GIVEN)
    SparkApplicationOperator(
        task_id="asked", deferrable=True, retry_policy=SparkRetryPolicy(deletions=True), **GIVEN
    )
"""


class Applications:
    """The first application of each task runs until it is deleted; later ones succeed."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.submitted: Counter[str] = Counter()
        self.running: list[Application] = []
        cluster.script = self.start

    async def start(self, application: Application) -> None:
        task = application.document["metadata"]["annotations"][ANNOTATION_TASK_ID]
        self.submitted[task] += 1
        application.start(executors=1)
        if self.submitted[task] > 1:
            application.succeed()
        else:
            self.running.append(application)

    def delete(self) -> None:
        """Act as `kubectl delete` and an operator: the driver ends because of the deletion, then all is deleted."""
        for application in self.running:
            self.cluster.store.delete(self.cluster.kind, NAMESPACE, application.name)
            application.fail(exit_code=143)
            self.cluster.store.update(self.cluster.kind, NAMESPACE, application.name, remove_finalizers)


def remove_finalizers(document: dict[str, Any]) -> dict[str, Any]:
    document["metadata"].pop("finalizers", None)
    return document


async def test_deleted_application_is_submitted_again_only_with_the_policy(cluster: Cluster, tmp_path: Path) -> None:
    applications = Applications(cluster)
    async with run_real_dag(cluster, tmp_path, DAG_FILE) as run:
        await run.until(lambda: list(run.states.values()) == ["deferred"] * 4 and len(applications.running) == 4)
        await run.until(lambda: all(run.has_noted_end(task) for task in ("plain", "policy", "asked")))
        await asyncio.to_thread(cluster.do, applications.delete)
        states = await run.wait_for_end()
        logs = [read_failure(run.log(task)) for task in ("plain", "policy", "started")]

    assert states == {"plain": "failed", "policy": "failed", "started": "failed", "asked": "success"}
    # After a quick success, Airflow may lose the try that waits for it. The next try finds the success.
    assert applications.submitted == {"plain": 1, "policy": 1, "started": 1, "asked": 2}
    assert all("was deleted before it ended" in log for log in logs)
