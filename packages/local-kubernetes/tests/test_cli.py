"""`local-kubernetes up` as users run it: from its ready line, with kubectl, to a signal."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from local_kubernetes.cli import main
from local_kubernetes.command import ExitCode

DEADLINE_SECONDS = 60
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "it"},
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "busybox", "command": ["sh", "-c", "echo hello from a pod"]}],
    },
}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"k": "v"}}
KUBECTL = os.environ.get("KUBECTL") or shutil.which("kubectl")
needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl: set KUBECTL")


@contextmanager
def run_up(folder: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run `local-kubernetes up` with its home in a directory until it is ready; kill it at the end if it still runs."""
    command = [sys.executable, "-m", "local_kubernetes", "up", "--home", str(folder / "home"), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("ready kubeconfig="), line + process.communicate()[1]
            yield process
        finally:
            process.kill()


def run_kubectl(kubeconfig: Path, *words: str, given: object = None) -> str:
    command = [str(KUBECTL), f"--kubeconfig={kubeconfig}", f"--cache-dir={kubeconfig.parent / 'cache'}", *words]
    found = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    assert found.returncode == 0, found.stderr
    return found.stdout


@needs_kubectl
def test_kubectl_gets_applies_logs_and_deletes_a_pod(tmp_path: Path) -> None:
    copy = tmp_path / "kubeconfig"
    with run_up(tmp_path, "--kubeconfig", str(copy)):
        assert run_kubectl(copy, "apply", "-f", "-", given=POD) == "pod/it created\n"
        run_kubectl(copy, "wait", "pod/it", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=30s")
        assert run_kubectl(copy, "get", "pod", "it", "--no-headers").split()[:3] == ["it", "0/1", "Completed"]
        assert run_kubectl(copy, "logs", "it") == "hello from a pod\n"
        assert run_kubectl(copy, "delete", "pod", "it").startswith('pod "it" deleted')
        assert run_kubectl(copy, "get", "pods", "-o", "name") == ""


@needs_kubectl
def test_kept_objects_are_restored_at_the_next_start(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "home" / "kubeconfig"
    with run_up(tmp_path, "--keep") as process:
        run_kubectl(kubeconfig, "apply", "-f", "-", given=CONFIG_MAP)
        process.terminate()
        process.wait(DEADLINE_SECONDS)
    with run_up(tmp_path, "--keep", "--repair"):
        assert run_kubectl(kubeconfig, "get", "configmap", "kept", "-o", "jsonpath={.data.k}") == "v"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, ExitCode.SUCCESS), (signal.SIGINT, ExitCode.INTERRUPTED)]
)
def test_a_signal_ends_the_cluster_and_its_kubeconfig(tmp_path: Path, number: signal.Signals, code: ExitCode) -> None:
    copy = tmp_path / "kubeconfig"
    with run_up(tmp_path, "--kubeconfig", str(copy)) as process:
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        process.send_signal(number)
        assert process.wait(DEADLINE_SECONDS) == code
    assert not copy.exists()
    assert not (tmp_path / "home" / "kubeconfig").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--kubeconfig", "{folder}/theirs"], "exists and was not written by this command"),
        (["--kubeconfig", "{folder}/missing/kubeconfig"], "does not exist. Choose an existing folder"),
        (["--repair"], "--repair: requires --keep"),
        (["--home", "{folder}"], "is not empty and was not created by a local cluster"),
    ],
)
def test_invalid_arguments_are_reported_in_one_sentence(
    tmp_path: Path, words: Sequence[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs").write_text("apiVersion: v1")

    code = main(["up", "--home", str(tmp_path / "home"), *(word.format(folder=tmp_path) for word in words)])

    error = capsys.readouterr().err
    assert code == ExitCode.INVALID
    assert error.startswith("local-kubernetes: error: ")
    assert problem in error
    assert error.count("\n") == 1


def test_kubeconfig_of_a_running_cluster_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "kubeconfig"
    with run_up(tmp_path, "--kubeconfig", str(copy)):
        before = copy.read_text()
        server = yaml.safe_load(before)["clusters"][0]["cluster"]["server"]

        code = main(["up", "--home", str(tmp_path / "second"), "--kubeconfig", str(copy)])

        assert (code, copy.read_text()) == (ExitCode.INVALID, before)
    assert capsys.readouterr().err == (
        f"local-kubernetes: error: --kubeconfig {copy}: belongs to the local cluster that runs at {server}. "
        "End that cluster, or choose another file\n"
    )
    assert not (tmp_path / "second").exists()


def test_kubeconfig_of_a_killed_cluster_is_replaced(tmp_path: Path) -> None:
    copy = tmp_path / "kubeconfig"
    with run_up(tmp_path, "--kubeconfig", str(copy)) as process:
        process.kill()
        process.wait(DEADLINE_SECONDS)
        before = copy.read_text()
    with run_up(tmp_path, "--kubeconfig", str(copy)):
        assert copy.read_text() != before


def test_cluster_does_not_delete_the_kubeconfig_of_another_cluster(tmp_path: Path) -> None:
    copy = tmp_path / "kubeconfig"
    (tmp_path / "second").mkdir()
    with run_up(tmp_path, "--kubeconfig", str(copy)) as first:
        copy.unlink()
        with run_up(tmp_path / "second", "--kubeconfig", str(copy)) as second:
            first.terminate()
            assert first.wait(DEADLINE_SECONDS) == ExitCode.SUCCESS
            assert copy.read_text().endswith((tmp_path / "second" / "home" / "kubeconfig").read_text())
            second.terminate()
            assert second.wait(DEADLINE_SECONDS) == ExitCode.SUCCESS
        assert not copy.exists()


def test_edited_kubeconfig_is_deleted_at_the_end(tmp_path: Path) -> None:
    copy = tmp_path / "kubeconfig"
    with run_up(tmp_path, "--kubeconfig", str(copy)) as process:
        copy.write_text("apiVersion: v1")  # as `kubectl config set-context` rewrites the file
        process.terminate()
        assert process.wait(DEADLINE_SECONDS) == ExitCode.SUCCESS
    assert not copy.exists()


@pytest.mark.parametrize("option", ["--home", "--kubeconfig"])
def test_an_empty_path_is_a_usage_error(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["up", option, ""])

    assert stop.value.code == ExitCode.INVALID
    assert f"argument {option}: must not be empty" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_full_standard_output_is_reported_in_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "local_kubernetes", "up", "--home", str(tmp_path / "home")]
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_SECONDS)

    assert run.returncode == ExitCode.INFRASTRUCTURE_FAILED
    assert run.stderr == "local-kubernetes: error: could not write to standard output: No space left on device\n"


def test_an_unknown_runtime_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["up", "--image", "*/tool=docker"])

    assert stop.value.code == ExitCode.INVALID
    assert "with one of the runtimes process" in capsys.readouterr().err


def test_a_second_cluster_in_the_same_home_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with run_up(tmp_path):
        assert main(["up", "--home", str(tmp_path / "home")]) == ExitCode.INFRASTRUCTURE_FAILED

    assert "another local cluster runs in" in capsys.readouterr().err
