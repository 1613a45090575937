"""The checks of Airflow's Test button."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.core.dialects.dialect import APACHE, DIALECTS, KUBEFLOW
from airflow_provider_spark_operator.follow.access.access_review import list_permissions, review_access, summarize
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from tests.hooks.clouds.loopback import Answer, Asked, serve
from tests.kube.scripted_api import build_kubeconfig

MANIFEST = Path(__file__).parents[3] / "docs" / "manifests" / "airflow.yaml"


@dataclass
class Api:
    """An API server that serves definitions and denies permissions.

    Attributes:
        served: The versions of each group.
        denied: The permissions that the identity lacks, as `verb kind`.
        unauthorized: Whether the server rejects the token.
    """

    served: dict[str, list[str]] = field(default_factory=lambda: {"spark.apache.org": ["v1"]})
    denied: set[str] = field(default_factory=set)
    unauthorized: bool = False

    def answer(self, asked: Asked) -> Answer:
        if self.unauthorized:
            return Answer({"kind": "Status", "message": "Unauthorized", "reason": "Unauthorized"}, 401)
        if asked.path == "/version":
            return Answer({"gitVersion": "v1.36.0"})
        if asked.path.endswith("/selfsubjectaccessreviews"):
            return self._review(json.loads(asked.body)["spec"]["resourceAttributes"])
        group, *version = asked.path.removeprefix("/apis/").split("/")
        if group not in self.served or (version and version[0] not in self.served[group]):
            return Answer({"kind": "Status", "message": "not found", "reason": "NotFound"}, 404)
        if version:
            return Answer({"resources": [{"name": "sparkapplications"}]})
        return Answer({"versions": [{"version": name} for name in self.served[group]]})

    def _review(self, attributes: dict[str, str]) -> Answer:
        kind = "/".join(filter(None, (attributes["resource"], attributes["subresource"])))
        allowed = attributes["namespace"] == "jobs" and f"{attributes['verb']} {kind}" not in self.denied
        return Answer({"status": {"allowed": allowed}}, 201)


@pytest.fixture
def server() -> Api:
    return Api()


@pytest.fixture
async def client(server: Api) -> AsyncIterator[KubeClient]:
    with serve(server.answer) as url:
        async with await open_client(ClusterAccess(kubeconfig_document=build_kubeconfig(url))) as client:
            yield client


async def test_complete_access_passes_all_checks(client: KubeClient) -> None:
    checks = await review_access(client)
    assert all(check.passed for check in checks)
    expected = f"connection to {client.server} (Kubernetes v1.36.0); SparkApplication of spark.apache.org (v1)"
    assert summarize(checks) == f"{expected}; all 17 permissions"


async def test_each_missing_permission_is_one_line(server: Api, client: KubeClient) -> None:
    server.denied = {"create sparkapplications", "get pods/log"}
    lines = summarize(await review_access(client)).splitlines()
    advice = "missing. Bind the Role in docs/manifests/airflow.yaml to the identity of the connection"
    assert lines == [
        f"permission to create sparkapplications.spark.apache.org in namespace jobs: {advice}",
        f"permission to get pods/log in namespace jobs: {advice}",
    ]


async def test_permissions_are_checked_in_the_given_namespace(client: KubeClient) -> None:
    checks = await review_access(client, "other")
    assert {check.passed for check in checks if check.is_permission} == {False}


async def test_error_of_a_cluster_without_definitions_explains_their_installation(
    server: Api, client: KubeClient
) -> None:
    server.served = {}
    (line,) = summarize(await review_access(client)).splitlines()
    assert line.startswith(
        "SparkApplication: the cluster has no SparkApplication resource in the API groups spark.apache.org and sparkop"
    )
    assert "spark-operator crds | kubectl apply" in line


async def test_unsupported_version_is_reported(server: Api, client: KubeClient) -> None:
    server.served = {"sparkoperator.k8s.io": ["v1alpha1"]}
    (line,) = summarize(await review_access(client)).splitlines()
    assert line.startswith("SparkApplication of sparkoperator.k8s.io (v1alpha1): the supported versions are v1beta2")


async def test_both_operators_in_a_cluster_need_their_own_permissions(server: Api, client: KubeClient) -> None:
    server.served = {"spark.apache.org": ["v1"], "sparkoperator.k8s.io": ["v1beta2"]}
    titles = [check.title for check in await review_access(client)]
    for group in server.served:
        assert f"permission to create sparkapplications.{group} in namespace jobs" in titles


async def test_rejected_identity_is_the_only_result(server: Api, client: KubeClient) -> None:
    server.unauthorized = True
    (check,) = await review_access(client)
    assert not check.passed
    assert str(check).startswith(f"connection to {client.server}: could not discover")
    assert "renew the token of user" in str(check)


def test_permissions_are_those_of_the_documented_role() -> None:
    rules = yaml.safe_load(MANIFEST.read_text())["rules"]
    documented = {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    checked = {
        (one.resource.group, one.name.removesuffix(f".{one.resource.group}"), verb)
        for one in list_permissions(DIALECTS)
        for verb in one.verbs
    }
    assert checked == documented
    assert len(list_permissions([APACHE])) == len(list_permissions([KUBEFLOW])) + 1
