"""Tasks that a user clears while their applications run, in real Airflow processes."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_TASK_ID, ANNOTATION_TRY_NUMBER
from airflow_provider_spark_operator.testing.applications import Application
from tests.airflow.real_run import DEADLINE_SECONDS, run_real_dag
from tests.cluster import Cluster

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

DAG_FILE = """
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

WANTED = {"py_file": "local:///opt/SCRIPT.py", "spark_version": "4.3.0", "retries": 2}

with DAG("deferred", schedule=None, default_args={"retry_delay": timedelta(seconds=1)}):
    SparkApplicationOperator(task_id="named", name="named", deferrable=True, **WANTED)
    SparkApplicationOperator(task_id="unnamed", deferrable=True, **WANTED)
    SparkApplicationOperator(task_id="started", start_from_trigger=True, **WANTED)
    SparkApplicationOperator(task_id="worker", deferrable=False, **WANTED)
"""
WAITING = {"named": "deferred", "unnamed": "deferred", "started": "deferred", "worker": "running"}


class Applications:
    """The running applications, which a test ends."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.started: dict[tuple[str, str], Application] = {}
        self.at_once: Counter[str] = Counter()
        cluster.script = self.start

    async def start(self, application: Application) -> None:
        for task, number in Counter(map(get_task, self.cluster._applications())).items():
            self.at_once[task] = max(self.at_once[task], number)
        application.start(executors=1)
        self.started[application.name, application.uid] = application

    def end(self) -> None:
        for present in self.cluster.applications():
            application = self.started[present["metadata"]["name"], present["metadata"]["uid"]]
            self.cluster.do(application.succeed)

    def run(self, script: str, try_number: int) -> bool:
        """Return whether every task has one application, which belongs to the try and runs the script.

        The scheduler may still defer "started" with the old script: it reads a changed DAG after some seconds.
        """
        present = self.cluster.applications()
        return sorted(map(get_task, present)) == sorted(WAITING) and all(
            one["metadata"]["annotations"][ANNOTATION_TRY_NUMBER] == str(try_number)
            and (one["spec"]["pyFiles"] == f"local:///opt/{script}.py" or get_task(one) == "started")
            and get_state(one) == "RunningHealthy"
            for one in present
        )


def get_task(application: dict[str, Any]) -> str:
    return str(application["metadata"]["annotations"][ANNOTATION_TASK_ID])


def get_state(application: dict[str, Any]) -> str | None:
    current: dict[str, str] = application.get("status", {}).get("currentState", {})
    return current.get("currentStateSummary")


async def test_cleared_task_runs_the_fixed_script_in_one_application(cluster: Cluster, tmp_path: Path) -> None:
    applications = Applications(cluster)
    async with run_real_dag(cluster, tmp_path, DAG_FILE.replace("SCRIPT", "broken")) as run:
        await run.until(lambda: run.states == WAITING and applications.run("broken", 1))
        await run.until(lambda: all(run.has_noted_end(task) for task in ("named", "unnamed")))
        run.write(DAG_FILE.replace("SCRIPT", "fixed"))
        await asyncio.to_thread(run.clear)
        await run.until(lambda: run.states == WAITING and applications.run("fixed", 2))
        await run.until(lambda: all(run.has_noted_end(task, 2) for task in ("named", "unnamed")))
        await asyncio.to_thread(applications.end)
        assert await run.wait_for_end() == dict.fromkeys(WAITING, "success")

    assert applications.at_once == dict.fromkeys(WAITING, 1)
    try_numbers = {
        get_task(one): one["metadata"]["annotations"][ANNOTATION_TRY_NUMBER] for one in cluster.applications()
    }
    assert try_numbers == dict.fromkeys(WAITING, "2")


MOVED_FILE = """
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

WANTED = {"spark_version": "4.3.0", "retries": 0, "namespace": "NAMESPACE"}

with DAG("deferred", schedule=None):
    SparkApplicationOperator(task_id="moved", deferrable=True, py_file="local:///opt/job.py", **WANTED)
    SparkApplicationOperator(task_id="started", start_from_trigger=True, py_file="local:///opt/job.py", **WANTED)
    SparkApplicationOperator(task_id="broken", deferrable=True, py_file="FILE", **WANTED)
"""


def read_tries(cluster: Cluster) -> list[tuple[str, str]]:
    """Return the try of each running application."""
    present = [one for one in cluster.applications() if get_state(one)]
    return sorted((get_task(one), one["metadata"]["annotations"][ANNOTATION_TRY_NUMBER]) for one in present)


async def test_cleared_task_leaves_no_application_in_the_old_namespace(cluster: Cluster, tmp_path: Path) -> None:
    applications = Applications(cluster)
    deferred = dict.fromkeys(("moved", "started", "broken"), "deferred")
    before = MOVED_FILE.replace("NAMESPACE", "jobs").replace("FILE", "local:///opt/job.py")
    after = MOVED_FILE.replace("NAMESPACE", "default").replace("FILE", "missing.py")
    async with run_real_dag(cluster, tmp_path, before) as run:
        await run.until(
            lambda: run.states == deferred and read_tries(cluster) == [(task, "1") for task in sorted(deferred)]
        )
        await run.until(lambda: run.has_noted_end("moved") and run.has_noted_end("broken"))
        run.write(after)
        await asyncio.to_thread(run.clear)
        await run.until(lambda: run.states == deferred | {"broken": "failed"})
        await run.until(lambda: read_tries(cluster) == [("moved", "2"), ("started", "2")])
        # The scheduler may still defer "started" with the old namespace: it reads a changed DAG after some seconds.
        assert {one["metadata"]["namespace"] for one in cluster.applications() if get_task(one) == "moved"} == {
            "default"
        }
        await run.until(lambda: run.has_noted_end("moved", 2))
        await asyncio.to_thread(applications.end)
        assert await run.wait_for_end() == {"moved": "success", "started": "success", "broken": "failed"}
