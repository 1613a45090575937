"""`spark-operator compare`, and the JSON of `describe`, with applications of both dialects."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.testing.applications import Application, run_out_of_memory
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, run_on, stay_submitted, succeed

MANIFEST = """
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: pi}
spec:
  pyFiles: local:///opt/pi.py
  runtimeVersions: {sparkVersion: "4.3.0"}
  sparkConf: {spark.kubernetes.container.image: spark:4.3.0}
"""


async def fail_with_cause(application: Application) -> None:
    application.start(executors=2)
    application.log.write('Exception in thread "main" java.lang.IllegalStateException: no such table')
    application.fail(exit_code=3)


@pytest.fixture(params=["scripted_cluster", "kubeflow_cluster"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A cluster of each dialect."""
    found: Cluster = request.getfixturevalue(request.param)
    found.script = stay_submitted
    return found


def read_json(run_verb: Verbs, *words: str) -> Any:
    return json.loads(run_verb([*words, "-o", "json"]).out)


def create_pair(cluster: Cluster) -> None:
    for name in ("slow", "fast"):
        cluster.create(name)
    cluster.play(succeed, "slow")
    cluster.play(fail_with_cause, "fast")


def test_runs_are_shown_side_by_side(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    create_pair(cluster)
    assert main(["compare", "slow", "fast"]) == ExitCode.SUCCESS
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "Outcome Succeeded Failed (application)" in rows
    assert "Attempts 1 1" in rows
    state = "SUBMITTED" if cluster.dialect is KUBEFLOW else "RunningHealthy"
    assert any(row.startswith(f"{state} 0s") for row in rows)
    verdicts = rows.index("FIRST: The application succeeded.")
    assert rows[verdicts + 1].lower().startswith("second: failed: ")
    assert rows[verdicts + 2] == "Cause: java.lang.IllegalStateException: no such table"
    assert "none: both run the same specification" in rows


def test_fields_that_differ_have_the_paths_of_set(
    scripted_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    scripted_cluster.script = stay_submitted
    manifest = tmp_path / "pi.yaml"
    manifest.write_text(MANIFEST)
    changed = ["--executor-memory", "4g", "--set", "spec.driverArgs=['100']"]
    for name, options in (("slow", []), ("fast", changed)):
        assert main(["submit", str(manifest), "--name", name, *options]) == ExitCode.SUCCESS
    capsys.readouterr()
    found = read_json(run_verb, "compare", "slow", "fast")["differences"]
    differences = {one["path"]: (one["first"], one["second"]) for one in found}
    assert differences['spec.sparkConf["spark.executor.memory"]'] == (None, "4g")
    assert differences["spec.driverArgs"] == (None, ["100"])


def submit_pair_with_long_values(cluster: Cluster, folder: Path) -> None:
    cluster.script = stay_submitted
    manifest = folder / "pi.yaml"
    manifest.write_text(MANIFEST)
    for name, word in (("slow", "left"), ("fast", "right")):
        changed = ["--image", f"registry.example.com/team/images/spark-with-libraries:4.3.0-{word}"]
        changed += ["--set", f"spec.driverArgs=['{'a' * 200}{word}{'z' * 200}']"]
        changed += ["--set", f'spec.sparkConf["spark.kubernetes.driver.annotation.example"]={word}']
        changed += ["--conf", f"spark.sql.shuffle.partitions={len(word)}"]
        assert main(["submit", str(manifest), "--name", name, *changed]) == ExitCode.SUCCESS


@pytest.mark.parametrize("columns", [64, 80, 120])
def test_terminal_cuts_long_values_around_their_first_difference(
    columns: int,
    scripted_cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    run_verb: Verbs,
) -> None:
    submit_pair_with_long_values(scripted_cluster, tmp_path)
    capsys.readouterr()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run_verb("compare slow fast").out.splitlines()
    assert max(map(len, lines)) <= columns
    rows = [" ".join(line.split()) for line in lines]
    assert any(row.startswith("Image …") and "left" in row and "right" in row for row in rows)
    assert any(row.startswith("spec.driverArgs …aa") and "left" in row and "right" in row for row in rows)
    assert any(row.endswith("left right") for row in rows)


def test_pipe_gets_whole_values(scripted_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    submit_pair_with_long_values(scripted_cluster, tmp_path)
    capsys.readouterr()
    assert main(["compare", "slow", "fast"]) == ExitCode.SUCCESS
    row = next(line.split() for line in capsys.readouterr().out.splitlines() if "spec.driverArgs" in line)
    assert row[1:] == [f'["{"a" * 200}{word}{"z" * 200}"]' for word in ("left", "right")]


def test_names_of_config_maps_are_no_differences_but_their_files_are(
    scripted_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    scripted_cluster.script = stay_submitted
    script = tmp_path / "job.py"
    for name, text in (("slow", "print(1)"), ("fast", "print(2)")):
        script.write_text(text)
        assert main(["submit", str(script), "--name", name, "--image", "spark:4.3.0"]) == ExitCode.SUCCESS
    capsys.readouterr()
    found = read_json(run_verb, "compare", "slow", "fast")["differences"]
    assert found == [{"path": 'spec.configMapSpecs[0].data["job.py"]', "first": "print(1)", "second": "print(2)"}]


def test_scripts_are_compared_by_lines(
    scripted_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted_cluster.script = stay_submitted
    script = tmp_path / "job.py"
    for name, texts in (("slow", "import os\nprint(1)\n"), ("fast", "import os\nprint(2)\n")):
        script.write_text(texts)
        assert main(["submit", str(script), "--name", name, "--image", "spark:4.3.0"]) == ExitCode.SUCCESS
    capsys.readouterr()
    assert main(["compare", "slow", "fast"]) == ExitCode.SUCCESS
    row = next(line.split() for line in capsys.readouterr().out.splitlines() if "job.py" in line)
    assert row == ['spec.configMapSpecs[0].data["job.py"]:', "1", "line", "differs", "print(1)", "print(2)"]


def test_rows_that_differ_and_outcomes_have_styles(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    scripted_cluster.script = stay_submitted
    create_pair(scripted_cluster)
    monkeypatch.setenv("FORCE_COLOR", "1")
    lines = run_verb("compare slow fast").out.splitlines()
    outcome = next(line for line in lines if "Outcome" in line)
    assert "\033[1mOutcome\033[0m" in outcome
    assert "\033[32mSucceeded\033[0m" in outcome
    assert "\033[31mFailed (application)\033[0m" in outcome
    assert any(line.startswith("  Attempts ") for line in lines)


def test_default_times_to_live_are_no_difference(
    scripted_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    scripted_cluster.script = stay_submitted
    (tmp_path / "pi.yaml").write_text(MANIFEST)
    for name, options in (("slow", []), ("fast", ["--ttl", "1d"]), ("other", ["--ttl", "2d"])):
        assert main(["submit", str(tmp_path / "pi.yaml"), "--name", name, *options]) == ExitCode.SUCCESS
    capsys.readouterr()
    assert read_json(run_verb, "compare", "slow", "fast")["differences"] == []
    assert [one["path"] for one in read_json(run_verb, "compare", "fast", "other")["differences"]] == [
        "spec.applicationTolerations.ttlAfterStopMillis"
    ]


SECRETS = """
spec:
  driverArgs: ["--password", "s3cr3t-ONE"]
  sparkConf: {spark.hadoop.fs.s3a.secret.key: s3cr3t-ONE}
  driverSpec:
    podTemplateSpec:
      spec: {containers: [{name: spark-kubernetes-driver, env: [{name: DB_PASSWORD, value: s3cr3t-ONE}]}]}
"""


@pytest.mark.parametrize("output", ["text", "json"])
def test_secrets_that_differ_are_differences_without_their_values(
    scripted_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs, output: str
) -> None:
    scripted_cluster.script = stay_submitted
    for name, secret in (("slow", "ONE"), ("fast", "TWO")):
        document = yaml.safe_load(MANIFEST)
        for field, value in yaml.safe_load(SECRETS.replace("ONE", secret))["spec"].items():
            document["spec"][field] = {**document["spec"][field], **value} if field == "sparkConf" else value
        (tmp_path / "pi.yaml").write_text(yaml.safe_dump(document))
        assert main(["submit", str(tmp_path / "pi.yaml"), "--name", name]) == ExitCode.SUCCESS
    capsys.readouterr()
    text = run_verb(["compare", "slow", "fast", "-o", output]).out
    assert "s3cr3t" not in text
    assert text.count("(redacted)") == 6
    for path in ("spec.driverArgs", "secret.key", "spec.driverSpec.podTemplateSpec.spec.containers"):
        assert path in text
    assert "local:///opt/pi.py --password (redacted)\n" in run_verb("describe slow").out


def test_missing_application_is_an_error(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("slow")
    assert "fast" in run_verb("compare slow fast", ExitCode.API_FAILED).err


def test_json_of_describe_has_the_verdict(cluster: Cluster, run_verb: Verbs) -> None:
    cluster.create("pi")
    cluster.play(fail_with_cause, "pi")
    found = read_json(run_verb, "describe", "pi")
    verdict = found["verdict"]
    assert (verdict["outcome"], verdict["failureKind"], verdict["retryWorthy"]) == ("Failed", "application", True)
    assert verdict["cause"] == "java.lang.IllegalStateException: no such table"
    assert verdict["sentence"].lower().startswith("failed: ")
    assert found["states"][-1]["state"] == found["state"]
    assert isinstance(found["seconds"], float)
    assert any("no such table" in line for line in found["log"])
    assert found["logProblem"] is None
    assert found["task"] is None


def test_json_of_describe_says_that_a_retry_cannot_help(cluster: Cluster, run_verb: Verbs) -> None:
    cluster.create("pi")
    cluster.play(run_out_of_memory, "pi")
    verdict = read_json(run_verb, "describe", "pi")["verdict"]
    assert (verdict["reason"], verdict["retryWorthy"]) == ("OOMKilled", False)


def test_json_of_describe_has_no_verdict_on_a_retry_before_the_end(cluster: Cluster, run_verb: Verbs) -> None:
    cluster.script = run_on
    cluster.create("pi")
    cluster.wait_for_state("RUNNING" if cluster.dialect is KUBEFLOW else "RunningHealthy")
    found = read_json(run_verb, "describe", "pi")
    assert (found["verdict"]["outcome"], found["verdict"]["retryWorthy"], found["ended"]) == ("Waiting", None, None)
    assert found["executors"]["running"] == 2


def test_lost_executors_have_no_numbers(scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    async def succeed_alone(application: Application) -> None:
        application.start(executors=0)
        application.succeed()

    scripted_cluster.script = stay_submitted
    for name in ("slow", "fast"):
        scripted_cluster.create(name)
        scripted_cluster.play(succeed_alone, name)
    assert main(["compare", "slow", "fast"]) == ExitCode.SUCCESS
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert {"Executors at once not known not known", "Executors that failed not known not known"} <= {*rows}
    assert any("podNamePrefix" in row for row in rows)


async def run_without_executors(application: Application) -> None:
    application.start(executors=0)


def test_running_application_without_executors_says_why(cluster: Cluster, run_verb: Verbs) -> None:
    cluster.create("pi")
    cluster.play(run_without_executors, "pi")
    why = "(the driver runs, but no executor runs or is starting)"
    assert why in run_verb("status pi").out
    assert why in run_verb("describe pi").out
