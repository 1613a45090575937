"""Deferred tasks that a user stops, and triggerers that stop or lose their triggers, in real Airflow processes."""

import asyncio
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_TASK_ID, ANNOTATION_TRY_NUMBER
from airflow_provider_spark_operator.testing.applications import Application, fail
from tests.airflow.real_run import DEADLINE_SECONDS, run_real_dag
from tests.cluster import Cluster

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

# The seconds after which Airflow assigns the triggers of a lost triggerer to another triggerer.
SHORT_TIMEOUTS = {"AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "15"}
TASKS = ("cleared", "deleted", "failed", "kept", "succeeded")
DAG_FILE = f"""
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

# On a busy machine, Airflow 3.0 may fail a task before it starts. The retries handle that.
with DAG("deferred", schedule=None, default_args={{"retries": 3, "retry_delay": timedelta(seconds=1)}}):
    for name in {TASKS}:
        SparkApplicationOperator(
            task_id=name, name=name, py_file="local:///opt/job.py", spark_version="4.3.0", deferrable=True
        )
"""

RETRIED = """
    SparkApplicationOperator(
        task_id="retried", name="retried", py_file="local:///opt/job.py", spark_version="4.3.0", deferrable=True
    )
"""


async def run_on(application: Application) -> None:
    application.start()


async def fail_once(application: Application) -> None:
    """Fail in the first try of the task `retried`, and succeed in its next try. Applications of other tasks run on."""
    if application.name != "retried":
        await run_on(application)
    elif application.document["metadata"]["annotations"][ANNOTATION_TRY_NUMBER] == "1":
        await fail(application)
    else:
        application.start()
        application.succeed()


async def succeed(application: Application) -> None:
    application.succeed()


def list_tries(cluster: Cluster) -> dict[str, int]:
    """Return the try that owns the application of each of the tasks."""
    notes = [one["metadata"]["annotations"] for one in cluster.applications()]
    tries = {one[ANNOTATION_TASK_ID]: int(one[ANNOTATION_TRY_NUMBER]) for one in notes}
    return {task: number for task, number in tries.items() if task in TASKS}


def count_logged(folder: Path, task: str, words: str) -> int:
    """Return how often the triggers of a task have logged the words."""
    logs = (folder / "airflow" / "logs").rglob(f"task_id={task}/*.trigger.*.log")
    return sum(log.read_text().count(words) for log in logs)


def can_write(database: Path) -> bool:
    """Return whether no process, which may be suspended, holds the lock of a SQLite database."""
    with closing(sqlite3.connect(database, timeout=0)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
    return True


async def test_stopped_task_deletes_application_but_stopped_triggerer_does_not(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.script = fail_once
    async with run_real_dag(cluster, tmp_path, DAG_FILE + RETRIED) as run:
        await run.until(lambda: run.states | dict.fromkeys(TASKS, "deferred") == run.states)
        await run.until(lambda: all(count_logged(tmp_path, task, "RunningHealthy") for task in TASKS))
        tries = list_tries(cluster)

        run.processes["triggerer"].send_signal(signal.SIGTERM)
        await asyncio.to_thread(run.processes["triggerer"].wait)
        assert list_tries(cluster) == tries
        await run.start("triggerer again", "triggerer")
        await run.until(lambda: all(count_logged(tmp_path, task, "RunningHealthy") > 1 for task in TASKS))
        assert list_tries(cluster) == tries

        await asyncio.gather(
            asyncio.to_thread(run.mark, "failed", "failed"),
            asyncio.to_thread(run.mark, "succeeded", "success"),
            asyncio.to_thread(run.clear, "cleared"),
        )
        remaining = {"deleted": tries["deleted"], "kept": tries["kept"]}
        await run.until(lambda: list_tries(cluster).keys() == {"cleared", *remaining})
        await run.until(lambda: list_tries(cluster).get("cleared", 0) > tries["cleared"])
        assert {"cleared": 0} | remaining == list_tries(cluster) | {"cleared": 0}

        await asyncio.to_thread(cluster.play, succeed, "kept")
        await run.until(lambda: (run.states["kept"], run.states["retried"]) == ("success", "success"))
        await asyncio.to_thread(run.delete)
        while list_tries(cluster).keys() != {"kept"}:  # noqa: ASYNC110 - another process deletes the applications
            await asyncio.sleep(0.2)


def is_trigger_released(folder: Path, task: str) -> bool:
    """Return whether a trigger ended that moved to another triggerer. From 3.4 on, Airflow itself recognizes it."""
    messages = ("this trigger does not delete", "Trigger reassigned to another triggerer")
    return any(count_logged(folder, task, message) for message in messages)


@pytest.mark.needs_airflow("3.3")
async def test_triggerer_that_lost_its_triggers_keeps_applications(cluster: Cluster, tmp_path: Path) -> None:
    cluster.script = run_on
    async with run_real_dag(cluster, tmp_path, DAG_FILE, settings=SHORT_TIMEOUTS) as run:
        await run.until(lambda: run.states == dict.fromkeys(TASKS, "deferred"))
        await run.until(lambda: all(count_logged(tmp_path, task, "RunningHealthy") for task in TASKS))
        tries = list_tries(cluster)

        triggerer = run.processes["triggerer"]
        frozen = [triggerer, *triggerer.children(recursive=True)]
        while True:
            for process in frozen:
                process.suspend()
            if can_write(tmp_path / "airflow" / "airflow.db"):
                break
            for process in frozen:
                process.resume()
            await asyncio.sleep(0.05)
        await run.start("other triggerer", "triggerer")
        await run.until(lambda: all(count_logged(tmp_path, task, "RunningHealthy") > 1 for task in TASKS))
        for process in frozen:
            process.resume()
        await run.until(lambda: all(is_trigger_released(tmp_path, task) for task in TASKS))
        assert list_tries(cluster) == tries

        for task in TASKS:
            await asyncio.to_thread(cluster.play, succeed, task)
        assert await run.wait_for_end() == dict.fromkeys(TASKS, "success")
