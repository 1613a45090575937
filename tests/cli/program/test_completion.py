"""Completion: the words that a shell offers, and the script of bash in a real bash."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.program import kubectl_completion
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, fail, run_on, stay_submitted
from tests.kube.scripted_api import build_kubeconfig

VERSIONS = ("sparkVersion", "scalaVersion", "jdkVersion")


def complete(run_verb: Verbs, *words: str) -> list[str]:
    captured = run_verb(["complete", "--", *words])
    assert captured.err == ""
    return [line.partition("\t")[0] for line in captured.out.splitlines()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ren"], ["render"]),
        (["compl"], ["completion"]),
        (["local", ""], ["up", "run", "status", "down", "reset", "images", "prepare"]),
        (["reconcile", "--le"], ["--lease"]),
        (["reconcile", "--log-format", "j"], ["json"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["crds", "--kind", ""], ["SparkApplication", "SparkCluster"]),
        (["fly", "x"], []),
        (["--v"], ["--version"]),
        (["local", "--h"], ["--help"]),
        (["explain", "sparkapp.spec.runtimeVersions."], [f"sparkapp.spec.runtimeVersions.{name}" for name in VERSIONS]),
        (["explain", "sparkc"], ["sparkcluster"]),
        (["explain", "spec.driverS"], ["spec.driverServiceIngressList", "spec.driverSpec"]),
        (["explain", "nope.x"], []),
        (["explain", "--kubeflow", "sparkapp.spec.executor.inst"], ["sparkapp.spec.executor.instances"]),
        (["submit", "a.yaml", "--set", "spec.configMapSpecs[0].na"], ["spec.configMapSpecs[0].name"]),
        (["submit", "a.yaml", "--set=spec.su"], ["--set=spec.suspend"]),
        (["submit", "a.py", "--restart-policy", "A"], ["Always"]),
        (["submit", "a.py", "--image-pull-policy", ""], ["Always", "IfNotPresent", "Never"]),
        (["help", "cluster", "sc"], ["scale"]),
        (["help", "local", "r"], ["reset", "run"]),
        (["help", "e"], ["events", "explain", "exit-codes"]),
        (["help", "list", ""], []),
        (["list", "-o=js"], []),
        (["list", "--output=js"], ["--output=json"]),
        (["list", "--output", "=", "js"], ["json"]),
        (["reconcile", "--log-format", "="], ["json", "text"]),
        (["list", "--selector", ""], []),
        (["submit", "a.yaml", "--set", "b", "=", "c", "--nam"], ["--name", "--namespace"]),
        (["validate", ""], [":files"]),
        (["submit", "job.py", "--", "in"], [":files"]),
        (["list", "--kubeconfig=con"], [":files"]),
        (["local", "down", "--home", ""], [":folders"]),
        (["timeline", "pi", "--svg", "p"], [":files"]),
        (["delete", "--al"], ["--all"]),
        (["delete", "--all", "--al"], []),
        (["logs", "pi", "--executor", ""], ["all"]),
    ],
    ids=" ".join,
)
def test_words_that_can_follow_are_completed(words: list[str], expected: list[str], run_verb: Verbs) -> None:
    assert sorted(complete(run_verb, *words)) == sorted(expected)


def test_help_option_is_described_as_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for group in ([], ["list"], ["local"]):
        main(["complete", "--", *group, "--hel"])
        assert capsys.readouterr().out == "--help\tshow this help\n"


def test_names_of_the_cluster_are_completed(
    scripted_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    assert scripted_cluster.applications() == []
    assert complete(run_verb, "reconcile", "--context", "") == ["test"]
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    path = str(tmp_path / "kubeconfig")
    assert complete(run_verb, "reconcile", "--kubeconfig", path, "--context", "t") == ["test"]
    assert complete(run_verb, "reconcile", "--context", "") == []


@pytest.mark.parametrize(
    ("words", "others"),
    [(["wait", "pi", "--for"], set()), (["list", "--state"], {"waiting", "ended", "failed"})],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_states_of_all_dialects_are_completed(words: list[str], others: set[str], run_verb: Verbs) -> None:
    states = complete(run_verb, *words, "")
    assert {"RunningHealthy", "COMPLETED", *others} <= set(states)
    assert len({state.lower() for state in states}) == len(states)


def test_only_final_states_are_completed_for_cleanup(run_verb: Verbs) -> None:
    states = complete(run_verb, "cleanup", "--older-than", "7d", "--state", "")
    assert states == ["succeeded", "failed", "COMPLETED", "ResourceReleased", "TerminatedWithoutReleaseResources"]


@pytest.mark.parametrize("verb", ["describe", "delete", "restart", "top"])
def test_applications_of_both_api_groups_are_completed(verb: str, kubeflow_cluster: Cluster, run_verb: Verbs) -> None:
    kubeflow_cluster.script = stay_submitted
    for name in ("old-one", "old-two", "other"):
        kubeflow_cluster.create(name)
    assert complete(run_verb, verb, "old") == ["old-one", "old-two"]


def test_names_of_applications_are_described(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = fail
    scripted_cluster.create("old")
    scripted_cluster.wait_for_end()
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("new")
    lines = run_verb(["complete", "--", "describe", ""]).out
    assert re.search(r"^old\tFailed, [\dm]+s, [\dm]+s ago$", lines, re.MULTILINE)
    assert re.search(r"^new\tSubmitted, [\dm]+s ago$", lines, re.MULTILINE)


def test_name_that_is_already_on_the_command_line_is_not_completed_again(
    scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    scripted_cluster.script = stay_submitted
    for name in ("one", "two"):
        scripted_cluster.create(name)
    assert complete(run_verb, "delete", "one", "") == ["two"]


def test_type_of_a_name_is_kept(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("load")
    assert complete(run_verb, "delete", "sparkapplication/l") == ["sparkapplication/load"]


def test_only_as_many_names_are_completed_as_the_verb_takes(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("load")
    assert complete(run_verb, "describe", "load", "") == []
    assert complete(run_verb, "describe", "--context", "test", "") == ["load"]


def test_executors_of_the_application_are_completed(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    assert complete(run_verb, "logs", "pi", "--executor", "") == ["all", "0", "1"]


@pytest.mark.parametrize("is_listening", [True, False])
@pytest.mark.parametrize("words", [["describe", ""], ["list", "-n", ""], ["cluster", "scale", ""]], ids=" ".join)
def test_server_that_does_not_answer_completes_nothing(
    words: list[str],
    is_listening: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run_verb: Verbs,
) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if is_listening:  # the kernel accepts connections, and nothing answers
            server.listen()
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(build_kubeconfig(f"http://127.0.0.1:{server.getsockname()[1]}")))
        monkeypatch.setenv("KUBECONFIG", str(path))
        assert complete(run_verb, *words) == []


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["local", "im"], ["images\tlist the images that the cluster can run", ":4"]),
        (["validate", "pi"], [":0"]),
        (["describe", "pi", ""], [":4"]),
    ],
    ids=["verbs", "files", "nothing"],
)
def test_kubectl_gets_candidates_and_a_directive(
    words: list[str], lines: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-spark", *words])
    assert kubectl_completion.main() == ExitCode.SUCCESS
    assert capsys.readouterr().out.splitlines() == lines


def test_script_of_bash_completes_in_bash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == ExitCode.SUCCESS
    program = tmp_path / "spark-operator"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m airflow_provider_spark_operator.cli "$@"\n')
    program.chmod(0o755)
    script = (
        f"{capsys.readouterr().out}\nCOMP_WORDS=(spark-operator local i)\nCOMP_CWORD=2\n"
        'complete -p spark-operator\n_spark_operator\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    found = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    )
    assert found.stdout == "complete -F _spark_operator spark-operator\nimages\n"
