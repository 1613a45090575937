"""`spark-operator suspend` and `resume` with the embedded cluster."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.applications import suspend
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.dialects.base import Dialect
from airflow_provider_spark_operator.core.dialects.dialect import APACHE, KUBEFLOW
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.follow.submission.stop import set_suspended
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.dialect_states import build_kubeflow_definition
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, run_on, stay_submitted


def test_suspend_and_resume_set_the_field(scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    assert main(["suspend", "pi"]) == ExitCode.SUCCESS
    assert scripted_cluster.application()["spec"]["suspend"] is True
    assert main(["suspend", "pi"]) == ExitCode.SUCCESS
    assert main(["resume", "pi"]) == ExitCode.SUCCESS
    assert scripted_cluster.application()["spec"]["suspend"] is False
    assert main(["resume", "pi"]) == ExitCode.SUCCESS
    name = "sparkapplication.spark.apache.org/pi"
    assert capsys.readouterr().out.splitlines() == [
        f"{name} suspended",
        f"{name} unchanged: it is already suspended",
        f"{name} resumed",
        f"{name} unchanged: it is not suspended",
    ]


def test_suspend_fails_if_the_operator_ignores_the_field(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suspend, "REACTION_SECONDS", 0.0)
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    assert main(["suspend", "pi"]) == ExitCode.TIMED_OUT
    message = "still runs 0 s after spec.suspend was set: its operator is slow, or ignores the field"
    assert message in capsys.readouterr().err


def test_suspend_waits_for_the_operator(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    async def react(application: Application) -> None:
        application.suspend()

    async def suspend_and_react(*arguments: Any, **options: Any) -> JsonObject:
        stored = await set_suspended(*arguments, **options)
        await asyncio.to_thread(scripted_cluster.play, react)
        return stored

    monkeypatch.setattr(suspend, "set_suspended", suspend_and_react)
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    assert run_verb("suspend pi").out == "sparkapplication.spark.apache.org/pi suspended\n"


def test_application_that_has_ended_cannot_be_suspended(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_end()
    assert main(["suspend", "pi"]) == ExitCode.INVALID
    message = "could not suspend SparkApplication jobs/pi: it has ended in state ResourceReleased"
    assert message in capsys.readouterr().err


def test_suspend_sets_the_field_of_a_kubeflow_application(
    kubeflow_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeflow_cluster.script = stay_submitted
    kubeflow_cluster.create("pi")
    assert main(["suspend", "pi"]) == ExitCode.SUCCESS
    assert kubeflow_cluster.application()["spec"]["suspend"] is True
    assert capsys.readouterr().out == "sparkapplication.sparkoperator.k8s.io/pi suspended\n"


@pytest.mark.parametrize("dialect", [APACHE, KUBEFLOW], ids=["apache", "kubeflow"])
def test_definition_without_the_field_is_refused(
    dialect: Dialect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    definitions = [build_kubeflow_definition()] if dialect is KUBEFLOW else build_custom_resource_definitions()
    for definition in definitions:
        for version in definition["spec"]["versions"]:
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            spec.pop("x-kubernetes-preserve-unknown-fields", None)
            spec["properties"].pop("suspend", None)
    with Cluster(definitions, dialect=dialect).serve() as cluster:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(json.dumps(cluster.kubeconfig))
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        cluster.script = run_on
        cluster.create("pi")
        assert main(["suspend", "pi"]) == ExitCode.INVALID
    message = capsys.readouterr().err
    assert "could not suspend SparkApplication jobs/pi: the CustomResourceDefinition" in message
    assert "does not define spec.suspend. Install a newer release" in message
