"""A real triggerer that starts while the kubeconfig is incomplete, as a write that is not atomic leaves it."""

import asyncio
import sys
from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.testing.applications import Application
from demo.airflow_environment import build_airflow_environment
from demo.processes import Components
from demo.run import AIRFLOW_COMMANDS, read_task_states
from tests.airflow.test_real_log import SHORT_TIMEOUTS, kill, list_messages
from tests.airflow.test_real_triggerer import DEADLINE_SECONDS
from tests.cluster import Cluster

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

TASKS = ("one", "other")
DAG_FILE = f"""
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

# Without retries: a lost wait must not be repaired by another try.
with DAG("deferred", schedule=None):
    for name in {TASKS}:
        SparkApplicationOperator(
            task_id=name, name=name, py_file="local:///opt/job.py", spark_version="4.3.0", retries=0, deferrable=True
        )
"""


async def run_on(application: Application) -> None:
    application.start()


async def succeed(application: Application) -> None:
    application.enter("Succeeded", driver=application.end_driver(0))
    application.enter("ResourceReleased")


async def wait_until_all_logged(home: Path, words: str) -> None:
    """Wait until triggerers have logged the words for every task."""
    while not all(any(words in message for message in list_messages(home, task)) for task in TASKS):  # noqa: ASYNC110 - files of another process
        await asyncio.sleep(0.2)


async def test_waiting_tasks_survive_triggerer_with_invalid_kubeconfig(cluster: Cluster, tmp_path: Path) -> None:
    home, kubeconfig = tmp_path / "airflow", tmp_path / "kubeconfig"
    cluster.script = run_on
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "deferred.py").write_text(DAG_FILE)
    kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig))
    environment = build_airflow_environment(home, tmp_path / "dags", kubeconfig) | SHORT_TIMEOUTS
    async with asyncio.timeout(DEADLINE_SECONDS), Components(environment, tmp_path / "logs") as components:
        command = (sys.executable, "-m", "demo.dag_run", "deferred")
        reports = read_task_states(await components.start("dag run", command, pipe_output=True))
        states = await anext(reports)
        processes = {
            name: await components.start(name, (sys.executable, "-m", "airflow", *arguments))
            for name, arguments in AIRFLOW_COMMANDS.items()
        }
        await wait_until_all_logged(home, "RunningHealthy")
        await kill(processes["triggerer"])
        kubeconfig.write_text("")
        again = (sys.executable, "-m", "airflow", *AIRFLOW_COMMANDS["triggerer"])
        await components.start("triggerer again", again)
        await wait_until_all_logged(
            home, "it has no current-context, and no context is given; retrying for up to 15 min"
        )
        kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig))
        for task in TASKS:
            await asyncio.to_thread(cluster.play, succeed, task)
        async for report in reports:
            states = report

    assert states == dict.fromkeys(TASKS, "success")
