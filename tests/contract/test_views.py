"""The verbs that show applications, with a real API server and the local one, and with the permissions of Airflow."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.contract.access import RBAC, User, both_groups, create_user, use_administrator
from tests.contract.test_crds import server_with_definitions

from contract.conversation import MERGE_PATCH, Conversation
from control_plane import Server

__all__ = ["both_groups", "server_with_definitions"]

MANIFEST = Path(__file__).parents[2] / "docs" / "manifests" / "airflow.yaml"
APACHE, KUBEFLOW = "spark.apache.org/v1", "sparkoperator.k8s.io/v1beta2"
ENDED = "2026-01-01T00:01:00Z"


@pytest.fixture
async def viewer(server: Server, both_groups: Conversation, tmp_path: Path) -> User:
    """A user with the Role of Airflow, in a namespace with an application of each API group."""
    await create_applications(both_groups)
    if server.name == "kubernetes":
        return await create_user(server, both_groups, tmp_path, yaml.safe_load(MANIFEST.read_text())["rules"])
    return use_administrator(server, both_groups, tmp_path)


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


async def test_applications_of_both_groups_are_shown_with_the_permissions_of_airflow(viewer: User) -> None:
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
        # The status of tau names its executor. No pod is left that shows those of pi.
        assert (code, "the executors are not known" in err) == (ExitCode.SUCCESS, name == "pi")
        assert "attempt 1" in out
        code, out, err = await viewer.run("events", name)
        assert (code, "no events found" in err) == (ExitCode.SUCCESS, True)
    code, out, err = await viewer.run("top")
    assert (code, out) == (ExitCode.SUCCESS, "")


async def test_missing_permission_is_named(viewer: User) -> None:
    if not viewer.is_restricted:
        pytest.skip("the local API server does not check permissions")
    code, out, err = await viewer.run("list", "-A")
    assert (code, out) == (ExitCode.API_FAILED, "")
    assert 'grant the verb "list" on sparkapplications.spark.apache.org cluster-wide' in err
    assert 'grant the verb "list" on sparkapplications.sparkoperator.k8s.io cluster-wide' in err

    path = viewer.conversation.path("roles/user", RBAC)
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
