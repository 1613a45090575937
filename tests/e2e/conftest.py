import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import NAMESPACES, ResourceType
from tests.e2e.node import DEADLINE, KUBECONFIG

WORKLOAD = Path(__file__).parents[2] / "docs" / "manifests" / "workload.yaml"


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    async with await open_client(ClusterAccess(kubeconfig=Path(str(KUBECONFIG)))) as opened:
        yield opened


@pytest.fixture
async def namespace(client: KubeClient) -> AsyncIterator[str]:
    """A namespace in which drivers have the rights that they need; it goes with everything in it."""
    name = f"e2e-{secrets.token_hex(3)}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, None)
    try:
        for document in yaml.safe_load_all(WORKLOAD.read_text()):
            await client.create(kind_of(document), document, name)
        yield name
    finally:
        await client.delete(NAMESPACES, name, None)
        await gone(client, name)


def kind_of(document: dict[str, Any]) -> ResourceType:
    group, _, version = document["apiVersion"].rpartition("/")
    return ResourceType(group, version, f"{document['kind'].lower()}s", document["kind"])


async def gone(client: KubeClient, name: str) -> None:
    async with asyncio.timeout(DEADLINE):
        while True:
            try:
                await client.get(NAMESPACES, name, None)
            except NotFound:
                return
            await asyncio.sleep(0.5)
