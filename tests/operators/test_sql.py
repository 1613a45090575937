"""Tasks that run SQL: what they ship, and the rows that they return."""

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from airflow.sdk import DAG

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.core.compose.files import TASK_SCRIPT
from airflow_provider_spark_operator.follow.submission.driver_script import ARGUMENTS
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster
from tests.task import TaskInstance, run

if TYPE_CHECKING:
    from airflow.sdk import Context

ROWS = [{"day": "2026-01-31", "total": 3}]


def create_task(folder: Path | None = None, **parameters: Any) -> SparkApplicationOperator:
    given = {"image": "spark:4.3.0", "name": "totals", "kubernetes_conn_id": "spark", "deferrable": True, **parameters}
    with DAG("sql", schedule=None, template_searchpath=str(folder) if folder else None):
        return SparkApplicationOperator(task_id="totals", **given)


def render(task: SparkApplicationOperator) -> None:
    dag = task.get_dag()
    assert dag is not None
    task.render_template_fields(cast("Context", {"ds": "2026-01-31", "dag": dag}), dag.get_template_env())


def read_program(cluster: Cluster) -> dict[str, Any]:
    """Return what the shipped script reads."""
    (config_map,) = cluster.application()["spec"]["configMapSpecs"]
    assert "def run_statements" in config_map["data"][TASK_SCRIPT]
    program: dict[str, Any] = json.loads(config_map["data"][ARGUMENTS])["keywords"]
    return program


def return_value(cluster: Cluster, value: object) -> None:
    """Let the driver report a return value."""

    async def act(application: Application) -> None:
        application.enter("Submitted", "DriverRequested")
        application.start_driver()
        application.enter("DriverStarted", "RunningHealthy")
        message = json.dumps({"airflow-result": value})
        application.enter("Succeeded", driver=application.end_driver(0, message=message))
        application.enter("ResourceReleased")

    cluster.script = act


def test_statements_and_parameters_are_shipped(cluster: Cluster) -> None:
    task = create_task(sql="CREATE TABLE a AS SELECT 1;\nSELECT :day", sql_parameters={"day": "{{ ds }}", "n": 2})
    render(task)

    assert run(task, TaskInstance()) == "totals"

    program = read_program(cluster)
    assert program["statements"] == [
        {"text": "CREATE TABLE a AS SELECT 1", "line": 1, "file": "sql"},
        {"text": "SELECT :day", "line": 2, "file": "sql"},
    ]
    assert program["parameters"] == {"day": "2026-01-31", "n": 2}
    assert program["output"] == ""
    assert cluster.application()["spec"]["driverArgs"] == ["/dev/null", ""]


def test_file_is_rendered_and_named(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "totals.sql").write_text("-- {{ dag.dag_id }}\nSELECT '{{ dag.dag_id }}'\n")
    task = create_task(tmp_path, sql=["SELECT '{{ dag.dag_id }}'", Path("jobs/totals.sql")])
    render(task)

    run(task, TaskInstance())

    assert read_program(cluster)["statements"] == [
        {"text": "SELECT 'sql'", "line": 1, "file": "sql"},
        {"text": "SELECT 'sql'", "line": 2, "file": "totals.sql"},
    ]
    assert task.sql == ["SELECT 'sql'", "-- sql\nSELECT 'sql'"]


def test_missing_file_fails_the_task(cluster: Cluster, tmp_path: Path) -> None:
    task = create_task(tmp_path, sql="missing.sql")
    render(task)
    with pytest.raises(AirflowFailException, match=rf"could not find SQL file 'missing.sql' in .*{tmp_path}"):
        run(task, TaskInstance())


def test_path_in_another_parameter_is_not_read(cluster: Cluster) -> None:
    task = create_task(py_file="local:///job.py", arguments=["totals.sql"])
    render(task)
    assert task.arguments == ["totals.sql"]


@pytest.mark.parametrize("deferrable", [True, False])
def test_rows_of_the_last_statement_are_returned(cluster: Cluster, deferrable: bool) -> None:
    return_value(cluster, {"value": {"rows": ROWS, "truncated": False}})
    task = create_task(sql="SELECT 1", sql_result=True, deferrable=deferrable)

    assert run(task, TaskInstance()) == ROWS

    assert read_program(cluster)["output"] == "rows"
    spec = cluster.application()["spec"]
    assert spec["driverArgs"] == ["/dev/termination-log", ""]
    assert spec["applicationTolerations"]["resourceRetainPolicy"] == "Always"


def test_rows_that_are_left_out_are_logged(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    return_value(cluster, {"value": {"rows": ROWS, "truncated": True}})
    with caplog.at_level(logging.WARNING):
        assert run(create_task(sql="SELECT 1", sql_result=True), TaskInstance()) == ROWS
    assert "has more than 1000 rows: the XCom contains the first 1000" in caplog.text


def test_large_result_is_read_from_the_store(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    return_value(cluster, {"stored": True})
    monkeypatch.setattr("airflow_provider_spark_operator.operators.driver_result._name_result", lambda _: "rows.json")
    (tmp_path / "rows.json").write_text(json.dumps({"rows": ROWS * 500, "truncated": False}))
    task = create_task(sql="SELECT 1", sql_result=True, upload_to=f"file://{tmp_path}")
    assert run(task, TaskInstance()) == ROWS * 500


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sql": " "}, "sql: contains no statement"),
        ({"py_file": "a.py", "sql_result": True}, "sql_result: needs sql"),
        ({"sql": "SELECT 1", "sql_result": True, "wait_for_completion": False}, "and wait_for_completion=True"),
        ({"sql": "SELECT 1", "start_from_trigger": True}, "sql: only a worker can ship SQL statements"),
    ],
)
def test_invalid_arguments_are_rejected(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        create_task(**parameters)


@pytest.mark.parametrize("sql", ["-- only a comment", "{{ '' }}", ["/* a */", ";"]])
def test_text_without_a_statement_fails_the_task(cluster: Cluster, sql: Any) -> None:
    task = create_task(sql=sql)
    render(task)
    with pytest.raises(AirflowFailException, match="sql: contains no statement"):
        run(task, TaskInstance())


def test_null_and_positional_parameters_are_accepted(cluster: Cluster) -> None:
    run(create_task(sql="SELECT ?, ?", sql_parameters=[None, 1.5]), TaskInstance())
    assert read_program(cluster)["parameters"] == [None, 1.5]
