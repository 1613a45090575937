"""The verbs that show applications, with a real API server and the local one, and with the permissions of Airflow."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli.base.exit_codes import ExitCode
from airflow_provider_spark_operator.testing.definitions import build_kubeflow_definition
from tests.cli.process import start_command, wait_for_exit
from tests.contract.test_crds import server_with_definitions

from contract.conversation import MERGE_PATCH, Conversation
from contract.documents import DEFINITIONS
from control_plane import Server

__all__ = ["server_with_definitions"]

MANIFEST = Path(__file__).parents[2] / "docs" / "manifests" / "airflow.yaml"
RBAC = "rbac.authorization.k8s.io/v1"
APACHE, KUBEFLOW = "spark.apache.org/v1", "sparkoperator.k8s.io/v1beta2"
ENDED = "2026-01-01T00:01:00Z"


@dataclass(frozen=True)
class Viewer:
    """A user of the command line.

    Attributes:
        conversation: The requests of an administrator.
        home: The home folder of the user, with a kubeconfig.
        is_restricted: Whether the server checks permissions.
    """

    conversation: Conversation
    home: Path
    is_restricted: bool

    async def run(self, *words: str) -> tuple[int | None, str, str]:
        """Run the command line. Return its exit code, stdout and stderr."""
        variables = {"KUBECONFIG": str(self.home / "kubeconfig")}
        async with start_command(*words, home=self.home, variables=variables) as process:
            return await wait_for_exit(process)


@pytest.fixture
async def viewer(server: Server, server_with_definitions: Conversation, tmp_path: Path) -> Viewer:
    """A user with the Role of Airflow, in a namespace with an application of each API group."""
    conversation = server_with_definitions
    if server.token is None:
        pytest.skip("the server of CONTRACT_KUBECONFIG has no token")
    definition = build_kubeflow_definition()
    # Kubernetes protects the groups that end with k8s.io.
    definition["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://github.com/kubeflow/spark-operator"}
    reply = await conversation.ask("POST", DEFINITIONS, definition)
    assert reply.status in (201, 409), reply.body
    await conversation.until(conversation.path("sparkapplications", KUBEFLOW), lambda reply: reply.status == 200)
    await create_applications(conversation)
    is_restricted = server.name == "kubernetes"
    token = await create_user(conversation) if is_restricted else server.token
    write_kubeconfig(tmp_path / "kubeconfig", server, conversation.namespace, token)
    return Viewer(conversation, tmp_path, is_restricted)


async def create_user(conversation: Conversation) -> str:
    """Create a service account with the Role of Airflow, and return a token."""
    await conversation.create(conversation.path("serviceaccounts"), {"metadata": {"name": "airflow"}})
    role = yaml.safe_load(MANIFEST.read_text())
    await conversation.create(conversation.path("roles", RBAC), role)
    binding = {
        "metadata": {"name": "airflow"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role["metadata"]["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": "airflow", "namespace": conversation.namespace}],
    }
    await conversation.create(conversation.path("rolebindings", RBAC), binding)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    reply = await conversation.ask("POST", conversation.path("serviceaccounts/airflow/token"), request)
    assert reply.status == 201, reply.body
    return str(reply.body["status"]["token"])


def write_kubeconfig(path: Path, server: Server, namespace: str, token: str) -> None:
    cluster: dict[str, Any] = {"server": server.url} | ({"insecure-skip-tls-verify": True} if server.tls else {})
    kubeconfig = {
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}],
    }
    path.write_text(json.dumps(kubeconfig))


async def create_applications(conversation: Conversation) -> None:
    """Create a failed application of each API group, with the statuses that their operators write."""
    states = ("Submitted", "DriverRequested", "RunningHealthy", "Failed", "ResourceReleased")
    entries = [
        {"currentStateSummary": state, "message": f"{state}.", "lastTransitionTime": f"2026-01-01T00:00:{number:02}Z"}
        for number, state in enumerate(states)
    ]
    spec: dict[str, Any] = {"pyFiles": "local:///pi.py", "runtimeVersions": {"sparkVersion": "4.3.0"}}
    status: dict[str, Any] = {
        "currentState": entries[-1],
        "stateTransitionHistory": {str(number): entry for number, entry in enumerate(entries)},
        "currentAttemptSummary": {"attemptInfo": {"id": 0}},
    }
    await create(conversation, APACHE, "pi", spec, status)
    spec = {
        "type": "Python",
        "sparkVersion": "4.0.0",
        "mainApplicationFile": "local:///pi.py",
        "driver": {},
        "executor": {"instances": 3},
    }
    status = {
        "applicationState": {
            "state": "FAILED",
            "errorMessage": "driver container failed with ExitCode: 1, Reason: Error",
        },
        "lastSubmissionAttemptTime": "2026-01-01T00:00:00Z",
        "terminationTime": ENDED,
        "executionAttempts": 1,
        "executorState": {"tau-1-exec-1": "COMPLETED"},
    }
    await create(conversation, KUBEFLOW, "tau", spec, status)


async def create(
    conversation: Conversation, api_version: str, name: str, spec: Mapping[str, Any], status: Mapping[str, Any]
) -> None:
    document = {"apiVersion": api_version, "kind": "SparkApplication", "metadata": {"name": name}, "spec": spec}
    path = conversation.path("sparkapplications", api_version)
    await conversation.create(path, document)
    reply = await conversation.ask("PATCH", f"{path}/{name}/status", {"status": status}, content_type=MERGE_PATCH)
    assert reply.status == 200, reply.body


async def test_applications_of_both_groups_are_shown_with_the_permissions_of_airflow(viewer: Viewer) -> None:
    code, out, err = await viewer.run("list", "-o", "wide")
    assert (code, err) == (ExitCode.SUCCESS, "")
    names = [line.split()[0] for line in out.splitlines()[1:]]
    assert names == ["pi", "tau"]
    for name, state in (("pi", "ResourceReleased"), ("tau", "FAILED")):
        code, out, err = await viewer.run("status", name)
        assert (code, err) == (ExitCode.SUCCESS, "")
        assert out.startswith(f"{name}: {state}, Failed (")
        code, out, err = await viewer.run("describe", name)
        assert (code, err) == (ExitCode.SUCCESS, "")
        assert re.search(rf"^State: +{state}$", out, re.MULTILINE)
        code, out, err = await viewer.run("timeline", name)
        assert (code, err) == (ExitCode.SUCCESS, "")
        assert "attempt 1" in out
        code, out, err = await viewer.run("events", name)
        assert (code, "no events found" in err) == (ExitCode.SUCCESS, True)
    code, out, err = await viewer.run("top")
    assert (code, out) == (ExitCode.SUCCESS, "")


async def test_missing_permission_is_named(viewer: Viewer) -> None:
    if not viewer.is_restricted:
        pytest.skip("the local API server does not check permissions")
    code, out, err = await viewer.run("list", "-A")
    assert (code, out) == (ExitCode.API_FAILED, "")
    assert 'grant the verb "list" on sparkapplications.spark.apache.org cluster-wide' in err
    assert 'grant the verb "list" on sparkapplications.sparkoperator.k8s.io cluster-wide' in err

    path = viewer.conversation.path("roles/airflow-spark-operator", RBAC)
    rules = [{"apiGroups": ["spark.apache.org"], "resources": ["sparkapplications"], "verbs": ["get", "list"]}]
    reply = await viewer.conversation.ask("PATCH", path, {"rules": rules}, content_type=MERGE_PATCH)
    assert reply.status == 200, reply.body
    namespace = viewer.conversation.namespace
    code, out, err = await viewer.run("describe", "pi")
    assert code == ExitCode.API_FAILED
    assert re.search("^State: +ResourceReleased$", out, re.MULTILINE)
    for resource in ("pods", "events"):
        assert f'grant the verb "list" on {resource} in namespace {namespace}' in err
    code, out, err = await viewer.run("list")
    assert code == ExitCode.API_FAILED
    assert out.splitlines()[1].startswith("pi ")
    assert 'grant the verb "list" on sparkapplications.sparkoperator.k8s.io' in err
    code, out, err = await viewer.run("events", "pi")
    assert (code, out) == (ExitCode.API_FAILED, "")
    assert err.count("events") >= 1
