"""`spark-operator diff` with the embedded cluster."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from tests.cli.verbs import Verbs
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
def test_submitted_manifest_has_no_difference(tmp_path: Path, run_verb: Verbs) -> None:
    file = write(tmp_path, MANIFEST)
    run_verb(["submit", file])
    captured = run_verb(["diff", file])
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.usefixtures("scripted_cluster")
def test_changed_fields_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs) -> None:
    assert main(["submit", write(tmp_path, MANIFEST)]) == ExitCode.SUCCESS
    conf = {**MANIFEST["spec"]["sparkConf"], "spark.executor.instances": "5"}
    changed = {**MANIFEST, "metadata": {"name": "pi"}, "spec": {**MANIFEST["spec"], "sparkConf": conf}}
    capsys.readouterr()
    captured = run_verb(["diff", write(tmp_path, changed)], ExitCode.CHECK_FAILED)
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
def test_header_states_that_options_were_applied(tmp_path: Path, run_verb: Verbs) -> None:
    file = write(tmp_path, MANIFEST)
    run_verb(["submit", file])
    printed = run_verb(["diff", file, "--executor-instances", "20"], ExitCode.CHECK_FAILED).out
    assert printed.splitlines()[1] == f"+++ {file} (with options)"


def test_missing_application_is_shown_whole_and_not_created(
    scripted_cluster: Cluster, tmp_path: Path, run_verb: Verbs
) -> None:
    captured = run_verb(["diff", write(tmp_path, MANIFEST)], ExitCode.CHECK_FAILED)
    assert captured.err == "spark-operator: SparkApplication jobs/pi does not exist: submit creates it\n"
    assert "+  mainClass: Pi" in captured.out.splitlines()
    assert scripted_cluster.applications() == []


def test_application_of_kubeflow_is_compared(kubeflow_cluster: Cluster, tmp_path: Path, run_verb: Verbs) -> None:
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
    run_verb(["submit", write(tmp_path, manifest)])
    assert main(["diff", write(tmp_path, manifest)]) == ExitCode.SUCCESS
    file = write(tmp_path, {**manifest, "spec": {**spec, "mainApplicationFile": "local:///b.py"}})
    assert "+  mainApplicationFile: local:///b.py" in run_verb(["diff", file], ExitCode.CHECK_FAILED).out.splitlines()


@pytest.mark.usefixtures("scripted_cluster")
def test_invalid_manifest_and_programs_are_refused(tmp_path: Path, run_verb: Verbs) -> None:
    error = run_verb(["diff", write(tmp_path, {**MANIFEST, "spec": {}})], ExitCode.INVALID).err
    assert "spec.runtimeVersions: is required" in error
    assert "Add --name NAME to name the application to compare with" in run_verb("diff job.py", ExitCode.INVALID).err


@pytest.mark.usefixtures("scripted_cluster")
def test_options_of_submit_are_applied_before_the_comparison(tmp_path: Path, run_verb: Verbs) -> None:
    file = write(tmp_path, MANIFEST)
    options = ["--executor-instances", "5", "--ttl", "1h", "--set", "metadata.labels.team=b"]
    run_verb(["submit", file, *options])
    assert run_verb(["diff", file, *options]).out == ""
    changed = [line for line in run_verb(["diff", file], ExitCode.CHECK_FAILED).out.splitlines()[2:] if line[0] in "+-"]
    assert "-    team: b" in changed
    assert "+    team: a" in changed
    assert "+    spark.executor.instances: '2'" in changed
    error = run_verb(["diff", file, "--name", "other"], ExitCode.CHECK_FAILED).err
    assert "SparkApplication jobs/other does not exist" in error


@pytest.mark.usefixtures("scripted_cluster")
def test_program_with_a_name_is_compared_and_not_uploaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs, monkeypatch: pytest.MonkeyPatch
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
    assert {"+        print(2)", "+  - --day"} <= set(
        run_verb(["diff", *words, "--", "--day", "1"], ExitCode.CHECK_FAILED).out.splitlines()
    )
