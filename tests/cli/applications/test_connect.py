"""The verb `connect`, with a script in place of PySpark."""

import json
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.applications import connect
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.compose.connect import SERVER_CLASS, compose_server
from local_kubernetes.api.kinds.kinds import SECRETS
from tests.cli.verbs import Verbs
from tests.cluster import NAMESPACE, Cluster, run_on

SCRIPT = """
import json, os, sys
names = ("SPARK_REMOTE", "SPARK_CONNECT_AUTHENTICATE_TOKEN")
print(json.dumps([*sys.argv[1:], *(os.environ.get(name) for name in names)]))
sys.exit(len(sys.argv) - 3)
"""
# Waits until each of two connections is closed.
CALLER = """
import os, socket
for _ in range(2):
    with socket.create_connection(("localhost", int(os.environ["SPARK_REMOTE"].rpartition(":")[2]))) as connection:
        assert connection.recv(1) == b""
"""


@pytest.fixture
def script(scripted_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A script that prints its arguments and its session. It fails unless it has two arguments."""
    monkeypatch.setattr(connect, "find_missing_packages", list)
    create_server(scripted_cluster, "shared", authenticate=True)
    path = tmp_path / "report.py"
    path.write_text(SCRIPT)
    return str(path)


def create_server(cluster: Cluster, name: str, *, authenticate: bool, token: str = "czNjcjN0") -> None:
    document = {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"mainClass": SERVER_CLASS, "runtimeVersions": {"sparkVersion": "4.3.0"}},
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-connect"}}
    cluster.script = run_on
    cluster.do(lambda: cluster.store.create(SECRETS, NAMESPACE, secret | {"data": {"token": token}}))
    server = compose_server(document, authenticate=authenticate)
    cluster.do(lambda: cluster.store.create(cluster.kind, NAMESPACE, server))
    cluster.wait_for_state("RunningHealthy")


def test_script_gets_arguments_address_and_token(script: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["connect", "shared", "--exec", script, "--", "--day", "1"]) == ExitCode.SUCCESS
    out, err = capfd.readouterr()
    *arguments, address, token = json.loads(out)
    assert (arguments, token) == (["--day", "1"], "s3cr3t")
    assert address.startswith("sc://localhost:")
    assert f"forwarding port 15002 of SparkApplication jobs/shared to {address.removeprefix('sc://')}" in err
    assert "s3cr3t" not in err


def test_server_without_authentication_needs_no_token(
    scripted_cluster: Cluster, script: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONNECT_AUTHENTICATE_TOKEN", "of another server")
    create_server(scripted_cluster, "open", authenticate=False)
    assert main(["connect", "open", "--exec", script, "1", "2"]) == ExitCode.SUCCESS
    assert json.loads(capfd.readouterr().out)[-1] is None


@pytest.mark.parametrize("token", ["", "/w==", "czNjcjN0Cg==", "w6k="], ids=["empty", "binary", "line break", "accent"])
def test_token_that_cannot_be_sent_is_exit_code_2(
    scripted_cluster: Cluster, script: str, token: str, capsys: pytest.CaptureFixture[str]
) -> None:
    create_server(scripted_cluster, "other", authenticate=True, token=token)
    assert main(["connect", "other", "--exec", script]) == ExitCode.INVALID
    cause = "has no usable token: the key token of the Secret other-connect must be printable ASCII text"
    assert f"SparkApplication jobs/other {cause} without line breaks. Replace the Secret" in capsys.readouterr().err


def test_failed_script_is_exit_code_1(script: str) -> None:
    assert main(["connect", "shared", "--exec", script]) == ExitCode.APPLICATION_FAILED


def test_server_that_does_not_listen_yet_is_reported_once(script: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path(script).write_text(CALLER)
    assert main(["connect", "shared", "--exec", script]) == ExitCode.SUCCESS
    assert capfd.readouterr().err.count("error: ") == 1


def test_lost_server_is_exit_code_5(
    scripted_cluster: Cluster, script: str, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    async def lose(*_: object) -> int:
        scripted_cluster.do(lambda: scripted_cluster.resources.delete_pod(NAMESPACE, "shared-0-driver"))
        return 1

    monkeypatch.setattr(connect, "_run", lose)
    error = run_verb(["connect", "shared", "--exec", script], ExitCode.INFRASTRUCTURE_FAILED).err
    assert "was lost: its driver pod shared-0-driver was deleted" in error


def test_shell_has_the_session_of_pyspark(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[str], dict[str, str]]] = []

    async def note(words: list[str], environment: dict[str, str]) -> int:
        seen.append((words, environment))
        return 0

    monkeypatch.setattr(connect, "_run", note)
    assert main(["connect", "shared"]) == ExitCode.SUCCESS
    ((words, environment),) = seen
    assert words[1:] == ["-i", "-q"]
    assert environment["PYTHONSTARTUP"].endswith("pyspark/shell.py")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pi", "--exec", "SCRIPT"], "SparkApplication jobs/pi is not a Spark Connect server"),
        (["shared", "--exec", "missing.py"], "--exec missing.py: the file does not exist"),
        (["shared", "1"], "the arguments are those of a script. Set --exec"),
    ],
)
def test_invalid_use_is_exit_code_2(
    scripted_cluster: Cluster, script: str, words: list[str], message: str, run_verb: Verbs
) -> None:
    scripted_cluster.create("pi")
    error = run_verb(["connect", *(script if word == "SCRIPT" else word for word in words)], ExitCode.INVALID).err
    assert message in error


def test_missing_packages_are_named(script: str, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    monkeypatch.setattr(connect, "find_missing_packages", lambda: ["grpc"])
    error = run_verb(["connect", "shared", "--exec", script], ExitCode.INVALID).err
    assert "grpc not installed. Install airflow-provider-spark-operator[connect]" in error
