"""The driver's log in the log of a deferred task whose real triggerer is killed while the driver runs."""

import asyncio
import json
import re
import sys
from pathlib import Path

import psutil
import pytest
import yaml

from airflow_provider_spark_operator.testing.applications import Application
from demo.airflow_environment import build_airflow_environment
from demo.processes import Component, Components
from demo.run import AIRFLOW_COMMANDS, read_task_states
from demo.task_log import find_log
from tests.airflow.test_real_triggerer import DEADLINE_SECONDS
from tests.cluster import Cluster

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

# The seconds after which Airflow assigns the triggers of a killed triggerer to another triggerer.
SHORT_TIMEOUTS = {"AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "15"}
LINES = [f"line {number}" for number in range(45)]
BEFORE = 20
GAP = re.compile(r"the driver's log after [\d:]{8} until its end at [\d:]{8} UTC is not available: the driver pod was")
DAG_FILE = """
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

# Airflow fails a task whose trigger fires before the scheduler has recorded the deferral. The retries handle that.
with DAG("deferred", schedule=None, default_args={"retries": 3, "retry_delay": timedelta(seconds=1)}):
    for name in ("kept", "released"):
        SparkApplicationOperator(
            task_id=name, name=name, py_file="local:///opt/job.py", spark_version="4.3.0", deferrable=True
        )
"""


def list_messages(home: Path, task: str) -> list[str]:
    """Return the messages that triggerers logged for the task, one triggerer after another."""
    logs = sorted(find_log(home, "deferred", task).parent.glob("attempt=1.log.trigger.*.log"))
    return [json.loads(line).get("event", "") for log in logs for line in log.read_text().splitlines()]


async def wait_until_logged(home: Path, task: str, message: str) -> None:
    while message not in list_messages(home, task):  # noqa: ASYNC110 - a file of another process
        await asyncio.sleep(0.2)


async def kill(component: Component) -> None:
    """Kill a process and all its child processes, as the loss of a machine does."""
    for process in psutil.Process(component.process.pid).children(recursive=True):
        process.kill()
    await component.process.wait()


async def log_first_lines(application: Application) -> None:
    application.start()
    for line in LINES[:BEFORE]:
        application.log.write(line)


async def end(application: Application) -> None:
    for line in LINES[BEFORE:]:
        application.log.write(line)
    application.enter("Succeeded", driver=application.end_driver(0))
    if application.name == "released":
        application.delete_driver()
    application.enter("ResourceReleased")


async def test_killed_triggerer_loses_no_log_line_silently(cluster: Cluster, tmp_path: Path) -> None:
    home = tmp_path / "airflow"
    cluster.script = log_first_lines
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "deferred.py").write_text(DAG_FILE)
    kubeconfig = tmp_path / "kubeconfig"
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
        for task in ("kept", "released"):
            await wait_until_logged(home, task, f"driver | {LINES[BEFORE - 1]}")
        await kill(processes["triggerer"])
        for task in ("kept", "released"):
            await asyncio.to_thread(cluster.play, end, task)
        again = (sys.executable, "-m", "airflow", *AIRFLOW_COMMANDS["triggerer"])
        await components.start("triggerer again", again)
        async for report in reports:
            states = report

    assert states == {"kept": "success", "released": "success"}
    assert set(list_messages(home, "kept")) >= {f"driver | {line}" for line in LINES}
    assert not any(GAP.match(message) for message in list_messages(home, "kept"))
    assert set(list_messages(home, "released")) >= {f"driver | {line}" for line in LINES[:BEFORE]}
    assert any(GAP.match(message) for message in list_messages(home, "released"))
