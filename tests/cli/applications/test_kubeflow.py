"""The verbs for applications with a resource of Kubeflow's operator."""

from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.program.catalogue import VERBS, Section
from airflow_provider_spark_operator.testing.applications import Application
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, run_on, succeed

MANIFEST = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "metadata": {"name": "new"},
    "spec": {
        "type": "Python",
        "mode": "cluster",
        "image": "spark:4.0.0",
        "mainApplicationFile": "local:///a.py",
        "sparkVersion": "4.0.0",
        "driver": {},
        "executor": {},
    },
}
# The words of each verb, and whether the application `pi` has ended. None: it has not started, because no operator here
# reacts to a suspension. `forward` has its own test with a pod.
COMMANDS: dict[str, tuple[str, bool | None]] = {
    "list": ("list", True),
    "status": ("status pi", True),
    "describe": ("describe pi", True),
    "compare": ("compare pi pi", True),
    "events": ("events pi", True),
    "timeline": ("timeline pi", True),
    "top": ("top", True),
    "report": ("report", True),
    "wait": ("wait pi", True),
    "logs": ("logs pi", True),
    "submit": ("submit new.yaml", True),
    "delete": ("delete pi", True),
    "suspend": ("suspend pi", None),
    "resume": ("resume pi", False),
    "cleanup": ("cleanup --older-than 0s", True),
    "validate": ("validate new.yaml", True),
    "diff": ("diff new.yaml", True),
    "convert": ("convert new.yaml", True),
}
TESTED_ELSEWHERE = {"advise", "connect", "forward", "restart", "stop"}


async def stay_submitted(_: Application) -> None:
    return


def test_every_verb_for_applications_has_a_command() -> None:
    assert {verb.name for verb in VERBS if verb.section is Section.APPLICATIONS} <= COMMANDS.keys() | TESTED_ELSEWHERE


@pytest.mark.parametrize("verb", COMMANDS)
def test_verb_works_with_a_resource_of_kubeflow(
    kubeflow_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.yaml").write_text(yaml.safe_dump(MANIFEST))
    words, has_ended = COMMANDS[verb]
    kubeflow_cluster.script = {None: stay_submitted, True: succeed, False: run_on}[has_ended]
    kubeflow_cluster.create("pi")
    if has_ended is not None:
        kubeflow_cluster.wait_for_end() if has_ended else kubeflow_cluster.wait_for_state("RUNNING")
    assert main(words.split()) == (ExitCode.CHECK_FAILED if verb == "diff" else ExitCode.SUCCESS)


@pytest.mark.usefixtures("kubeflow_cluster")
def test_render_refuses_a_resource_of_kubeflow(tmp_path: Path, run_verb: Verbs) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(yaml.safe_dump(MANIFEST))
    assert "spark.apache.org" in run_verb(f"render {file}", ExitCode.INVALID).err
