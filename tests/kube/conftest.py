"""A scripted server and a client for it."""

from collections.abc import AsyncIterator

import pytest

from airflow_provider_spark_operator.kube.client import KubeClient
from tests.kube.scripted import ScriptedApi, client_of, scripted_api


@pytest.fixture
async def api() -> AsyncIterator[ScriptedApi]:
    async with scripted_api() as api:
        yield api


@pytest.fixture
async def client(api: ScriptedApi) -> AsyncIterator[KubeClient]:
    async with await client_of(api) as client:
        yield client
