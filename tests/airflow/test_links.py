"""The links of a task as the API server of Airflow reads them from the database."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, cast

import pytest
from airflow.models.dagrun import DagRun
from airflow.serialization.definitions.operatorlink import XComOperatorLink

from airflow_provider_spark_operator.links.spark_application import DriverLogLink, SparkUILink
from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster

if TYPE_CHECKING:
    from airflow.serialization.definitions.baseoperator import SerializedBaseOperator

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.usefixtures("airflow_database"),
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]

SECONDS = 60
DAG_FILE = """
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

class Forgetful(SparkApplicationOperator):
    def execute(self, context):
        try:
            return super().execute(context)
        finally:
            self.link_target, self.resumed = None, True  # as on a worker that resumes the task after a timeout

APPLICATION = {{
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {{
        "pyFiles": "local:///opt/job.py",
        "runtimeVersions": {{"sparkVersion": "4.3.0"}},
        "sparkConf": {{"spark.kubernetes.driver.pod.name": "my-driver"}},
    }}
}}

with DAG("{dag_id}", schedule=None) as dag:
    {operator}(task_id="pi", name="pi", application=APPLICATION, kubernetes_conn_id="spark", deferrable=False)
"""


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__UI_URL", "https://ui.example.com/{namespace}/{name}")
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_URL", "https://logs.example.com/?pod={driver_pod}")


@pytest.fixture
def run_dag(dags_folder: Path) -> Callable[[str, str], DagRun]:
    def run(dag_id: str, operator: str) -> DagRun:
        path = dags_folder / f"{dag_id}.py"
        path.write_text(DAG_FILE.format(dag_id=dag_id, operator=operator))
        dag_run: DagRun = run_path(str(path))["dag"].test()
        return dag_run

    return run


def read_links(dag_id: str) -> tuple[str, ...]:
    """Return the links on the task page of the newest run."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session

    with create_session() as session:
        task_instance = session.query(TaskInstance).filter_by(dag_id=dag_id, task_id="pi").one()
        session.expunge(task_instance)
    stored = (XComOperatorLink(link.name, link.xcom_key) for link in (SparkUILink(), DriverLogLink()))
    return tuple(link.get_link(cast("SerializedBaseOperator", None), ti_key=task_instance) for link in stored)


SHOWN = ("https://ui.example.com/jobs/pi", "https://logs.example.com/?pod=my-driver")


def test_links_of_task_on_worker_are_shown_while_application_runs(
    cluster: Cluster, run_dag: Callable[[str, str], DagRun], configured: None
) -> None:
    seen: list[tuple[str, ...]] = []

    async def run_until_linked(application: Application) -> None:
        application.start()
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and seen[-1:] != [SHOWN]:
            seen.append(await asyncio.to_thread(read_links, "links_while_running"))
            await asyncio.sleep(0.05)
        application.succeed()

    cluster.script = run_until_linked
    assert run_dag("links_while_running", "SparkApplicationOperator").state == "success"
    assert seen[-1] == SHOWN


def test_worker_that_does_not_know_the_application_keeps_the_links(
    cluster: Cluster, run_dag: Callable[[str, str], DagRun], configured: None
) -> None:
    assert run_dag("links_kept", "Forgetful").state == "success"
    assert read_links("links_kept") == SHOWN


SENSOR_DAG_FILE = """
from airflow.sdk import DAG
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor

with DAG("{dag_id}", schedule=None) as dag:
    SparkApplicationSensor(task_id="pi", name="pi", kubernetes_conn_id="spark", deferrable={deferrable})
"""


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_links_of_sensor_are_shown_while_application_runs(
    cluster: Cluster, dags_folder: Path, configured: None, monkeypatch: pytest.MonkeyPatch, deferrable: bool
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_URL", "https://logs.example.com/?pod=my-driver")
    seen: list[tuple[str, ...]] = []
    dag_id = f"links_of_sensor_{deferrable}"

    async def run_until_linked(application: Application) -> None:
        application.start()
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and seen[-1:] != [SHOWN]:
            seen.append(await asyncio.to_thread(read_links_if_known, dag_id))
            await asyncio.sleep(0.05)
        application.succeed()

    cluster.script = run_until_linked
    cluster.create("pi")
    path = dags_folder / f"{dag_id}.py"
    path.write_text(SENSOR_DAG_FILE.format(dag_id=dag_id, deferrable=deferrable))
    assert run_path(str(path))["dag"].test().state == "success"
    assert seen[-1] == SHOWN
    assert read_links(dag_id) == SHOWN


def read_links_if_known(dag_id: str) -> tuple[str, ...]:
    """Return the links, or nothing before the task instance exists."""
    from sqlalchemy.exc import NoResultFound

    try:
        return read_links(dag_id)
    except NoResultFound:
        return ()
