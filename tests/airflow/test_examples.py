"""Each example DAG, run by Airflow on a scripted cluster."""

import json
import os
import re
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from airflow.models.dagrun import DagRun

from airflow_provider_spark_operator.core.kubernetes.problems import filter_errors
from airflow_provider_spark_operator.core.states import capacity_wait
from airflow_provider_spark_operator.core.validation.application import validate_application
from airflow_provider_spark_operator.follow.access.requests import wait_until_deleted
from airflow_provider_spark_operator.operators import spark_cluster_runtime, spark_connect_runtime
from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster, fail, run_on, succeed

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.usefixtures("airflow_database"),
    # Airflow and its dependencies emit warnings. The project's modules must not.
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]

EXAMPLES = Path(__file__).parents[2] / "example_dags"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
# In Airflow 3.0, `dag.test()` refuses a task whose assets no scheduler has activated.
NEEDS_ACTIVE_ASSETS = pytest.mark.needs_airflow("3.1")


@pytest.fixture
def run_example(cluster: Cluster, dags_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], DagRun]:
    """A function that runs an example from the DAG folder, with the connection that the example needs."""
    monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_DEFAULT", os.environ["AIRFLOW_CONN_SPARK"])
    shutil.copytree(EXAMPLES, dags_folder, dirs_exist_ok=True)
    session = MagicMock()
    session.range.return_value.where.return_value.count.return_value = 5
    client = "airflow_provider_spark_operator.operators.connect_client"  # it needs PySpark and gRPC
    monkeypatch.setitem(sys.modules, client, SimpleNamespace(connect=lambda *_: session))
    monkeypatch.setattr(spark_connect_runtime, "find_missing_packages", list)
    monkeypatch.setattr(spark_cluster_runtime, "wait_until_gone", wait_until_deleted)  # drivers of the script remain
    return lambda name: run_path(str(dags_folder / f"{name}.py"))["dag"].test()


def return_value(value: object) -> Callable[[Application], Awaitable[None]]:
    async def act(application: Application) -> None:
        application.enter("Submitted", "DriverRequested")
        application.start_driver()
        application.enter("DriverStarted", "RunningHealthy")
        message = json.dumps({"airflow-result": {"value": value}})
        application.enter("Succeeded", driver=application.end_driver(0, message=message))
        application.enter("ResourceReleased")

    return act


async def stream(application: Application) -> None:
    application.enter("Submitted", "DriverRequested")
    application.start_driver()
    application.enter("DriverStarted", "RunningHealthy")
    application.log.write('spark-task {"queries": {"clicks": {"batch": 0, "first": 0, "rows": 2, "time": "now"}}}')


async def run_its_script(application: Application) -> None:
    rows = {"rows": [{"name": "ann", "orders": 2, "total": 4.5}], "truncated": False}
    scripts = {
        "spark-pi-fail-on-purpose": fail,
        "spark-function": return_value(285),
        "spark-connect": run_on,
        "clicks": stream,
        "spark-sql": return_value(rows),
    }
    found = (script for name, script in scripts.items() if application.name.startswith(name))
    await next(found, succeed)(application)


def test_each_example_is_documented() -> None:
    page = (EXAMPLES.parent / "docs" / "guides" / "examples.md").read_text()
    listed = re.findall(r"^\| `(spark_\w+)` \|", page, re.MULTILINE)
    assert set(NAMES) <= set(listed)


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=NEEDS_ACTIVE_ASSETS if one == "spark_assets" else ()) for one in NAMES]
)
def test_example_has_the_documented_states(cluster: Cluster, run_example: Callable[[str], DagRun], name: str) -> None:
    cluster.script = run_its_script
    dag_run = run_example(name)
    states = {task.task_id: task.state for task in dag_run.get_task_instances()}
    assert states == {task: "failed" if task == "fail_on_purpose" else "success" for task in states}
    assert cluster.applications() or name == "spark_connect"  # its teardown deletes the server
    for application in cluster.applications():
        assert filter_errors(validate_application(application)) == []


def test_script_example_ships_its_files(cluster: Cluster, run_example: Callable[[str], DagRun]) -> None:
    run_example("spark_script")
    spec = cluster.application()["spec"]
    (config_map,) = spec["configMapSpecs"]
    assert config_map["data"] == {
        name: (EXAMPLES / "jobs" / name).read_text() for name in ("word_count.py", "words.py", "word_count.toml")
    }
    # Without this class, the Apache operator treats the whole list as one file.
    assert spec["mainClass"] == "org.apache.spark.deploy.PythonRunner"
    assert spec["pyFiles"] == "local:///opt/airflow-task/word_count.py,local:///opt/airflow-task/words.py"


def test_capacity_example_waits_for_a_full_cluster(
    cluster: Cluster, run_example: Callable[[str], DagRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find_no_room(application: Application) -> None:
        cluster.script = succeed
        application.enter("Submitted", "SchedulingFailure", message="exceeded quota: small")
        application.enter("ResourceReleased")

    monkeypatch.setattr(capacity_wait, "_FIRST_SECONDS", 0.1)
    cluster.script = find_no_room
    (task_instance,) = run_example("spark_capacity").get_task_instances()
    assert (task_instance.state, task_instance.try_number) == ("success", 1)
    assert len(cluster.applications()) == 1


def test_mapped_example_has_one_application_per_table(cluster: Cluster, run_example: Callable[[str], DagRun]) -> None:
    run_example("spark_mapped")
    assert sorted(one["spec"]["driverArgs"] for one in cluster.applications()) == [["customers"], ["orders"]]


@NEEDS_ACTIVE_ASSETS
def test_asset_example_names_its_application(cluster: Cluster, run_example: Callable[[str], DagRun]) -> None:
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session

    dag_run = run_example("spark_assets")
    with create_session() as session:
        (event,) = session.query(AssetEvent).filter_by(source_run_id=dag_run.run_id)
        assert event.extra["spark_application_uid"] == cluster.application()["metadata"]["uid"]
