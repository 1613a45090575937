"""A scripted server and a client for it."""

from collections.abc import AsyncIterator

import pytest

from airflow_provider_spark_operator.kube.client import KubeClient
from tests.kube.scripted_api import ScriptedApi, open_client_of, serve_api


@pytest.fixture
async def api() -> AsyncIterator[ScriptedApi]:
    async with serve_api() as api:
        yield api


@pytest.fixture
async def client(api: ScriptedApi) -> AsyncIterator[KubeClient]:
    async with await open_client_of(api) as client:
        yield client
