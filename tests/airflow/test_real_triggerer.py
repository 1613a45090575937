"""A DAG in Airflow's own scheduler and triggerer processes; the cluster's applications act by a script."""

import asyncio
import sys
from pathlib import Path

import pytest
import yaml

from demo.airflow_environment import airflow_environment
from demo.processes import Components
from demo.run import AIRFLOW_COMMANDS, task_states
from demo.task_log import failure_of, log_of
from tests.cluster import fail, succeed

DEADLINE_SECONDS = 150

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(200)]

DAG_FILE = """
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor

APPLICATION = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {"pyFiles": "local:///opt/job.py", "runtimeVersions": {"sparkVersion": "4.3.0"}},
}

with DAG("deferred", schedule=None):
    SparkApplicationOperator(task_id="good", application=APPLICATION, name="good", deferrable=True)
    SparkApplicationOperator(task_id="bad", application=APPLICATION, name="bad", deferrable=True, retries=0)
    SparkApplicationSensor(task_id="seen", name="good", deferrable=True)
"""


async def test_operators_and_a_sensor_are_resumed_by_a_real_triggerer(cluster, tmp_path):
    async def by_name(application):
        await (fail if application.name == "bad" else succeed)(application)

    cluster.script = by_name
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "deferred.py").write_text(DAG_FILE)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig))

    states = await _final_states(tmp_path, tmp_path / "dags", kubeconfig)

    assert states == {"good": "success", "bad": "failed", "seen": "success"}
    assert "exit code 3" in failure_of(log_of(tmp_path / "airflow", "deferred", "bad"))
    triggers = list((tmp_path / "airflow" / "logs").rglob("attempt=1.log.trigger.*.log"))
    assert {_task_of(path) for path in triggers} == {"good", "bad", "seen"}


async def _final_states(folder: Path, dags: Path, kubeconfig: Path) -> dict[str, str | None]:
    environment = airflow_environment(folder / "airflow", dags, kubeconfig)
    async with asyncio.timeout(DEADLINE_SECONDS), Components(environment, folder / "logs") as components:
        command = (sys.executable, "-m", "demo.dag_run", "deferred")
        reports = task_states(await components.start("dag run", command, pipe_output=True))
        states = await anext(reports)
        for name, arguments in AIRFLOW_COMMANDS.items():
            await components.start(name, (sys.executable, "-m", "airflow", *arguments))
        async for report in reports:
            states = report
        return states


def _task_of(path: Path) -> str:
    return path.parent.name.removeprefix("task_id=")
