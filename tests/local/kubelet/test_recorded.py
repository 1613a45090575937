"""The local node makes of the same pods what a real node made of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.local.cluster import LocalCluster
from tests.local.kubelet.lives import live
from tests.local.kubelet.record import FOLDER, namespace_of_its_own, recorded
from tests.local.kubelet.scenarios import SCENARIOS, Scenario

_SECONDS = 90


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with (
        LocalCluster(tmp_path / "home") as cluster,
        await open_client(ClusterAccess(kubeconfig=cluster.kubeconfig)) as opened,
    ):
        yield opened


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_a_pod_lives_here_as_it_does_on_a_real_node(client: KubeClient, scenario: Scenario) -> None:
    async with namespace_of_its_own(client) as namespace:
        assert await live(client, namespace, scenario, "cluster/spark:4.3.0", _SECONDS) == recorded(scenario.name)


def test_every_recorded_life_is_that_of_a_scenario() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {scenario.name for scenario in SCENARIOS}
