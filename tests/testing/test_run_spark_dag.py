"""The fixture `run_spark_dag`: the selection of the DAG, and the run."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.testing.plugin import RunSparkDag

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator")]

IMPORTS = """
from airflow.sdk import DAG, dag
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

def report(name):
    SparkApplicationOperator(
        task_id="report", name=name, py_file="local:///a.py", image="spark:4.3.0",
        arguments=["{{ ds }}", "{{ dag_run.conf.get('table', '') }}"],
    )

"""
WITHOUT_AS = 'with DAG("plain", schedule=None):\n    report("plain")\n'
DECORATED = '@dag(schedule=None)\ndef decorated():\n    report("decorated")\n\ndecorated()\n'


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "project" / "file.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(IMPORTS + text)
        return path

    return write


@pytest.mark.parametrize(("text", "dag_id"), [(WITHOUT_AS, "plain"), (DECORATED, "decorated")])
def test_dag_runs_although_no_variable_refers_to_it(
    spark_cluster: ScriptedCluster, run_spark_dag: RunSparkDag, file: Callable[[str], Path], text: str, dag_id: str
) -> None:
    dag_run = run_spark_dag(file(text))
    assert (dag_run.dag_id, dag_run.state) == (dag_id, "success")
    assert spark_cluster.application()["metadata"]["name"] == dag_id


@pytest.mark.parametrize("dag_id", ["plain", "decorated"])
def test_dag_id_selects_one_of_several_dags(
    spark_cluster: ScriptedCluster, run_spark_dag: RunSparkDag, file: Callable[[str], Path], dag_id: str
) -> None:
    assert run_spark_dag(str(file(WITHOUT_AS + DECORATED)), dag_id).dag_id == dag_id
    assert spark_cluster.application()["metadata"]["name"] == dag_id


def test_run_has_logical_date_and_conf(
    spark_cluster: ScriptedCluster, run_spark_dag: RunSparkDag, file: Callable[[str], Path]
) -> None:
    date = datetime(2026, 1, 1, tzinfo=UTC)
    path = file(WITHOUT_AS)
    for table in ("orders", "customers"):  # a date can be used again
        dag_run = run_spark_dag(path, logical_date=date, conf={"table": table})
        assert dag_run.logical_date == date
        assert spark_cluster.application()["spec"]["driverArgs"] == ["2026-01-01", table]
        spark_cluster.delete("plain")


@pytest.mark.parametrize(
    ("text", "dag_id", "message"),
    [
        (
            WITHOUT_AS + DECORATED,
            None,
            r"file\.py does not contain exactly one DAG\. .*DAGs in the file: decorated, plain",
        ),
        (WITHOUT_AS, "other", r"there is no DAG 'other' in file\.py\. DAGs in the file: plain"),
        ("x = 1\n", None, r"file\.py does not contain exactly one DAG\. .*DAGs in the file: none"),
        ("import nowhere_to_be_found\n", None, r"(?s)could not import file\.py: .*nowhere_to_be_found"),
    ],
    ids=["several", "unknown", "none", "broken"],
)
def test_ambiguous_or_unknown_dag_raises_value_error(
    run_spark_dag: RunSparkDag, file: Callable[[str], Path], text: str, dag_id: str | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        run_spark_dag(file(text), dag_id)
