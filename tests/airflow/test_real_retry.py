"""Deferred tasks whose first try fails, in real Airflow processes: each retry starts anew."""

from collections import Counter
from pathlib import Path

import pytest

from airflow_provider_spark_operator.testing.applications import Application, fail, run_on, succeed
from airflow_provider_spark_operator.testing.spark_clusters import ScriptedSparkCluster, be_refused, come_up
from tests.airflow.real_run import DEADLINE_SECONDS, run_real_dag
from tests.cluster import Cluster

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

TASKS = ("application", "cluster", "sensor", "started", "timed-out")
DAG_FILE = """
import warnings
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.operators.spark_cluster import SparkClusterOperator
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor

warnings.simplefilter("ignore")  # start_from_trigger on older releases of Airflow
job = {"py_file": "local:///opt/job.py", "spark_version": "4.3.0", "deferrable": True}
workers = {"initWorkers": 1, "minWorkers": 1, "maxWorkers": 1}
cluster = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkCluster",
    "spec": {"runtimeVersions": {"sparkVersion": "4.3.0"}, "clusterTolerations": {"instanceConfig": workers}},
}
with DAG("deferred", schedule=None, default_args={"retries": 5, "retry_delay": timedelta(seconds=1)}):
    SparkApplicationOperator(task_id="application", name="application", **job)
    SparkApplicationOperator(task_id="started", name="started", start_from_trigger=True, **job)
    SparkApplicationOperator(task_id="timed-out", name="timed-out", execution_timeout=timedelta(seconds=15), **job)
    SparkClusterOperator(task_id="cluster", cluster=cluster, name="cluster", deferrable=True)
    SparkApplicationSensor(task_id="sensor", name="application", deferrable=True)
"""


async def test_retry_of_deferred_task_starts_anew(cluster: Cluster, tmp_path: Path) -> None:
    submitted = Counter[str]()

    async def play(application: Application) -> None:
        submitted[application.name] += 1
        first = run_on if application.name == "timed-out" else fail
        await (first if submitted[application.name] == 1 else succeed)(application)

    async def play_cluster(spark_cluster: ScriptedSparkCluster) -> None:
        submitted["cluster"] += 1
        await (be_refused if submitted["cluster"] == 1 else come_up)(spark_cluster)

    cluster.script, cluster.cluster_script = play, play_cluster
    async with run_real_dag(cluster, tmp_path, DAG_FILE) as run:
        assert await run.wait_for_end() == dict.fromkeys(TASKS, "success")
    assert all(submitted[task] > 1 for task in TASKS if task != "sensor"), submitted


CAPACITY_DAG_FILE = """
import warnings
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.core.states import capacity_wait
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

warnings.simplefilter("ignore")  # start_from_trigger on older releases of Airflow
capacity_wait._FIRST_SECONDS = 1.0
job = {"py_file": "local:///opt/job.py", "spark_version": "4.3.0", "retries": 0}
job["retry_policy"] = SparkRetryPolicy(capacity_wait=timedelta(hours=1))
short = SparkRetryPolicy(capacity_wait=timedelta(seconds=1))
with DAG("deferred", schedule=None):
    SparkApplicationOperator(task_id="application", name="application", deferrable=True, **job)
    SparkApplicationOperator(task_id="started", name="started", start_from_trigger=True, **job)
    SparkApplicationOperator(task_id="worker", name="worker", **job)
    SparkApplicationOperator(task_id="full", name="full", deferrable=True, **job | {"retry_policy": short})
"""


async def test_wait_for_capacity_uses_no_retry(cluster: Cluster, tmp_path: Path) -> None:
    submitted = Counter[str]()

    async def play(application: Application) -> None:
        submitted[application.name] += 1
        if submitted[application.name] > 2 and application.name != "full":
            await succeed(application)
            return
        application.enter("Submitted", "SchedulingFailure", message="pods is forbidden: exceeded quota: small")
        application.enter("ResourceReleased")

    cluster.script = play
    async with run_real_dag(cluster, tmp_path, CAPACITY_DAG_FILE) as run:
        ended = await run.wait_for_end()
        log = "".join(each.read_text() for each in run.log("application").parent.iterdir())
    waited = ("application", "started", "worker")
    assert ended == {**dict.fromkeys(waited, "success"), "full": "failed"}
    assert [submitted[name] for name in waited] == [3, 3, 3]
    assert log.count("the cluster has no room for the application; it is submitted again in ") == 2
    assert "exceeded quota: small" in log
