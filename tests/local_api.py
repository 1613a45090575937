"""A local API server without an operator and without a kubelet, whose work the tests do."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NoReturn

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from local_kubernetes.api.kinds.status import ApiStatusError
from local_kubernetes.api.server.podlogs import LogOptions
from local_kubernetes.api.server.server import ApiServer
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store
from tests.kube.scripted_api import build_kubeconfig

NAMESPACE = "jobs"


class NoLogs:
    """The logs of a cluster that runs no containers."""

    async def read(self, namespace: str, pod: str, container: str, _options: LogOptions) -> NoReturn:
        raise ApiStatusError(400, "BadRequest", f"container {container} of pod {namespace}/{pod} has no log")


@asynccontextmanager
async def serve_api() -> AsyncIterator[JsonObject]:
    """Serve a new, empty API; yield its kubeconfig."""
    store, token = Store(), secrets.token_hex()
    server = ApiServer(store, KindRegistry(store), token=token, tls=None, logs=NoLogs())
    try:
        yield build_kubeconfig(f"http://127.0.0.1:{await server.start()}", {"token": token})
    finally:
        await server.stop()


async def install_definitions(client: KubeClient) -> None:
    """Install the CRDs, and create the namespace."""
    for definition in build_custom_resource_definitions():
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await client.create(NAMESPACES, document, None)
