"""The exit codes in docs/reference/exit-codes.md for all verbs: usage, API, results, output and interruption.

test_documented_commands.py has the commands that succeed.
"""

import functools
import importlib
import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.program.catalogue import VERBS
from airflow_provider_spark_operator.testing.spark_clusters import stay_without_workers
from tests.cli.program.test_documented_commands import ENDING, VERB_OF, folder, prepare, split
from tests.cli.verbs import Verbs
from tests.cluster import NAMESPACE, Cluster, fail, run_on, stay_submitted
from tests.hooks.clouds.loopback import Answer, Asked, serve
from tests.kube.scripted_api import build_kubeconfig

__all__ = ["folder"]

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "exit-codes.md").read_text()
DOCUMENTED = {
    verb: {int(code) for code in codes.split(", ")}
    for verb, codes in re.findall(r"^\| `([a-z ]+)` \| ([\d, ]+) \|", PAGE, re.MULTILINE)
}
MODULES = {verb.name: verb.module for verb in VERBS}
# The words of each verb that needs a cluster. `new` does not exist in the cluster, `pi.yaml` is a valid manifest.
COMMANDS = {
    "list": "list",
    "status": "status new",
    "describe": "describe new",
    "compare": "compare new new",
    "events": "events new",
    "timeline": "timeline new",
    "top": "top",
    "report": "report",
    "restart": "restart new",
    "cleanup": "cleanup --older-than 0s",
    "cluster create": "cluster create analytics.yaml",
    "cluster list": "cluster list",
    "cluster status": "cluster status new",
    "cluster scale": "cluster scale new 1",
    "cluster forward": "cluster forward new --port 0",
    "cluster delete": "cluster delete new",
    "reconcile": "reconcile",
    "wait": "wait new",
    "logs": "logs new",
    "submit": "submit pi.yaml",
    "forward": "forward new --port 0",
    "connect": "connect new",
    "delete": "delete new",
    "stop": "stop new",
    "suspend": "suspend new",
    "resume": "resume new",
    "diff": "diff pi.yaml",
    "doctor": "doctor",
}
# Their API server belongs to them. tests/cli/test_local*.py break it.
LOCAL = {"local up", "local run", "local status"}
NAMED = [verb for verb, words in COMMANDS.items() if " new" in words]
# These verbs print no result, or, without an object to show or to delete, only a note.
SILENT = {"wait", "stop", "local down", "local reset", "events", "cleanup", "init"}
PRINTING = {VERB_OF[command]: command for command in reversed(ENDING) if VERB_OF[command] not in SILENT}


def list_verbs(code: ExitCode) -> list[str]:
    """Return the verbs that have an exit code according to the page."""
    return [verb for verb, codes in DOCUMENTED.items() if code in codes]


def test_each_verb_with_a_cluster_has_a_command() -> None:
    # `advise` uses the API of Airflow alone: tests/cli/airflow_api/test_advise.py.
    assert set(list_verbs(ExitCode.API_FAILED)) == COMMANDS.keys() | LOCAL | {"advise"}


@pytest.mark.parametrize("verb", DOCUMENTED)
def test_unknown_option_is_a_usage_error(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb.split(), "--no-such-option"]) == ExitCode.INVALID
    assert ExitCode.INVALID in DOCUMENTED[verb]
    assert "--no-such-option" in capsys.readouterr().err


def write_kubeconfig(path: Path, address: str) -> None:
    """Write a kubeconfig with the namespace `jobs`."""
    document = build_kubeconfig(address)
    document["contexts"][0]["context"]["namespace"] = NAMESPACE
    path.write_text(json.dumps(document))


def forbid(_: Asked) -> Answer:
    """Answer as an API server does if the user has no permission at all."""
    return Answer({"kind": "Status", "message": "User a cannot do it", "reason": "Forbidden"}, 403)


@pytest.mark.parametrize("verb", COMMANDS)
def test_rejected_request_is_an_api_failure(
    verb: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(folder / "kubeconfig"))
    with serve(forbid) as address:
        write_kubeconfig(folder / "kubeconfig", address)
        assert main(COMMANDS[verb].split()) == ExitCode.API_FAILED
    captured = capsys.readouterr()
    assert "User a cannot do it" in captured.err + captured.out


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("list", "`spark-operator roles --for cli` prints all"),
        ("delete pi", "`spark-operator doctor` checks them"),
        ("reconcile --namespaces jobs", "`spark-operator roles --for controller` prints all"),
    ],
)
def test_missing_permission_names_the_verb_that_prints_all(
    words: str, advice: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(asked: Asked) -> Answer:
        verb = "list" if asked.path.endswith("s") else "get"
        message = f'it is forbidden: User "a" cannot {verb} resource "sparkapplications"'
        return Answer({"kind": "Status", "message": message, "reason": "Forbidden"}, 403)

    monkeypatch.setenv("KUBECONFIG", str(folder / "kubeconfig"))
    with serve(refuse) as address:
        write_kubeconfig(folder / "kubeconfig", address)
        assert main(words.split()) == ExitCode.API_FAILED
    assert capsys.readouterr().err.count(advice) == 1


@pytest.mark.parametrize("verb", COMMANDS)
def test_unreachable_server_is_an_api_failure(
    verb: str, folder: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(folder / "kubeconfig"))
    write_kubeconfig(folder / "kubeconfig", "http://127.0.0.1:1")
    captured = run_verb(COMMANDS[verb], ExitCode.API_FAILED)
    assert "Traceback" not in captured.err
    assert "127.0.0.1:1" in captured.err + captured.out


@pytest.mark.usefixtures("scripted_cluster", "folder")
@pytest.mark.parametrize("verb", NAMED)
def test_missing_object_is_an_api_failure(verb: str, run_verb: Verbs) -> None:
    assert " new not found in namespace jobs: `spark-operator " in run_verb(COMMANDS[verb], ExitCode.API_FAILED).err


def create_failed(cluster: Cluster) -> None:
    cluster.script = fail
    cluster.create("pi")
    cluster.wait_for_end()


def create_waiting(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    cluster.create("pi")


def create_held(cluster: Cluster) -> None:
    """Create an application that a finalizer keeps from being deleted."""
    cluster.script = stay_submitted
    cluster.create("pi", finalizers=["example.com/hold"])


def create_held_cluster(_: Cluster) -> None:
    manifest = yaml.safe_load(Path("analytics.yaml").read_text())
    manifest["metadata"]["finalizers"] = ["example.com/hold"]
    Path("held.yaml").write_text(yaml.safe_dump(manifest))
    assert main(["cluster", "create", "held.yaml", "--wait"]) == ExitCode.SUCCESS


def fail_later(cluster: Cluster) -> None:
    cluster.script = fail


def wait_later(cluster: Cluster) -> None:
    cluster.script, cluster.cluster_script = stay_submitted, stay_without_workers


def run_later(cluster: Cluster) -> None:
    cluster.script = run_on


# By exit code and verb: a function that prepares the cluster, and the arguments.
RESULTS: dict[tuple[ExitCode, str], tuple[Callable[[Cluster], None], str]] = {
    (ExitCode.APPLICATION_FAILED, "diff"): (create_failed, "diff pi.yaml"),
    (ExitCode.APPLICATION_FAILED, "restart"): (create_failed, "restart pi --wait"),
    (ExitCode.APPLICATION_FAILED, "submit"): (fail_later, "submit pi.yaml --wait"),
    (ExitCode.APPLICATION_FAILED, "wait"): (create_failed, "wait pi"),
    (ExitCode.TIMED_OUT, "cluster create"): (wait_later, "cluster create analytics.yaml --wait --timeout 1s"),
    (ExitCode.TIMED_OUT, "cluster delete"): (create_held_cluster, "cluster delete analytics --wait --timeout 1s"),
    (ExitCode.TIMED_OUT, "delete"): (create_held, "delete pi --wait --timeout 1s"),
    (ExitCode.TIMED_OUT, "restart"): (create_waiting, "restart pi --wait --timeout 1s"),
    (ExitCode.TIMED_OUT, "submit"): (wait_later, "submit pi.yaml --wait --timeout 1s"),
    (ExitCode.BUDGET_EXCEEDED, "submit"): (run_later, "submit pi.yaml --wait --max-core-hours 1e-9"),
    (ExitCode.TIMED_OUT, "wait"): (create_waiting, "wait pi --timeout 1s"),
}
# Elsewhere in tests/cli: test_connect.py, test_local*.py, test_stop.py and test_reconcile_check.py have their codes.
WITH_OWN_TESTS = {"connect", "local run", "local down", "local prepare", "reconcile", "stop"}


@pytest.mark.parametrize("code", [ExitCode.APPLICATION_FAILED, ExitCode.TIMED_OUT, ExitCode.BUDGET_EXCEEDED])
def test_each_verb_with_a_result_has_a_command(code: ExitCode) -> None:
    assert set(list_verbs(code)) - WITH_OWN_TESTS == {verb for found, verb in RESULTS if found == code}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("code", "verb"), RESULTS)
def test_result_is_the_exit_code(scripted_cluster: Cluster, code: ExitCode, verb: str) -> None:
    create, words = RESULTS[code, verb]
    create(scripted_cluster)
    assert main(words.split()) == code


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", list_verbs(ExitCode.INTERRUPTED))
def test_interrupted_verb_ends_with_130(verb: str, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    module = importlib.import_module(MODULES[verb])
    run = module.run

    @functools.wraps(run)
    def interrupt(*_: object, **__: object) -> ExitCode:
        os.kill(os.getpid(), signal.SIGINT)
        return ExitCode.SUCCESS

    monkeypatch.setattr(module, "run", interrupt)
    shown = next(command for command, found in VERB_OF.items() if found == verb)
    assert run_verb(shlex.split(shown), ExitCode.INTERRUPTED).err == "spark-operator: error: interrupted\n"


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Standard output that cannot be written."""
    saved, full = os.dup(1), os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    os.dup2(full, 1)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(full)
        os.close(saved)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", PRINTING)
def test_lost_output_is_a_failure(
    scripted_cluster: Cluster, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    # No operator of the scripted cluster stops the driver of a suspended application.
    monkeypatch.setattr(
        "airflow_provider_spark_operator.cli.applications.suspend.ignores_suspension", lambda *_, **__: False
    )
    command = PRINTING[verb]
    prepare(scripted_cluster, command)
    request.getfixturevalue("full_disk")
    assert main(split(command)) == ExitCode.INFRASTRUCTURE_FAILED
