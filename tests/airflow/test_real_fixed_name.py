"""Tasks whose applications have a fixed name that an earlier run has used, in Airflow's own processes."""

import asyncio
from pathlib import Path

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_RESULT_TAKEN_BY, ANNOTATION_RUN_ID
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.testing.applications import Application
from demo.dag_run import RUN_ID
from demo.task_log import read_failure
from tests.airflow.real_run import DAG_ID, DEADLINE_SECONDS, run_real_dag
from tests.cluster import Cluster, run_on

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

DAG_FILE = """
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

WANTED = {"py_file": "local:///opt/job.py", "spark_version": "4.3.0", "retries": 1}
TASKS = {"replaced": {}, "refused": {"if_exists": "fail"}, "busy": {}}

with DAG("deferred", schedule=None, default_args={"retry_delay": timedelta(seconds=1)}):
    for name, options in TASKS.items():
        SparkApplicationOperator(task_id=name, name=name, deferrable=True, **WANTED, **options)
    SparkApplicationOperator(task_id="started", name="started", start_from_trigger=True, **WANTED)
"""
ENDED = ("replaced", "refused", "started")


def create_for_earlier_run(cluster: Cluster, task: str) -> str:
    """Create the application that the task has created in the run of the day before, and return its uid."""
    stamp = TaskStamp(DAG_ID, task, "yesterday", -1, 1, f"{task}-of-yesterday")
    annotations = stamp.build_annotations()
    if task in ENDED:
        annotations |= {ANNOTATION_RESULT_TAKEN_BY: stamp.task_instance_id}
    created = cluster.create(task, labels=stamp.build_labels(), annotations=annotations)
    return str(created["metadata"]["uid"])


async def test_fixed_name_is_reused_after_end_of_earlier_application(cluster: Cluster, tmp_path: Path) -> None:
    earlier = {task: await asyncio.to_thread(create_for_earlier_run, cluster, task) for task in ENDED}
    await asyncio.to_thread(cluster.wait_for_end)
    cluster.script = run_on
    earlier["busy"] = await asyncio.to_thread(create_for_earlier_run, cluster, "busy")

    def current_uids() -> dict[str, str]:
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in cluster.applications()}

    def are_replaced() -> bool:
        uids = current_uids()
        return all(uids.get(task, earlier[task]) != earlier[task] for task in ("replaced", "started"))

    async with run_real_dag(cluster, tmp_path, DAG_FILE) as run:
        await run.until(are_replaced)
        await run.until(lambda: (run.states["replaced"], run.states["started"]) == ("deferred", "deferred"))
        await run.until(lambda: run.has_noted_end("replaced"))
        for task in ("replaced", "started"):
            await asyncio.to_thread(cluster.play, succeed, task)
        states = await run.wait_for_end()
        refused, busy = read_failure(run.log("refused")), read_failure(run.log("busy"))

    assert states == {"replaced": "success", "started": "success", "refused": "failed", "busy": "failed"}
    runs = {
        one["metadata"]["name"]: one["metadata"]["annotations"][ANNOTATION_RUN_ID] for one in cluster.applications()
    }
    assert runs == {"replaced": RUN_ID, "started": RUN_ID, "refused": "yesterday", "busy": "yesterday"}
    uids = current_uids()
    assert (uids["refused"], uids["busy"]) == (earlier["refused"], earlier["busy"])
    assert "yesterday" in refused
    assert "replace_ended" in refused
    assert "yesterday" in busy


async def succeed(application: Application) -> None:
    application.succeed()
