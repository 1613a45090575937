"""`spark-operator doctor` on a real API server and on the local one."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.process import run_command
from tests.contract.test_crds import server_with_definitions

from contract.conversation import Conversation
from control_plane import Server, build_kubeconfig

__all__ = ["server_with_definitions"]

MANIFESTS = Path(__file__).parents[2] / "docs" / "manifests"
RBAC = "rbac.authorization.k8s.io/v1"


async def diagnose(server: Server, namespace: str, token: str, folder: Path) -> tuple[int | None, dict[str, Any]]:
    """Run the verb with a token. Return the exit code, and each check by its name."""
    document = build_kubeconfig(server)
    document["users"][0]["user"]["token"] = token
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(document))
    words = ("doctor", "--kubeconfig", str(kubeconfig), "-n", namespace, "-o", "json")
    code, out, err = await run_command(*words, home=folder)
    assert out, err
    return code, {check["check"]: check for check in json.loads(out)["checks"]}


async def create_workload(conversation: Conversation) -> None:
    """Create what docs/manifests/workload.yaml contains, and an application that its operator has started."""
    plurals = {"ServiceAccount": "serviceaccounts", "Role": "roles", "RoleBinding": "rolebindings"}
    for document in yaml.safe_load_all((MANIFESTS / "workload.yaml").read_text()):
        path = conversation.path(plurals[document["kind"]], document["apiVersion"])
        await conversation.create(path, document)


def require_token(server: Server) -> str:
    """Return the token of the administrator."""
    if server.token is None:
        pytest.skip("the server of CONTRACT_KUBECONFIG has no token")
    return server.token


async def test_administrator_of_a_prepared_namespace_passes(
    server: Server, server_with_definitions: Conversation, tmp_path: Path
) -> None:
    token, namespace = require_token(server), server_with_definitions.namespace
    if server.name == "kubernetes":
        await create_workload(server_with_definitions)
    else:  # without RBAC
        path = server_with_definitions.path("serviceaccounts")
        await server_with_definitions.create(path, {"metadata": {"name": "spark"}})
    code, checks = await diagnose(server, namespace, token, tmp_path)
    assert code == ExitCode.SUCCESS, checks
    assert checks["service account spark of drivers"]["status"] == "passed"
    assert checks["permissions of the service account spark of drivers"]["status"] == "passed"


async def test_drivers_without_a_role_lack_permissions(
    server: Server, server_with_definitions: Conversation, tmp_path: Path
) -> None:
    token, namespace = require_token(server), server_with_definitions.namespace
    if server.name != "kubernetes":
        pytest.skip("the local server permits everything")
    await server_with_definitions.create(
        server_with_definitions.path("serviceaccounts"), {"metadata": {"name": "spark"}}
    )
    code, checks = await diagnose(server, namespace, token, tmp_path)
    assert code == ExitCode.INFRASTRUCTURE_FAILED
    assert checks["permissions of the service account spark of drivers"]["result"].startswith(
        "missing: get, list, watch, create"
    )


async def create_user(server: Server, conversation: Conversation, *names: str) -> str:
    """Create a service account with documented roles. Return its token."""
    require_token(server)
    if server.name != "kubernetes":
        pytest.skip("the local server has no service account tokens")
    await conversation.create(conversation.path("serviceaccounts"), {"metadata": {"name": "user"}})
    for name in names:
        role = yaml.safe_load((MANIFESTS / f"{name}.yaml").read_text())
        await conversation.create(conversation.path("roles", RBAC), role)
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC.partition("/")[0], "kind": "Role", "name": role["metadata"]["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": "user", "namespace": conversation.namespace}],
        }
        await conversation.create(conversation.path("rolebindings", RBAC), binding)
    reply = await conversation.ask("POST", f"{conversation.path('serviceaccounts')}/user/token", {"spec": {}})
    assert reply.status == 201, reply.body
    return str(reply.body["status"]["token"])


def list_missing(checks: dict[str, Any]) -> set[str]:
    """Return the permissions that the skipped checks need, and check that no check was skipped for another reason."""
    skipped = {check["result"] for check in checks.values() if check["status"] == "skipped"}
    needed = {result for result in skipped if result.startswith("you need ")}
    assert skipped - needed <= {"the kind is not installed"}
    return needed


async def test_documented_roles_of_the_command_line_leave_out_only_the_whole_cluster(
    server: Server, server_with_definitions: Conversation, tmp_path: Path
) -> None:
    token = await create_user(server, server_with_definitions, "airflow", "command-line")
    await create_workload(server_with_definitions)
    code, checks = await diagnose(server, server_with_definitions.namespace, token, tmp_path)
    assert code == ExitCode.SUCCESS, checks
    assert list_missing(checks) == {
        "you need list on pods cluster-wide",
        "you need list on services in namespace kube-system",
    }


async def test_user_without_a_role_is_named_in_the_command_that_binds_it(
    server: Server, server_with_definitions: Conversation, tmp_path: Path
) -> None:
    token, namespace = await create_user(server, server_with_definitions), server_with_definitions.namespace
    code, checks = await diagnose(server, namespace, token, tmp_path)
    assert code == ExitCode.API_FAILED
    fix = checks[f"permissions in namespace {namespace}"]["fix"]
    assert fix.endswith(f"--role airflow-spark-operator --serviceaccount {namespace}:user`")


async def test_documented_role_of_airflow_is_enough(
    server: Server, server_with_definitions: Conversation, tmp_path: Path
) -> None:
    conversation = server_with_definitions
    token = await create_user(server, conversation, "airflow")
    code, checks = await diagnose(server, conversation.namespace, token, tmp_path)
    assert code == ExitCode.SUCCESS, checks
    needed = list_missing(checks)
    assert f"you need get on serviceaccounts in namespace {conversation.namespace}" in needed
    assert f"you need list on resourcequotas in namespace {conversation.namespace}" in needed
    assert "you need list on services in namespace kube-system" in needed
