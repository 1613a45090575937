"""A cluster for the controller: the local API server without a kubelet; tests play that."""

import secrets
from collections.abc import AsyncIterator
from datetime import datetime

import pytest

from airflow_provider_spark_operator.crds import custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from airflow_provider_spark_operator.local.api.registry import KindRegistry
from airflow_provider_spark_operator.local.api.server import ApiServer
from airflow_provider_spark_operator.local.api.status import ApiStatusError
from airflow_provider_spark_operator.local.api.store import Store
from tests.reconcile.stage import Stage

NAMESPACE = "jobs"


class NoLogs:
    """No container ever runs here."""

    async def read(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        follow: bool,
        tail_lines: int | None,
        since_time: datetime | None,
        since_seconds: int | None,
        timestamps: bool,
        limit_bytes: int | None,
        previous: bool,
    ) -> AsyncIterator[bytes]:
        raise ApiStatusError(400, "BadRequest", f"container {container} of pod {namespace}/{pod} has no log")


@pytest.fixture
async def access() -> AsyncIterator[ClusterAccess]:
    """The way to a new and empty cluster."""
    store, token = Store(), secrets.token_hex()
    server = ApiServer(store, KindRegistry(store), token=token, tls=None, logs=NoLogs())
    port = await server.start()
    yield ClusterAccess(kubeconfig_document=kubeconfig(port, token))
    await server.stop()


def kubeconfig(port: int, token: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": NAMESPACE}}],
    }


@pytest.fixture
async def client(access: ClusterAccess) -> AsyncIterator[KubeClient]:
    """A client of the cluster, in which the namespace and the kinds of Spark are known."""
    async with await open_client(access) as client:
        for definition in custom_resource_definitions():
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await client.create(NAMESPACES, document, None)
        yield client


@pytest.fixture
def stage(client: KubeClient) -> Stage:
    return Stage(client, NAMESPACE)
