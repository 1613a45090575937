"""The control plane of this folder's tests: KUBEBUILDER_ASSETS is a folder with etcd and kube-apiserver."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, SPARK_APPLICATIONS
from tests.reliability.harness import Harness, open_harness

from control_plane import ControlPlane, build_kubeconfig, run_control_plane

ASSETS = os.environ.get("KUBEBUILDER_ASSETS")


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A control plane with the Spark CRDs, the garbage collector and the namespace controller, but no scheduler."""
    if ASSETS is None:
        pytest.skip("there is no API server: set KUBEBUILDER_ASSETS")
    with run_control_plane(Path(ASSETS)) as plane:
        asyncio.run(_define(plane))
        yield plane


@pytest.fixture
async def harness(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Harness]:
    """A namespace with a scripted node and a controller that is not started yet."""
    async with open_harness(plane, tmp_path / "controller") as harness:
        yield harness


async def _define(plane: ControlPlane) -> None:
    async with await open_client(ClusterAccess(kubeconfig_document=build_kubeconfig(plane.server))) as client:
        for definition in build_custom_resource_definitions():
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
        while not await client.is_served(SPARK_APPLICATIONS):  # noqa: ASYNC110 - the state of an API is no Event
            await asyncio.sleep(0.1)
