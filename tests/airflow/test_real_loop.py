"""Tasks in a loop of Airflow 3.4, in real Airflow processes: each iteration keeps its own application."""

import asyncio
import json
from pathlib import Path

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_LOOP_INDEX, ANNOTATION_TASK_ID
from airflow_provider_spark_operator.testing.applications import Application
from tests.airflow.real_run import DEADLINE_SECONDS, run_real_dag
from tests.airflow.test_real_kill import SHORT_TIMEOUTS
from tests.airflow.worker_processes import kill_tree
from tests.cluster import Cluster

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.scheduler,
    pytest.mark.needs_airflow("3.4"),
    pytest.mark.timeout(DEADLINE_SECONDS + 40),
]

DAG_FILE = """
import json
from datetime import timedelta
from pathlib import Path
from airflow.sdk import DAG, task, task_group
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

job = {"py_file": "local:///opt/job.py", "spark_version": "4.3.0"}
# Airflow fails a task whose trigger fires before the scheduler has recorded the deferral. The retries handle that.
with DAG("deferred", schedule=None, default_args={"retries": 3, "retry_delay": timedelta(seconds=1)}):
    @task_group
    def passes():
        @task
        def show(*, loop, ti):
            records = [ti.xcom_pull(f"passes.{name}", key="spark_run") for name in ("deferred", "started")]
            uids = [record["application"]["uid"] for record in records]
            Path(FOLDER, f"shown-{loop.index}").write_text(json.dumps(uids))

        [
            SparkApplicationOperator(task_id="deferred", deferrable=True, **job),
            SparkApplicationOperator(task_id="started", start_from_trigger=True, **job),
        ] >> show()

    passes.loop(max_iterations=2)
"""


def count_logged(folder: Path) -> int:
    """Return how often triggers have logged that an application runs."""
    logs = (folder / "airflow" / "logs").rglob("*.trigger.*.log")
    return sum(log.read_text().count("RunningHealthy") for log in logs)


async def test_iteration_has_its_own_application_and_xcoms(cluster: Cluster, tmp_path: Path) -> None:
    submitted: list[tuple[str, str, str]] = []
    running: list[Application] = []

    async def play(application: Application) -> None:
        notes = application.document["metadata"]["annotations"]
        index = notes.get(ANNOTATION_LOOP_INDEX, "none")
        submitted.append((index, notes[ANNOTATION_TASK_ID], application.uid))
        application.start()
        if index == "1":
            running.append(application)
        else:
            application.succeed()

    cluster.script = play
    dag_file = DAG_FILE.replace("FOLDER", repr(str(tmp_path)))
    async with run_real_dag(cluster, tmp_path, dag_file, settings=SHORT_TIMEOUTS) as run:
        await run.until(lambda: len(running) == 2)
        kill_tree(run.processes["triggerer"])
        logged = count_logged(tmp_path)
        await run.start("triggerer again", "triggerer")
        await run.until(lambda: count_logged(tmp_path) >= logged + 2)
        for application in running:
            await asyncio.to_thread(cluster.do, application.succeed)
        assert set((await run.wait_for_end()).values()) == {"success"}
    tasks = [(index, task) for index in ("0", "1") for task in ("passes.deferred", "passes.started")]
    assert [(index, task) for index, task, _ in sorted(submitted)] == tasks
    for index in ("0", "1"):
        uids = [uid for of, _, uid in sorted(submitted) if of == index]
        assert json.loads((tmp_path / f"shown-{index}").read_text()) == uids
