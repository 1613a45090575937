"""The verbs for applications as processes, with a real API server and with the local one.

The real API server grants no more than the Role of docs/manifests/airflow.yaml.
"""

import json
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.process import run_command
from tests.contract.test_crds import server_with_definitions
from tests.contract.test_hook import write_state

from contract.conversation import Conversation
from control_plane import Server

__all__ = ["server_with_definitions"]

ROLE = Path(__file__).parents[2] / "docs" / "manifests" / "airflow.yaml"
RBAC = "rbac.authorization.k8s.io/v1"
MANIFEST: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "metadata": {"name": "pi", "labels": {"team": "a"}},
    "spec": {"pyFiles": "local:///opt/pi.py", "runtimeVersions": {"sparkVersion": "4.3.0"}},
}
MANIFEST["spec"]["sparkConf"] = {"spark.kubernetes.container.image": "spark:4.3.0"}
NAME = "sparkapplication.spark.apache.org/pi"

Result: TypeAlias = tuple[int | None, str, str]
Run: TypeAlias = Callable[..., Coroutine[Any, Any, Result]]


async def request_token(conversation: Conversation) -> str:
    """Return a token of the default service account, which has no permissions yet."""
    path = conversation.path("serviceaccounts/default/token")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    reply = await conversation.ask("POST", path, request)
    assert reply.status == 201, reply.body
    return str(reply.body["status"]["token"])


async def grant(conversation: Conversation) -> None:
    """Bind the Role of the documentation to the default service account."""
    role = yaml.safe_load(ROLE.read_text())
    await conversation.create(conversation.path("roles", RBAC), role)
    account = {"kind": "ServiceAccount", "name": "default", "namespace": conversation.namespace}
    reference = {"apiGroup": RBAC.partition("/")[0], "kind": "Role", "name": role["metadata"]["name"]}
    binding = {"metadata": {"name": "airflow"}, "roleRef": reference, "subjects": [account]}
    await conversation.create(conversation.path("rolebindings", RBAC), binding)


@pytest.fixture
async def run(server: Server, server_with_definitions: Conversation, tmp_path: Path) -> Run:
    """Runs a command, and returns its exit code, stdout and stderr."""
    is_real = server.name == "kubernetes"
    token = await request_token(server_with_definitions) if is_real else server.token
    cluster = {"server": server.url, **({"insecure-skip-tls-verify": True} if is_real else {})}
    context = {"cluster": "test", "user": "test", "namespace": server_with_definitions.namespace}
    kubeconfig = {
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": context}],
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
    (tmp_path / "pi.yaml").write_text(yaml.safe_dump(MANIFEST))

    return partial(run_command, home=tmp_path, variables={"KUBECONFIG": str(tmp_path / "kubeconfig")})


async def test_application_is_managed_from_its_submission_to_its_deletion(
    server: Server, run: Run, server_with_definitions: Conversation, tmp_path: Path
) -> None:
    if server.name == "kubernetes":
        await grant(server_with_definitions)
    manifest = str(tmp_path / "pi.yaml")
    assert await run("submit", manifest, "--executor-instances", "2") == (ExitCode.SUCCESS, f"{NAME} created\n", "")
    code, _, err = await run("submit", manifest)
    assert (code, "already exists" in err) == (ExitCode.API_FAILED, True)
    code, _, err = await run("wait", "pi", "--timeout", "1s")
    assert (code, "did not end within 1s" in err) == (ExitCode.TIMED_OUT, True)
    assert await run("suspend", "pi") == (ExitCode.SUCCESS, f"{NAME} suspended\n", "")
    assert await run("resume", "pi") == (ExitCode.SUCCESS, f"{NAME} resumed\n", "")
    code, _, err = await run("logs", "pi")
    assert (code, "has no driver pod of attempt 1" in err) == (ExitCode.API_FAILED, True)
    await write_state(server_with_definitions, "pi", "Submitted", "Succeeded", "ResourceReleased")
    assert (await run("wait", "pi"))[0] == ExitCode.SUCCESS
    assert await run("restart", "pi") == (ExitCode.SUCCESS, f"{NAME} restarted\n", "")
    code, out, _ = await run("cleanup", "--older-than", "0s", "--dry-run")
    assert (code, out) == (ExitCode.SUCCESS, "")
    await write_state(server_with_definitions, "pi", "Submitted", "Succeeded", "ResourceReleased")
    code, out, _ = await run("cleanup", "--older-than", "0s")
    assert (code, out.startswith(f"{NAME} deleted (Succeeded, ended ")) == (ExitCode.SUCCESS, True)
    assert (await run("submit", manifest))[0] == ExitCode.SUCCESS
    assert await run("delete", "-l", "team=a", "--wait") == (ExitCode.SUCCESS, f"{NAME} deleted\n", "")
    code, _, err = await run("delete", "-l", "team=a")
    assert (code, "has the labels team=a" in err) == (ExitCode.SUCCESS, True)


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        (["submit", "{manifest}"], "create"),
        (["wait", "pi"], "get"),
        (["logs", "pi"], "get"),
        (["delete", "pi"], "get"),
        (["delete", "-l", "team=a"], "list"),
        (["cleanup", "--older-than", "7d"], "list"),
        (["restart", "pi"], "get"),
        (["suspend", "pi"], "get"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
async def test_missing_permission_is_named(
    server: Server, run: Run, server_with_definitions: Conversation, tmp_path: Path, words: list[str], verb: str
) -> None:
    if server.name != "kubernetes":
        pytest.skip("the local API server grants everything")
    code, out, err = await run(*[word.format(manifest=tmp_path / "pi.yaml") for word in words])
    assert (code, out) == (ExitCode.API_FAILED, "")
    namespace = server_with_definitions.namespace
    assert f'grant the verb "{verb}" on sparkapplications.spark.apache.org in namespace {namespace}' in err
