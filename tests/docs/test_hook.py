"""Each DAG on the page about the hook runs."""

import re
from pathlib import Path

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.testing.applications import Application, run_on, succeed
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.testing.plugin import RunSparkDag, connect

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "hook.md"
BLOCKS = {
    match[2]: match[1]
    for match in re.finditer(
        r"^```python\n((?:(?!```).)*?DAG\(\"(\w+)\".*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
}
pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator")]


@pytest.fixture
def write(tmp_path: Path) -> Path:
    folder = tmp_path / "dags"
    folder.mkdir()
    return folder / "hook.py"


def test_each_block_is_a_dag() -> None:
    assert len(BLOCKS) == PAGE.read_text().count("```python") == 7


@pytest.mark.parametrize("dag_id", ["report_by_hook", "regions_by_hook"])
def test_dag_succeeds(spark_cluster: ScriptedCluster, run_spark_dag: RunSparkDag, write: Path, dag_id: str) -> None:
    write.write_text(BLOCKS[dag_id])
    assert run_spark_dag(write).state == "success"


def test_logs_of_driver_and_executors_are_read(
    spark_cluster: ScriptedCluster, run_spark_dag: RunSparkDag, write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def write_logs(application: Application) -> None:
        application.start(executors=1)
        application.end_executor(0, exit_code=143, reason="Error")
        application.succeed()

    spark_cluster.script = write_logs
    write.write_text(BLOCKS["logs_by_hook"])
    assert run_spark_dag(write).state == "success"
    assert "executor 0 ends" in capsys.readouterr().out


def test_fallback_uses_more_memory_after_an_out_of_memory_failure(
    spark_cluster: ScriptedCluster, run_spark_dag: RunSparkDag, write: Path
) -> None:
    memories = []

    async def need_memory(application: Application) -> None:
        memory = application.document["spec"]["sparkConf"]["spark.executor.memory"]
        memories.append(memory)
        if memory == "8g":
            await succeed(application)
        else:
            application.start()
            application.fail(exit_code=137, reason="OOMKilled")

    spark_cluster.script = need_memory
    write.write_text(BLOCKS["fallback_by_hook"])
    assert run_spark_dag(write).state == "success"
    assert memories == ["2g", "8g"]
    assert spark_cluster.applications() == []


def test_clean_up_deletes_the_failed_applications_of_the_team(
    spark_cluster: ScriptedCluster, run_spark_dag: RunSparkDag, write: Path
) -> None:
    async def fail_unless_named_good(application: Application) -> None:
        application.start()
        if application.name.startswith("good"):
            application.succeed()
        else:
            application.fail()

    spark_cluster.script = fail_unless_named_good
    for name, team in (("good", "reports"), ("bad", "reports"), ("bad-of-others", "others")):
        spark_cluster.create(name, labels={"team": team})
    spark_cluster.wait_for_end()
    write.write_text(BLOCKS["clean_up_by_hook"])
    assert run_spark_dag(write).state == "success"
    assert sorted(one["metadata"]["name"] for one in spark_cluster.applications()) == ["bad-of-others", "good"]


def test_suspended_application_is_resumed(
    spark_cluster: ScriptedCluster, run_spark_dag: RunSparkDag, write: Path
) -> None:
    seen = []

    async def record(application: Application) -> None:
        seen.append(application.document["spec"]["suspend"])

    spark_cluster.script = record
    write.write_text(BLOCKS["suspend_by_hook"])
    assert run_spark_dag(write).state == "success"
    assert seen == [True]
    assert spark_cluster.application("later")["spec"]["suspend"] is False


def test_application_of_kubeflow_is_found(
    monkeypatch: pytest.MonkeyPatch, run_spark_dag: RunSparkDag, write: Path
) -> None:
    with ScriptedCluster(dialect=KUBEFLOW).serve() as cluster:
        connect(monkeypatch, "kubernetes_default", cluster)
        cluster.script = run_on
        cluster.create("pi")
        cluster.wait_for_state("RUNNING")
        write.write_text(BLOCKS["kubeflow_by_hook"])
        assert run_spark_dag(write).state == "success"
