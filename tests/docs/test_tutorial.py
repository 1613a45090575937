"""The files of the tutorial run on a scripted cluster as the page describes."""

import re
from pathlib import Path

import pytest

from airflow_provider_spark_operator.testing.applications import fail
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.testing.plugin import RunSparkDag

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "get-started" / "tutorial.md").read_text()
SCRIPT, DAG_FILE = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator")]


@pytest.fixture
def dag_file(tmp_path: Path) -> Path:
    """The DAG file of the tutorial, in a folder with its script."""
    (tmp_path / "words.py").write_text(SCRIPT)
    (tmp_path / "tutorial.py").write_text(DAG_FILE)
    return tmp_path / "tutorial.py"


def test_operator_ships_script_and_arguments(
    spark_cluster: ScriptedCluster, run_spark_dag: RunSparkDag, dag_file: Path
) -> None:
    dag_run = run_spark_dag(dag_file)
    assert dag_run.state == "success"
    spec = spark_cluster.application()["spec"]
    assert spec["configMapSpecs"][0]["data"] == {"words.py": SCRIPT}
    assert spec["driverArgs"] == ["to be or not to be", dag_run.run_id]


def test_failed_script_is_not_retried(
    spark_cluster: ScriptedCluster, run_spark_dag: RunSparkDag, dag_file: Path
) -> None:
    spark_cluster.script = fail
    dag_run = run_spark_dag(dag_file)
    assert [(task.state, task.try_number) for task in dag_run.get_task_instances()] == [("failed", 1)]


def test_script_compiles() -> None:
    compile(SCRIPT, "words.py", "exec")
    assert "different words:" in SCRIPT
