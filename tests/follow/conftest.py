"""A cluster without an operator and without a kubelet, whose work the tests do."""

from collections.abc import AsyncIterator

import pytest

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from tests.local_api import NAMESPACE, install_definitions, serve_api


@pytest.fixture
async def access() -> AsyncIterator[ClusterAccess]:
    async with serve_api() as kubeconfig:
        yield ClusterAccess(kubeconfig_document=kubeconfig)


@pytest.fixture
async def client(access: ClusterAccess) -> AsyncIterator[KubeClient]:
    async with await open_client(access) as client:
        await install_definitions(client)
        yield client


@pytest.fixture
def namespace(client: KubeClient) -> str:
    return NAMESPACE
