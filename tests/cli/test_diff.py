"""`spark-operator diff` with the embedded cluster."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from tests.cluster import Cluster

MANIFEST: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "metadata": {"name": "pi", "labels": {"team": "a"}},
    "spec": {
        "mainClass": "Pi",
        "jars": "local:///pi.jar",
        "sparkConf": {"spark.executor.instances": "2", "spark.kubernetes.container.image": "spark:4.3.0"},
        "runtimeVersions": {"sparkVersion": "4.3.0"},
    },
}


def write(folder: Path, manifest: dict[str, Any]) -> str:
    file = folder / "pi.yaml"
    file.write_text(yaml.safe_dump(manifest))
    return str(file)


@pytest.mark.usefixtures("scripted_cluster")
def test_submitted_manifest_has_no_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, MANIFEST)
    assert main(["submit", file]) == ExitCode.SUCCESS
    capsys.readouterr()
    assert main(["diff", file]) == ExitCode.SUCCESS
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.usefixtures("scripted_cluster")
def test_changed_fields_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["submit", write(tmp_path, MANIFEST)]) == ExitCode.SUCCESS
    conf = {**MANIFEST["spec"]["sparkConf"], "spark.executor.instances": "5"}
    changed = {**MANIFEST, "metadata": {"name": "pi"}, "spec": {**MANIFEST["spec"], "sparkConf": conf}}
    capsys.readouterr()
    assert main(["diff", write(tmp_path, changed)]) == ExitCode.CHECK_FAILED
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["--- cluster jobs/pi", f"+++ {tmp_path / 'pi.yaml'}"]
    assert [line for line in lines[2:] if line[0] in "+-"] == [
        "-  labels:",
        "-    team: a",
        "-    spark.executor.instances: '2'",
        "+    spark.executor.instances: '5'",
    ]


def test_missing_application_is_shown_whole_and_not_created(
    scripted_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", write(tmp_path, MANIFEST)]) == ExitCode.CHECK_FAILED
    captured = capsys.readouterr()
    assert captured.err == "spark-operator: SparkApplication jobs/pi does not exist: submit creates it\n"
    assert "+  mainClass: Pi" in captured.out.splitlines()
    assert scripted_cluster.applications() == []


def test_application_of_kubeflow_is_compared(
    kubeflow_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kubeflow_cluster.applications() == []
    spec = {
        "type": "Python",
        "mainApplicationFile": "local:///a.py",
        "sparkVersion": "4.0.0",
        "driver": {},
        "executor": {},
    }
    manifest = {
        "apiVersion": f"{KUBEFLOW.group}/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "pi"},
        "spec": spec,
    }
    assert main(["submit", write(tmp_path, manifest)]) == ExitCode.SUCCESS
    capsys.readouterr()
    assert main(["diff", write(tmp_path, manifest)]) == ExitCode.SUCCESS
    file = write(tmp_path, {**manifest, "spec": {**spec, "mainApplicationFile": "local:///b.py"}})
    assert main(["diff", file]) == ExitCode.CHECK_FAILED
    assert "+  mainApplicationFile: local:///b.py" in capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("scripted_cluster")
def test_invalid_manifest_and_programs_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", write(tmp_path, {**MANIFEST, "spec": {}})]) == ExitCode.INVALID
    assert "spec.runtimeVersions: is required" in capsys.readouterr().err
    assert main(["diff", "job.py"]) == ExitCode.INVALID
    assert "must be a manifest" in capsys.readouterr().err
