"""Each verb with exactly the permissions of its row in docs/reference/permissions.md, on both API servers."""

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.program.catalogue import VERBS, Section
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_STOP
from tests.cli.applications.test_forward import fetch, find_address
from tests.cli.process import read_line, start_command, wait_for_exit
from tests.contract.access import Permission, User, both_groups, create_user, use_administrator
from tests.contract.test_crds import server_with_definitions

from contract.conversation import MERGE_PATCH, Conversation
from control_plane import Server

__all__ = ["both_groups", "server_with_definitions"]

DOCS = Path(__file__).parents[2] / "docs"
GROUP = "spark.apache.org/v1"
SPEC: dict[str, Any] = {
    "pyFiles": "local:///pi.py",
    "runtimeVersions": {"sparkVersion": "4.3.0"},
    "sparkConf": {"spark.kubernetes.container.image": "spark:4.3.0"},
}
APPLICATION = {"apiVersion": GROUP, "kind": "SparkApplication", "spec": SPEC}
CLUSTER = {
    "apiVersion": GROUP,
    "kind": "SparkCluster",
    "spec": {
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "clusterTolerations": {"instanceConfig": {"initWorkers": 1, "minWorkers": 1, "maxWorkers": 1}},
        "sparkConf": {"spark.kubernetes.container.image": "spark:4.3.0"},
    },
}
# The arguments of each verb, and its exit code with all permissions. The applications `run` and `stoppable` run,
# `waiting` has no driver yet, `old` has ended, and `held` is suspended. `analytics` is a cluster with workers.
COMMANDS: dict[str, tuple[Sequence[str], ExitCode]] = {
    "list": (["list"], ExitCode.SUCCESS),
    "status": (["status", "run"], ExitCode.SUCCESS),
    "describe": (["describe", "run"], ExitCode.SUCCESS),
    "compare": (["compare", "run", "run"], ExitCode.SUCCESS),
    "events": (["events", "run"], ExitCode.SUCCESS),
    "timeline": (["timeline", "run"], ExitCode.SUCCESS),
    "top": (["top"], ExitCode.SUCCESS),
    "report": (["report"], ExitCode.SUCCESS),
    "wait": (["wait", "run", "--timeout", "1s"], ExitCode.TIMED_OUT),
    "logs": (["logs", "run"], ExitCode.SUCCESS),
    "submit": (["submit", "new.yaml"], ExitCode.SUCCESS),
    "delete": (["delete", "run"], ExitCode.SUCCESS),
    "stop": (["stop", "stoppable", "--timeout", "1s", "--deletion-timeout", "1s"], ExitCode.TIMED_OUT),
    "suspend": (["suspend", "waiting"], ExitCode.SUCCESS),
    "resume": (["resume", "held"], ExitCode.SUCCESS),
    "restart": (["restart", "old"], ExitCode.SUCCESS),
    "cleanup": (["cleanup", "--older-than", "0s"], ExitCode.SUCCESS),
    "diff": (["diff", "run.yaml"], ExitCode.CHECK_FAILED),
    "cluster create": (["cluster", "create", "other.yaml"], ExitCode.SUCCESS),
    "cluster list": (["cluster", "list"], ExitCode.SUCCESS),
    "cluster status": (["cluster", "status", "analytics"], ExitCode.SUCCESS),
    "cluster scale": (["cluster", "scale", "analytics", "3"], ExitCode.SUCCESS),
    "cluster delete": (["cluster", "delete", "analytics"], ExitCode.SUCCESS),
}
# `doctor` and `reconcile` have tests with their roles elsewhere; `forward` and `cluster forward` below; `connect` needs
# a Spark Connect server.
OTHERS = {"doctor", "reconcile", "forward", "connect", "cluster forward"}


@dataclass(frozen=True)
class Row:
    """A row of the table of permissions."""

    needed: tuple[Permission, ...]
    optional: tuple[Permission, ...]


def read_table() -> dict[str, Row]:
    """Return the rows of docs/reference/permissions.md by verb."""
    rows = {}
    for line in (DOCS / "reference" / "permissions.md").read_text().splitlines():
        if match := re.match(r"\| `([a-z ]+)` \|([^|]*)\|([^|]*)\|", line):
            rows[match[1]] = Row(*(_read_permissions(cell) for cell in match.groups()[1:]))
    return rows


def _read_permissions(cell: str) -> tuple[Permission, ...]:
    return tuple(Permission(verb, resource) for verb, resource in re.findall(r"`([a-z]+) ([a-z/.0-9]+)`", cell))


TABLE = read_table()


async def create(conversation: Conversation, document: dict[str, Any], name: str, *states: str, **spec: object) -> None:
    """Create a resource with a status as its operator writes it."""
    path = conversation.path(f"{document['kind'].lower()}s", GROUP)
    body = {**document, "metadata": {"name": name}, "spec": {**document["spec"], **spec}}
    await conversation.create(path, body)
    entries = [
        {"currentStateSummary": state, "message": "", "lastTransitionTime": f"2026-01-01T00:00:{number:02}Z"}
        for number, state in enumerate(states)
    ]
    if entries:
        status: dict[str, Any] = {
            "currentState": entries[-1],
            "stateTransitionHistory": {str(number): entry for number, entry in enumerate(entries)},
            "currentAttemptSummary": {"attemptInfo": {"id": 0}},
        }
        reply = await conversation.ask("PATCH", f"{path}/{name}/status", {"status": status}, content_type=MERGE_PATCH)
        assert reply.status == 200, reply.body


async def create_pod(conversation: Conversation, owner: str, name: str, container: str) -> None:
    """Create a pod of an application with the status of a running pod. There is no node."""
    found = await conversation.ask("GET", f"{conversation.path('sparkapplications', GROUP)}/{owner}")
    reference = {"apiVersion": GROUP, "kind": "SparkApplication", "name": owner, "controller": True}
    owners = [{**reference, "uid": found.body["metadata"]["uid"]}] if found.status == 200 else []
    labels = {"spark-role": "driver", "spark.operator/spark-app-name": owner}
    metadata = {"name": name, "labels": labels, "ownerReferences": owners}
    item = {"path": "stop", "fieldRef": {"fieldPath": f"metadata.annotations['{ANNOTATION_STOP}']"}}
    volumes = [{"name": "stop", "downwardAPI": {"items": [item]}}]
    pod = {"metadata": metadata, "spec": {"containers": [{"name": container, "image": "spark"}], "volumes": volumes}}
    path = conversation.path("pods")
    await conversation.create(path, pod)
    status = {"status": {"phase": "Running"}}
    reply = await conversation.ask("PATCH", f"{path}/{name}/status", status, content_type=MERGE_PATCH)
    assert reply.status == 200, reply.body


async def fill(conversation: Conversation, folder: Path) -> None:
    """Create the applications and the cluster on which the verbs act, and the files that they read."""
    await create(conversation, APPLICATION, "run", "Submitted", "DriverRequested", "RunningHealthy")
    await create_pod(conversation, "run", "run-0-driver", "spark-kubernetes-driver")
    await create(conversation, APPLICATION, "stoppable", "Submitted", "DriverRequested", "RunningHealthy")
    await create_pod(conversation, "stoppable", "stoppable-0-driver", "spark-kubernetes-driver")
    await create_pod(conversation, "analytics", "analytics-master-0", "master")
    await create(conversation, APPLICATION, "old", "Submitted", "RunningHealthy", "Succeeded", "ResourceReleased")
    await create(conversation, APPLICATION, "waiting", "Submitted")
    await create(conversation, APPLICATION, "held", suspend=True)
    await create(conversation, CLUSTER, "analytics", "Submitted", "RunningHealthy")
    labels = {"spark.operator/spark-cluster-name": "analytics"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "worker", "image": "spark"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    workers = {"metadata": {"name": "analytics-worker", "labels": labels}, "spec": spec}
    await conversation.create(conversation.path("statefulsets", "apps/v1"), workers)
    for name, document in (("run", APPLICATION), ("new", APPLICATION), ("other", CLUSTER)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({**document, "metadata": {"name": name}}))


@pytest.fixture
async def user(server: Server, both_groups: Conversation, tmp_path: Path) -> User:
    """A user without permissions, in a namespace with applications and a cluster. Both API groups are served."""
    conversation = both_groups
    await fill(conversation, tmp_path)
    if server.name == "kubernetes":
        return await create_user(server, conversation, tmp_path)
    return use_administrator(server, conversation, tmp_path)


def test_table_has_each_verb_of_a_cluster() -> None:
    with_cluster = {
        verb.name for verb in VERBS if verb.section in (Section.APPLICATIONS, Section.CLUSTERS, Section.CONTROLLER)
    }
    # `advise` reads from Airflow alone.
    with_cluster = (with_cluster | {"diff"}) - {"advise", "crds", "roles"}
    assert with_cluster == COMMANDS.keys() | OTHERS
    assert with_cluster - {"doctor", "reconcile"} == TABLE.keys()


def test_documented_roles_contain_the_table() -> None:
    granted = {
        (verb, group, resource)
        for name in ("airflow.yaml", "command-line.yaml", "connect.yaml")
        for rule in yaml.safe_load((DOCS / "manifests" / name).read_text())["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    needed = {
        (verb, group, resource)
        for row in TABLE.values()
        for permission in (*row.needed, *row.optional)
        for rule in permission.build_rules()
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert needed <= granted


@pytest.mark.parametrize("verb", COMMANDS)
async def test_verb_works_with_its_permissions_and_names_a_missing_one(server: Server, user: User, verb: str) -> None:
    words, expected = COMMANDS[verb]
    words = [str(user.home / word) if word.endswith(".yaml") else word for word in words]
    row = TABLE[verb]
    if server.name == "kubernetes":
        namespace = user.conversation.namespace
        for missing in row.needed:
            await user.grant((*row.needed, *row.optional), without=missing)
            code, _, err = await user.run(*words)
            assert code == ExitCode.API_FAILED, (missing, err)
            pattern = rf'grant the verb "{missing.verb}" on {_describe(missing)} in namespace {namespace}'
            assert re.search(pattern, err), (missing, err)
        await user.grant(row.needed)
    code, _, err = await user.run(*words)
    assert code == expected, err


def _describe(missing: Permission) -> str:
    if missing.resource in ("sparkapplications", "sparkclusters"):
        return rf"{missing.resource}\.(spark\.apache\.org|sparkoperator\.k8s\.io)"
    return re.escape(missing.resource)


FORWARDS = {"forward": ["forward", "run"], "cluster forward": ["cluster", "forward", "analytics"]}


@pytest.mark.parametrize("verb", FORWARDS)
async def test_forward_needs_its_permissions(server: Server, user: User, verb: str) -> None:
    """No node runs, so a permitted connection fails at the node."""
    if server.name != "kubernetes":
        pytest.skip("the local API server grants everything; tests/cli has the tests of forward")
    words = [*FORWARDS[verb], "--port", "0"]
    row = TABLE[verb]
    for missing in row.needed:
        await user.grant(row.needed, without=missing)
        async with start_command(*words, home=user.home, variables=user.variables) as process:
            if missing.resource.startswith("spark"):
                _, _, err = await wait_for_exit(process)
                assert process.returncode == ExitCode.API_FAILED
            else:
                page = await fetch(find_address(await read_line(process, "Forwarding ")), 503)
                process.send_signal(signal.SIGINT)
                code, _, err = await wait_for_exit(process)
                assert code == ExitCode.SUCCESS
                assert f'grant the verb "{missing.verb}" on {missing.resource} in namespace' in page
        assert re.search(rf'grant the verb "{missing.verb}" on {_describe(missing)} in namespace', err), missing
    await user.grant(row.needed)
    async with start_command(*words, home=user.home, variables=user.variables) as process:
        page = await fetch(find_address(await read_line(process, "Forwarding ")), 503)
    assert "grant the verb" not in page
