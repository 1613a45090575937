"""A cluster without an operator and without a kubelet, whose work the tests do."""

import secrets
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from local_kubernetes.api.kinds.status import ApiStatusError
from local_kubernetes.api.server.server import ApiServer
from local_kubernetes.api.server.tls import ServerIdentity, issue_identity
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store


class NoLogs:
    """The logs of a cluster without containers."""

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
        raise ApiStatusError(400, "BadRequest", f'container "{container}" in pod "{pod}" is waiting to start')


@pytest.fixture(scope="session")
def identity(tmp_path_factory: pytest.TempPathFactory) -> ServerIdentity:
    return issue_identity(tmp_path_factory.mktemp("identity"))


@pytest.fixture
async def access(identity: ServerIdentity) -> AsyncIterator[ClusterAccess]:
    store, token = Store(), secrets.token_hex()
    server = ApiServer(store, KindRegistry(store), token=token, tls=identity.build_server_context(), logs=NoLogs())
    port = await server.start()
    yield ClusterAccess(kubeconfig_document=build_kubeconfig(port, token, identity.ca_file))
    await server.stop()


def build_kubeconfig(port: int, token: str, authority: Path) -> dict[str, object]:
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(authority)}
    return {
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }


@pytest.fixture
async def client(access: ClusterAccess) -> AsyncIterator[KubeClient]:
    async with await open_client(access) as client:
        for definition in build_custom_resource_definitions():
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
        yield client


@pytest.fixture
async def namespace(client: KubeClient) -> str:
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "jobs"}}
    await client.create(NAMESPACES, document, None)
    return "jobs"
