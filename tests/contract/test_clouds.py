"""Tasks on managed clusters: the real providers of the clouds, fake clouds on loopback, and a real API server.

The API server authenticates tokens as the clouds do: by a webhook that asks the cloud for the owner of a token.
"""

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.core.dialects.dialect import APACHE
from airflow_provider_spark_operator.crds.definitions import build_custom_resource_definitions
from airflow_provider_spark_operator.hooks.spark_application import SparkApplicationHook
from airflow_provider_spark_operator.kube import credentials, link, managed_cluster
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SPARK_APPLICATIONS,
    ResourceType,
)
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.testing.dialect_states import StateChange, find_states
from tests.airflow.real_run import DEADLINE_SECONDS, run_real_dag
from tests.contract.token_webhook import TokenWebhook, serve_webhook
from tests.task import TaskInstance, run

from control_plane import ControlPlane, build_kubeconfig, run_control_plane

pytest.importorskip("airflow.providers.amazon")
pytest.importorskip("airflow.providers.google")
pytest.importorskip("airflow.providers.microsoft.azure")
pytest.importorskip("moto")

from airflow_provider_spark_operator.hooks.clouds import clusters, eks
from tests.hooks.clouds.aws import USER, Aws, deny_describe_cluster, read_caller, run_aws
from tests.hooks.clouds.azure import AKS_APPLICATION, run_azure
from tests.hooks.clouds.google import ACCOUNT, run_google

ASSETS = os.environ.get("KUBEBUILDER_ASSETS")
IDENTITY = "00000000-aaaa-bbbb-cccc-dddddddddddd"
ROLES = ResourceType("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = ResourceType("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
MANIFEST = Path(__file__).parents[2] / "docs" / "manifests" / "airflow.yaml"
DEADLINE = 60.0

pytestmark = [
    pytest.mark.skipif(not ASSETS, reason="there is no API server: set KUBEBUILDER_ASSETS"),
    pytest.mark.xdist_group("clouds"),  # they share one server
]


@dataclass
class Cloud:
    """A cloud with the cluster `analytics`.

    Attributes:
        user: The identity of Airflow in the cluster.
        extras: The extras of the connection that select the cluster.
        identify: Returns the owner of a token.
        deny: Revokes the permission to find the cluster.
        permission: A part of the message about the missing permission.
        renewal: A part of the message about the rejected identity.
        shorten: Sets the lifetime of the next tokens, in seconds.
    """

    user: str
    extras: dict[str, Any]
    identify: Callable[[str], str | None]
    deny: Callable[[], None]
    permission: str
    renewal: str
    shorten: Callable[[float], None]


@dataclass
class CloudCluster:
    """The API server of the cluster, and the namespace of the task."""

    cloud: Cloud
    webhook: TokenWebhook
    admin: KubeClient
    namespace: str

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition."""
        async with asyncio.timeout(DEADLINE):
            while not condition():  # noqa: ASYNC110 - the webhook runs in a thread
                await asyncio.sleep(0.05)

    async def enter(self, *states: str) -> None:
        """Write states of the application `report`, as its operator does."""
        dialect = find_states(APACHE)
        document = await self.admin.get(SPARK_APPLICATIONS, "report", self.namespace)
        for state in states:
            dialect.write(document, StateChange(state))
        await self.admin.replace(SPARK_APPLICATIONS, "report", self.namespace, document, subresource="status")

    async def run_task(self) -> Any:
        """Run a deferrable task, as worker and triggerer do."""
        document = {
            "apiVersion": "spark.apache.org/v1",
            "kind": "SparkApplication",
            "metadata": {"name": "report"},
            "spec": {"mainClass": "Main", "jars": "local:///a.jar", "runtimeVersions": {"sparkVersion": "4.3.0"}},
        }
        task = SparkApplicationOperator(
            task_id="run", application=document, kubernetes_conn_id="analytics", deferrable=True, get_logs=False
        )
        return await asyncio.to_thread(run, task, TaskInstance())

    async def check_connection(self) -> tuple[bool, str]:
        """Test the connection as Airflow's Test button does."""
        return await asyncio.to_thread(SparkApplicationHook("analytics").test_connection)

    async def start_task(self) -> "asyncio.Task[Any]":
        """Run a task in the background until its application runs."""
        task = asyncio.create_task(self.run_task())
        async with asyncio.timeout(DEADLINE):
            while not (await self.admin.list(SPARK_APPLICATIONS, self.namespace)).items:
                if task.done():
                    task.result()
                await asyncio.sleep(0.05)
        await self.enter("Submitted", "DriverRequested", "DriverStarted", "RunningHealthy")
        return task


@pytest.fixture(scope="module")
def webhook() -> TokenWebhook:
    return TokenWebhook(lambda token: None)


@pytest.fixture(scope="module")
def plane(webhook: TokenWebhook, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with (
        serve_webhook(webhook, tmp_path_factory.mktemp("webhook")) as arguments,
        run_control_plane(Path(str(ASSETS)), arguments=arguments) as plane,
    ):
        yield plane


def authority_of(plane: ControlPlane) -> str:
    return (plane.folder / "certificates" / "apiserver.crt").read_text()


def open_eks(stack: ExitStack, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    aws: Aws = stack.enter_context(run_aws())
    aws.create_cluster("analytics", plane.server.url, authority_of(plane))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_AWS", aws.connection())
    return Cloud(
        user=USER,
        extras={"eks_cluster": "analytics", "aws_conn_id": "spark_aws"},
        identify=lambda token: read_caller(token) if token.startswith("k8s-aws-v1.") else None,
        deny=lambda: deny_describe_cluster(monkeypatch),
        permission="Grant eks:DescribeCluster to the identity of the AWS connection 'spark_aws'",
        renewal="add the identity of the connection 'spark_aws' to the access entries of the cluster",
        shorten=lambda seconds: monkeypatch.setattr(eks, "TOKEN_SECONDS", seconds),
    )


def open_gke(stack: ExitStack, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    google = stack.enter_context(run_google(monkeypatch))
    google.create_cluster("analytics", plane.server.url, authority_of(plane))
    return Cloud(
        user=ACCOUNT,
        extras={"gke_cluster": "analytics", "location": "europe-west1"},
        identify=lambda token: ACCOUNT if token in google.tokens else None,
        deny=lambda: setattr(google, "denied", True),
        permission="Grant container.clusters.get in project project-1",
        renewal="check the credentials of the connection 'google_cloud_default'",
        shorten=lambda seconds: setattr(google, "lifetime", seconds),
    )


def open_aks(stack: ExitStack, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    azure = stack.enter_context(run_azure(monkeypatch))
    azure.create_cluster("analytics", plane.server.url, authority_of(plane))
    return Cloud(
        user=IDENTITY,
        extras={"aks_cluster": "analytics", "resource_group": "data"},
        identify=lambda token: IDENTITY if azure.tokens.get(token, ("",))[0] == AKS_APPLICATION else None,
        deny=lambda: setattr(azure, "denied", True),
        permission="Grant Microsoft.ContainerService/managedClusters/listClusterUserCredential/action",
        renewal="check that the connection 'azure_default' belongs to the Entra ID tenant of the cluster",
        shorten=lambda seconds: setattr(azure, "lifetime", seconds),
    )


@pytest.fixture(params=[open_eks, open_gke, open_aks], ids=["eks", "gke", "aks"])
async def cluster(
    request: pytest.FixtureRequest, plane: ControlPlane, webhook: TokenWebhook, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[CloudCluster]:
    for module, name in (
        (link, "SHORTEST_READ_SECONDS"),
        (credentials, "SHORTEST_RELOAD_SECONDS"),
        (managed_cluster, "SHORTEST_ISSUE_SECONDS"),
    ):
        monkeypatch.setattr(module, name, 0.0)
    # The watch begins again each second, so that the task sends requests while it waits.
    defaults = {**(KubeClient.watch.__kwdefaults__ or {}), "timeout_seconds": 1}
    monkeypatch.setattr(KubeClient.watch, "__kwdefaults__", defaults)
    clusters.share_cluster.cache_clear()
    namespace = f"clouds-{secrets.token_hex(4)}"
    with ExitStack() as stack:
        cloud = request.param(stack, plane, monkeypatch)
        webhook.identify, webhook.lifetime, webhook.used, webhook.rejected = cloud.identify, 900.0, {}, []
        connection = {"conn_type": "sparkkubernetes", "extra": {**cloud.extras, "namespace": namespace}}
        monkeypatch.setenv("AIRFLOW_CONN_ANALYTICS", json.dumps(connection))
        async with await open_client(ClusterAccess(kubeconfig_document=build_kubeconfig(plane.server))) as admin:
            await prepare(admin, namespace, cloud.user)
            yield CloudCluster(cloud, webhook, admin, namespace)
            await admin.delete(NAMESPACES, namespace, None)


async def prepare(admin: KubeClient, namespace: str, user: str) -> None:
    """Create the definitions, and a namespace with the documented permissions of Airflow."""
    if not await admin.is_served(SPARK_APPLICATIONS):
        for definition in build_custom_resource_definitions():
            await admin.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
        async with asyncio.timeout(DEADLINE):
            while not await admin.is_served(SPARK_APPLICATIONS):  # noqa: ASYNC110 - the state of an API is no Event
                await asyncio.sleep(0.1)
    await admin.create(NAMESPACES, {"metadata": {"name": namespace}}, None)
    role = yaml.safe_load(MANIFEST.read_text())
    await admin.create(ROLES, role, namespace)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role["metadata"]["name"]}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
    binding = {"metadata": {"name": "airflow"}, "roleRef": reference, "subjects": [subject]}
    await admin.create(ROLE_BINDINGS, binding, namespace)


async def test_task_waits_longer_than_its_tokens_are_valid(cluster: CloudCluster) -> None:
    cluster.webhook.lifetime = 3.0
    cluster.cloud.shorten(3.0)
    task = await cluster.start_task()
    used = len(cluster.webhook.used)
    await cluster.until(lambda: len(cluster.webhook.used) >= used + 2)
    assert not task.done()
    await cluster.enter(*find_states(APACHE).succeeding)
    assert await task == "report"


async def test_rejected_token_is_replaced_while_a_task_waits(cluster: CloudCluster) -> None:
    task = await cluster.start_task()
    cluster.webhook.revoke()
    await cluster.until(lambda: bool(cluster.webhook.rejected))
    await cluster.enter(*find_states(APACHE).succeeding)
    assert await task == "report"
    assert len(cluster.webhook.used) > len(set(cluster.webhook.rejected))


async def test_task_without_permission_to_find_the_cluster_names_the_permission(cluster: CloudCluster) -> None:
    cluster.cloud.deny()
    with pytest.raises(Exception, match="of connection 'analytics'") as caught:
        await cluster.run_task()
    assert cluster.cloud.permission in str(caught.value)


async def test_identity_without_access_to_the_cluster_is_told_how_to_get_it(cluster: CloudCluster) -> None:
    cluster.webhook.identify = lambda token: None
    with pytest.raises(Exception, match="Unauthorized") as caught:
        await cluster.run_task()
    assert cluster.cloud.renewal in str(caught.value)


async def test_connection_with_the_documented_permissions_passes_the_test(cluster: CloudCluster) -> None:
    passed, message = await cluster.check_connection()
    assert passed, message
    assert message.startswith("connection to https://127.0.0.1:")
    assert "SparkApplication of spark.apache.org (v1, v1beta1, v1alpha1)" in message


async def test_missing_permission_is_named_by_the_test_of_the_connection(cluster: CloudCluster) -> None:
    role = yaml.safe_load(MANIFEST.read_text())
    for rule in role["rules"]:
        if "pods/log" in rule["resources"]:
            rule["verbs"] = []
        if rule["apiGroups"] == ["spark.apache.org"]:
            rule["verbs"].remove("delete")
    rules = [rule for rule in role["rules"] if rule["verbs"]]
    await cluster.admin.patch(ROLES, role["metadata"]["name"], cluster.namespace, {"rules": rules})
    missing = ("delete sparkapplications.spark.apache.org", "delete sparkclusters.spark.apache.org", "get pods/log")

    async def read() -> list[str]:
        passed, message = await cluster.check_connection()
        assert not passed
        return message.splitlines()

    advice = "missing. Bind the Role in docs/manifests/airflow.yaml to the identity of the connection"
    expected = [f"permission to {one} in namespace {cluster.namespace}: {advice}" for one in missing]
    assert await read() == expected


DAG_FILE = """
from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("deferred", schedule=None):
    SparkApplicationOperator(
        task_id="report",
        application={
            "apiVersion": "spark.apache.org/v1",
            "kind": "SparkApplication",
            "metadata": {"name": "report"},
            "spec": {"mainClass": "Main", "jars": "local:///a.jar", "runtimeVersions": {"sparkVersion": "4.3.0"}},
        },
        kubernetes_conn_id="analytics",
        deferrable=True,
        get_logs=False,
    )
"""


@pytest.mark.timeout(DEADLINE_SECONDS + 60)
@pytest.mark.parametrize("cluster", [open_eks], indirect=True, ids=["eks"])
async def test_triggerer_reads_the_connections_from_the_database(cluster: CloudCluster, tmp_path: Path) -> None:
    connections = {name: os.environ[f"AIRFLOW_CONN_{name.upper()}"] for name in ("analytics", "spark_aws")}
    async with run_real_dag(None, tmp_path, DAG_FILE, connections) as airflow:
        await airflow.until(lambda: airflow.has_noted_end("report"))
        # The worker and the triggerer are processes with their own tokens.
        await airflow.until(lambda: len(cluster.webhook.used) >= 2)
        dialect = find_states(APACHE)
        await cluster.enter(*dialect.waiting, *dialect.running, *dialect.succeeding)
        assert await airflow.wait_for_end() == {"report": "success"}
