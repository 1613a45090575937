"""A user of the command line whose permissions a test changes, on a real API server and on the local one."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.testing.dialect_states import build_kubeflow_definition
from tests.cli.process import run_command

from contract.conversation import DEADLINE, MERGE_PATCH, Conversation
from contract.documents import DEFINITIONS
from control_plane import Server

RBAC = "rbac.authorization.k8s.io/v1"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "sparkapplications": ("spark.apache.org", "sparkoperator.k8s.io"),
    "sparkclusters": ("spark.apache.org",),
}
_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_ROLE = "user"


@pytest.fixture
async def both_groups(server: Server, server_with_definitions: Conversation) -> Conversation:
    """A conversation with a server that serves the applications of both API groups, and that knows tokens."""
    conversation = server_with_definitions
    if server.token is None:
        pytest.skip("the server of CONTRACT_KUBECONFIG has no token")
    definition = build_kubeflow_definition()
    # Kubernetes protects the groups that end with k8s.io.
    definition["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://github.com/kubeflow/spark-operator"}
    reply = await conversation.ask("POST", DEFINITIONS, definition)
    assert reply.status in (201, 409), reply.body
    path = conversation.path("sparkapplications", "sparkoperator.k8s.io/v1beta2")
    await conversation.until(path, lambda reply: reply.status == 200)
    return conversation


@dataclass(frozen=True)
class Permission:
    """A verb on a resource in the namespace.

    Attributes:
        verb: The verb, for example `list`.
        resource: The plural, with subresource and group as messages name it: `pods/log`, `statefulsets/scale.apps`.
    """

    verb: str
    resource: str

    def build_rules(self) -> list[dict[str, list[str]]]:
        """Return the rules that grant it, in each API group that has the resource."""
        return [
            {"apiGroups": [group], "resources": [plural + subresource], "verbs": [self.verb]}
            for plural, group, subresource in self._split()
        ]

    def build_questions(self) -> list[dict[str, str]]:
        """Return the attributes of an access review for each API group."""
        return [
            {"verb": self.verb, "group": group, "resource": plural, "subresource": subresource.lstrip("/")}
            for plural, group, subresource in self._split()
        ]

    def _split(self) -> list[tuple[str, str, str]]:
        name, _, group = self.resource.partition(".")
        plural, slash, subresource = name.partition("/")
        return [(plural, each, slash + subresource) for each in GROUPS.get(plural, (group,))]


@dataclass(frozen=True)
class User:
    """A user of the command line.

    Attributes:
        conversation: The requests of an administrator.
        home: The home folder of the user, with a kubeconfig.
        token: The token of the user.
        is_restricted: Whether the server checks permissions.
    """

    conversation: Conversation
    home: Path
    token: str
    is_restricted: bool = True

    async def run(self, *words: str) -> tuple[int | None, str, str]:
        """Run the command line. Return its exit code, stdout and stderr."""
        return await run_command(*words, home=self.home, variables=self.variables)

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables with which the command line finds the cluster."""
        return {"KUBECONFIG": str(self.home / "kubeconfig")}

    async def grant(self, permissions: Iterable[Permission], without: Permission | None = None) -> None:
        """Grant permissions and no others, and wait until the server applies the change."""
        granted = [each for each in permissions if each != without]
        rules = [rule for each in granted for rule in each.build_rules()]
        path = self.conversation.path(f"roles/{_ROLE}", RBAC)
        reply = await self.conversation.ask("PATCH", path, {"rules": rules}, content_type=MERGE_PATCH)
        assert reply.status == 200, reply.body
        async with asyncio.timeout(DEADLINE):
            for each in granted:
                await self._wait_for(each, allowed=True)
            if without is not None:
                await self._wait_for(without, allowed=False)

    async def _wait_for(self, permission: Permission, *, allowed: bool) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        for question in permission.build_questions():
            review = {"spec": {"resourceAttributes": {**question, "namespace": self.conversation.namespace}}}
            while True:
                reply = await self.conversation.ask("POST", _REVIEW, review, headers=headers)
                assert reply.status == 201, reply.body
                if reply.body["status"]["allowed"] is allowed:
                    break
                await asyncio.sleep(0.02)


def use_administrator(server: Server, conversation: Conversation, home: Path) -> User:
    """Return the administrator of a server that grants everything."""
    assert server.token is not None
    write_kubeconfig(home / "kubeconfig", server, conversation.namespace, server.token)
    return User(conversation, home, server.token, is_restricted=False)


async def create_user(
    server: Server, conversation: Conversation, home: Path, rules: Sequence[Mapping[str, Any]] = ()
) -> User:
    """Create a service account with a role of these rules, and its kubeconfig. The server checks permissions."""
    await conversation.create(conversation.path("serviceaccounts"), {"metadata": {"name": "user"}})
    await conversation.create(conversation.path("roles", RBAC), {"metadata": {"name": _ROLE}, "rules": list(rules)})
    binding = {
        "metadata": {"name": "user"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": _ROLE},
        "subjects": [{"kind": "ServiceAccount", "name": "user", "namespace": conversation.namespace}],
    }
    await conversation.create(conversation.path("rolebindings", RBAC), binding)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    reply = await conversation.ask("POST", conversation.path("serviceaccounts/user/token"), request)
    assert reply.status == 201, reply.body
    token = str(reply.body["status"]["token"])
    write_kubeconfig(home / "kubeconfig", server, conversation.namespace, token)
    return User(conversation, home, token)


def write_kubeconfig(path: Path, server: Server, namespace: str, token: str | None) -> None:
    """Write a kubeconfig whose context has a namespace."""
    cluster: dict[str, Any] = {"server": server.url} | ({"insecure-skip-tls-verify": True} if server.tls else {})
    kubeconfig = {
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}],
    }
    path.write_text(json.dumps(kubeconfig))
