"""A DAG in Airflow's own scheduler and triggerer processes. A script changes the states of the applications."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.testing.applications import Application
from demo.airflow_environment import build_airflow_environment
from demo.processes import Components
from demo.run import AIRFLOW_COMMANDS, read_task_states
from demo.task_log import find_log, read_failure
from tests.cluster import Cluster, fail, succeed

DEADLINE_SECONDS = 400

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

DAG_FILE = """
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor

APPLICATION = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {"pyFiles": "local:///opt/job.py", "runtimeVersions": {"sparkVersion": "4.3.0"}},
}

# Airflow fails a task whose trigger fires before the scheduler has recorded the deferral. The retries handle that.
with DAG("deferred", schedule=None, default_args={"retries": 3, "retry_delay": timedelta(seconds=1)}):
    SparkApplicationOperator(task_id="good", application=APPLICATION, name="good", deferrable=True)
    SparkApplicationOperator(task_id="bad", application=APPLICATION, name="bad", deferrable=True, retries=1)
    SparkApplicationSensor(task_id="seen", name="good", deferrable=True)
"""


async def test_real_triggerer_resumes_operators_and_sensor(cluster: Cluster, tmp_path: Path) -> None:
    deferred = asyncio.Event()

    async def by_name(application: Application) -> None:
        await deferred.wait()
        await (fail if application.name == "bad" else succeed)(application)

    cluster.script = by_name
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "deferred.py").write_text(DAG_FILE)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig))

    def release(states: dict[str, str | None]) -> None:
        if set(states.values()) == {"deferred"}:
            cluster.do(deferred.set)

    states = await _read_final_states(tmp_path, tmp_path / "dags", kubeconfig, release)

    assert states == {"good": "success", "bad": "failed", "seen": "success"}
    assert "exit code 3" in read_failure(find_log(tmp_path / "airflow", "deferred", "bad"))
    triggers = list((tmp_path / "airflow" / "logs").rglob("attempt=*.log.trigger.*.log"))
    assert {_get_task(path) for path in triggers} == {"good", "bad", "seen"}
    texts = {text for path in triggers for text in _list_event_texts(path)}
    assert texts == {
        "SparkApplication jobs/good ended: Succeeded",
        "SparkApplication jobs/bad ended: Failed (DriverFailed)",
        "SparkApplication jobs/good reached: Succeeded",
    }


async def _read_final_states(
    folder: Path, dags: Path, kubeconfig: Path, on_report: Callable[[dict[str, str | None]], None], **settings: Any
) -> dict[str, str | None]:
    environment = build_airflow_environment(folder / "airflow", dags, kubeconfig) | settings
    async with asyncio.timeout(DEADLINE_SECONDS), Components(environment, folder / "logs") as components:
        command = (sys.executable, "-m", "demo.dag_run", "deferred")
        reports = read_task_states(await components.start("dag run", command, pipe_output=True))
        states = await anext(reports)
        for name, arguments in AIRFLOW_COMMANDS.items():
            await components.start(name, (sys.executable, "-m", "airflow", *arguments))
        async for report in reports:
            states = report
            on_report(states)
        return states


def _list_event_texts(path: Path) -> list[str]:
    """Return the texts of the events in the log of a trigger, without the durations of the applications."""
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    fired = [entry["result"] for entry in entries if entry.get("event") == "Trigger fired event"]
    return [text.partition(" after ")[0] for text in fired]


def _get_task(path: Path) -> str:
    return path.parent.name.removeprefix("task_id=")
