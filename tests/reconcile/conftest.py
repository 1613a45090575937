"""Fixtures: the local API server without a kubelet. The tests simulate the kubelet."""

from collections.abc import AsyncIterator

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from tests.local_api import NAMESPACE, install_definitions, serve_api
from tests.reconcile.harness import Api


@pytest.fixture
async def kubeconfig() -> AsyncIterator[JsonObject]:
    async with serve_api() as document:
        yield document


@pytest.fixture
async def client(kubeconfig: JsonObject) -> AsyncIterator[KubeClient]:
    async with await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        await install_definitions(client)
        yield client


@pytest.fixture
def api(client: KubeClient) -> Api:
    return Api(client, NAMESPACE)
