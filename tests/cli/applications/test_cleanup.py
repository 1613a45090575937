"""`spark-operator cleanup` with the embedded cluster."""

from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, fail, run_on, succeed


def create_ended(cluster: Cluster, name: str, *, days: float, failed: bool = False, **metadata: object) -> None:
    """Create an application that ended some days ago."""

    def move(document: JsonObject) -> JsonObject:
        time = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        for entry in document["status"]["stateTransitionHistory"].values():
            entry["lastTransitionTime"] = time
        document["status"]["currentState"]["lastTransitionTime"] = time
        return document

    cluster.script = fail if failed else succeed
    cluster.create(name, **metadata)
    cluster.wait_for_end()
    cluster.do(lambda: cluster.resources.write_status("jobs", name, move))


def list_names(cluster: Cluster) -> list[str]:
    return sorted(one["metadata"]["name"] for one in cluster.applications())


def test_only_applications_that_ended_long_ago_are_deleted(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    create_ended(scripted_cluster, "old", days=8)
    create_ended(scripted_cluster, "new", days=6)
    scripted_cluster.script = run_on
    scripted_cluster.create("running")
    scripted_cluster.wait_for_state("RunningHealthy")
    assert main(["cleanup", "--older-than", "7d", "--dry-run"]) == ExitCode.SUCCESS
    line = "sparkapplication.spark.apache.org/old would be deleted (Succeeded, ended 8d ago)\n"
    assert capsys.readouterr().out == line
    assert list_names(scripted_cluster) == ["new", "old", "running"]
    assert run_verb("cleanup --older-than 7d").out == line.replace("would be deleted", "deleted")
    assert list_names(scripted_cluster) == ["new", "running"]
    assert "new deleted in namespace jobs (Succeeded" in run_verb("cleanup --older-than 0s -A").out
    assert list_names(scripted_cluster) == ["running"]


def test_states_and_labels_select(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    create_ended(scripted_cluster, "good", days=8, labels={"team": "a"})
    create_ended(scripted_cluster, "bad", days=8, failed=True, labels={"team": "a"})
    create_ended(scripted_cluster, "other", days=8, failed=True)
    words = ["cleanup", "--older-than", "1d", "--state", "Failed", "-l", "team=a"]
    assert main(words) == ExitCode.SUCCESS
    assert list_names(scripted_cluster) == ["good", "other"]
    capsys.readouterr()
    captured = run_verb(words)
    assert captured.out == ""
    assert "no application in namespace jobs meets the conditions" in captured.err


def test_kubeflow_application_is_deleted(kubeflow_cluster: Cluster) -> None:
    kubeflow_cluster.create("pi")
    kubeflow_cluster.wait_for_end()
    assert main(["cleanup", "--older-than", "0s", "--state", "completed"]) == ExitCode.SUCCESS
    assert kubeflow_cluster.applications() == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "missing option --older-than"),
        (["--older-than", "long"], "--older-than: invalid duration 'long'"),
        (["--older-than", "7"], "--older-than: '7' has no unit: write for example 7m, 7h or 7d"),
        (["--older-than", "0.5"], "--older-than: '0.5' has no unit"),
        (["--older-than", "7d", "--state", "dead"], "--state: unknown state dead"),
        (["--older-than", "7d", "--state", "RunningHealthy"], "must be one of succeeded, failed; states of "),
    ],
)
def test_invalid_usage_is_exit_code_2(words: list[str], message: str, run_verb: Verbs) -> None:
    assert message in run_verb(["cleanup", *words], ExitCode.INVALID).err
