"""`spark-operator restart` with the embedded cluster."""

import json
import tempfile
from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.program.catalogue import VERBS
from airflow_provider_spark_operator.cli.submission.submission_options import OPTIONS
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.parameters.parameters import Panel
from tests.cli.parse import list_options
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, fail, run_on, stay_submitted, succeed

TASK = {"dag_id": "sales", "task_id": "load", "run_id": "manual__1"}


def test_application_is_submitted_again_under_its_name(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = fail
    old = scripted_cluster.create("pi", labels={"team": "a"}, annotations={"note": "x"})
    scripted_cluster.wait_for_end()
    scripted_cluster.script = succeed
    assert run_verb("restart pi").out == "sparkapplication.spark.apache.org/pi restarted\n"
    scripted_cluster.wait_for_end()
    new = scripted_cluster.application()
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert (new["metadata"]["labels"], new["metadata"]["annotations"]) == ({"team": "a"}, {"note": "x"})
    assert new["spec"] == {"suspend": False} | old["spec"]  # the API server writes the default of the CRD


def test_dry_run_prints_the_new_manifest_and_changes_nothing(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = stay_submitted
    old = scripted_cluster.create("pi")
    captured = run_verb("restart pi --executor-memory 3g --dry-run -o json")
    manifest = json.loads(captured.out)
    assert manifest["spec"]["sparkConf"]["spark.executor.memory"] == "3g"
    assert "status" not in manifest
    assert captured.err.endswith("the API server accepts the application; nothing was restarted\n")
    assert scripted_cluster.application()["metadata"]["uid"] == old["metadata"]["uid"]
    assert "--dry-run submits nothing" in run_verb("restart pi --dry-run --wait", ExitCode.INVALID).err


def test_running_application_is_restarted_and_followed(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    scripted_cluster.do(lambda: scripted_cluster.resources.delete_pod("jobs", _find_driver(scripted_cluster)))
    scripted_cluster.script = succeed
    assert run_verb("restart pi --follow").out == "Pi is roughly 3.14\n"


def _find_driver(cluster: Cluster) -> str:
    return next(name for namespace, name in cluster.logs if namespace == "jobs")


def test_suspended_application_stays_suspended_and_this_is_reported(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    assert main(["suspend", "pi"]) == ExitCode.SUCCESS
    assert main(["restart", "pi"]) == ExitCode.SUCCESS
    expected = "jobs/pi is still suspended. To start it, run `spark-operator resume pi -n jobs`\n"
    assert capsys.readouterr().err.endswith(expected)
    assert "suspended" not in run_verb("restart pi --set spec.suspend=false").err


def test_kubeflow_application_is_restarted(kubeflow_cluster: Cluster) -> None:
    kubeflow_cluster.create("pi")
    kubeflow_cluster.wait_for_end()
    kubeflow_cluster.do(lambda: kubeflow_cluster.resources.delete_pod("jobs", "pi-driver"))
    before = kubeflow_cluster.application()["metadata"]["uid"]
    assert main(["restart", "pi", "--wait"]) == ExitCode.SUCCESS
    assert kubeflow_cluster.application()["metadata"]["uid"] != before


def test_application_is_restarted_with_other_values(scripted_cluster: Cluster) -> None:
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_end()
    words = ["--set", 'spec.driverArgs=["100"]', "--set", 'spec.sparkConf["spark.executor.memory"]=4g']
    assert main(["restart", "pi", *words]) == ExitCode.SUCCESS
    spec = scripted_cluster.application()["spec"]
    assert (spec["driverArgs"], spec["sparkConf"]["spark.executor.memory"]) == (["100"], "4g")


def test_application_is_restarted_with_the_resource_options_of_submit(scripted_cluster: Cluster) -> None:
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_end()
    words = ["--executor-memory", "4g", "--executor-instances", "5", "--conf", "spark.ui.port=4050"]
    assert main(["restart", "pi", *words, "--set", "spec.sparkConf.spark\\.executor\\.instances=7"]) == ExitCode.SUCCESS
    conf = scripted_cluster.application()["spec"]["sparkConf"]
    assert (conf["spark.executor.memory"], conf["spark.ui.port"]) == ("4g", "4050")
    assert conf["spark.executor.instances"] == "7"


def test_kubeflow_application_is_restarted_with_other_resources(kubeflow_cluster: Cluster) -> None:
    kubeflow_cluster.create("pi")
    kubeflow_cluster.wait_for_end()
    kubeflow_cluster.do(lambda: kubeflow_cluster.resources.delete_pod("jobs", "pi-driver"))
    assert main(["restart", "pi", "--executor-memory", "4g", "--driver-cores", "2"]) == ExitCode.SUCCESS
    spec = kubeflow_cluster.application()["spec"]
    assert (spec["executor"]["memory"], spec["driver"]["cores"]) == ("4g", 2)


def test_restart_has_the_resource_options_of_submit() -> None:
    submit, restart = (list_options(verb) for verb in VERBS if verb.name in ("submit", "restart"))
    resources = {f"--{name.replace('_', '-')}" for name, one in OPTIONS.items() if one.panel is Panel.RESOURCES}
    assert resources | {"--conf"} <= set(submit) & set(restart)


def test_invalid_resource_keeps_the_application(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    uid = scripted_cluster.create("pi")["metadata"]["uid"]
    assert "--executor-memory" in run_verb("restart pi --executor-memory 4x", ExitCode.INVALID).err
    assert scripted_cluster.application()["metadata"]["uid"] == uid


def test_another_name_is_refused_with_the_command_that_uses_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restart", "pi", "--name", "z2"]) == ExitCode.INVALID
    advice = "`spark-operator status pi -o yaml | spark-operator submit - --name z2`"
    assert f"--name: `restart` keeps the name. To use another name, run {advice}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("metadata.name=other", "run `spark-operator status pi -o yaml | spark-operator submit - --name other`"),
        ("metadata.name=$(x)", "run `spark-operator status pi -o yaml | spark-operator submit - --name pi-2`"),
        ("metadata=x", "cannot change the kind, the name or the namespace of an application"),
        ("spec.runtimeVersions.x.y=1", "runtimeVersions.x"),
        ("spec.jars=1", "spec.jars"),
    ],
)
def test_application_is_not_deleted_for_a_value_that_is_refused(
    assignment: str, message: str, scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    before = scripted_cluster.create("pi")["metadata"]["uid"]
    assert message in run_verb(["restart", "pi", "--set", assignment], ExitCode.INVALID).err
    metadata = scripted_cluster.application()["metadata"]
    assert metadata["uid"] == before
    assert "deletionTimestamp" not in metadata


def test_owned_application_is_refused(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    parent = scripted_cluster.create("daily")
    owner = {"apiVersion": parent["apiVersion"], "kind": parent["kind"], "name": "daily"}
    scripted_cluster.create("pi", ownerReferences=[{**owner, "uid": parent["metadata"]["uid"]}])
    error = run_verb("restart pi", ExitCode.INVALID).err
    assert "it belongs to SparkApplication daily. Restart it through its owner" in error


def test_application_that_a_task_waits_for_is_refused(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    scripted_cluster.annotate("pi", **TASK)
    assert main(["restart", "pi"]) == ExitCode.INVALID
    message = "could not restart SparkApplication jobs/pi: task sales/load of Airflow waits for it"
    assert message in capsys.readouterr().err
    assert "deletionTimestamp" not in scripted_cluster.application()["metadata"]


def test_ended_application_of_a_task_belongs_to_no_task_afterwards(scripted_cluster: Cluster) -> None:
    scripted_cluster.create("pi", labels={"airflow.spark-operator/task": "abc", "team": "a"})
    scripted_cluster.wait_for_end()
    scripted_cluster.annotate("pi", **TASK, result_taken_by="abc")
    assert main(["restart", "pi"]) == ExitCode.SUCCESS
    metadata = scripted_cluster.application()["metadata"]
    assert metadata["labels"] == {"team": "a"}
    assert not any(key.startswith("airflow.spark-operator/") for key in metadata.get("annotations", {}))


def test_application_that_is_not_released_is_printed_as_a_manifest(
    scripted_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def hold(document: JsonObject) -> JsonObject:
        document["metadata"]["finalizers"] = ["example.com/hold"]
        return document

    scripted_cluster.create("pi")
    scripted_cluster.do(lambda: scripted_cluster.store.update(scripted_cluster.kind, "jobs", "pi", hold))
    captured = run_verb("restart pi --deletion-timeout 1s", ExitCode.TIMED_OUT)
    assert "was deleted and not submitted again. Its manifest is on stdout and in " in captured.err
    manifest = yaml.safe_load(captured.out)
    assert manifest["metadata"] == {"name": "pi", "namespace": "jobs"}
    assert manifest["spec"]["mainClass"] == "A"
