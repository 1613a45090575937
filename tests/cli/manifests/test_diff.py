"""`spark-operator diff` with the embedded cluster."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
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
    captured = capsys.readouterr()
    assert captured.err == (
        "spark-operator: submit does not change SparkApplication jobs/pi. Delete it with "
        "`spark-operator delete pi -n jobs --wait`, replace it with `submit --replace`, or set "
        "another name with --name\n"
    )
    lines = captured.out.splitlines()
    assert lines[:2] == ["--- cluster jobs/pi", f"+++ {tmp_path / 'pi.yaml'}"]
    assert [line for line in lines[2:] if line[0] in "+-"] == [
        "-  labels:",
        "-    team: a",
        "-    spark.executor.instances: '2'",
        "+    spark.executor.instances: '5'",
    ]


@pytest.mark.usefixtures("scripted_cluster")
def test_header_states_that_options_were_applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, MANIFEST)
    assert main(["submit", file]) == ExitCode.SUCCESS
    capsys.readouterr()
    assert main(["diff", file, "--executor-instances", "20"]) == ExitCode.CHECK_FAILED
    assert capsys.readouterr().out.splitlines()[1] == f"+++ {file} (with options)"


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
    assert "Add --name NAME to name the application to compare with" in capsys.readouterr().err


@pytest.mark.usefixtures("scripted_cluster")
def test_options_of_submit_are_applied_before_the_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, MANIFEST)
    options = ["--executor-instances", "5", "--ttl", "1h", "--set", "metadata.labels.team=b"]
    assert main(["submit", file, *options]) == ExitCode.SUCCESS
    capsys.readouterr()
    assert main(["diff", file, *options]) == ExitCode.SUCCESS
    assert capsys.readouterr().out == ""
    assert main(["diff", file]) == ExitCode.CHECK_FAILED
    changed = [line for line in capsys.readouterr().out.splitlines()[2:] if line[0] in "+-"]
    assert "-    team: b" in changed
    assert "+    team: a" in changed
    assert "+    spark.executor.instances: '2'" in changed
    assert main(["diff", file, "--name", "other"]) == ExitCode.CHECK_FAILED
    assert "SparkApplication jobs/other does not exist" in capsys.readouterr().err


@pytest.mark.usefixtures("scripted_cluster")
def test_program_with_a_name_is_compared_and_not_uploaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "job.py"
    script.write_text("print(1)\n")
    (tmp_path / "data.bin").write_bytes(bytes(range(256)))
    store = tmp_path / "store"
    words = ["job.py", "--name", "job", "--image", "spark:4.3.0", "--spark-version", "4.3.0", "--files", "data.bin"]
    words += ["--upload-to", store.as_uri(), "--download-from", "s3a://bucket/jobs"]
    assert main(["diff", *words]) == ExitCode.CHECK_FAILED
    assert not store.exists()
    assert main(["submit", *words]) == ExitCode.SUCCESS
    assert store.exists()
    capsys.readouterr()
    assert main(["diff", *words]) == ExitCode.SUCCESS, capsys.readouterr().out
    script.write_text("print(2)\n")
    assert main(["diff", *words, "--", "--day", "1"]) == ExitCode.CHECK_FAILED
    assert {"+        print(2)", "+  - --day"} <= set(capsys.readouterr().out.splitlines())
