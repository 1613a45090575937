"""The local node makes of the same pods what a real node made of them."""

import json
from pathlib import Path

import pytest

from local_kubernetes.cluster import LocalCluster

from kubelet.log_answers import RECORDED, log_answers
from kubelet.record import FOLDER, lives_on, recorded
from kubelet.scenarios import SCENARIOS


@pytest.mark.timeout(400)
async def test_pods_live_here_as_they_do_on_a_real_node(tmp_path: Path) -> None:
    async with LocalCluster(tmp_path / "home") as cluster:
        lives = await lives_on(str(cluster.kubeconfig), "local/process", SCENARIOS)

    assert lives == {scenario.name: recorded(scenario.name) for scenario in SCENARIOS}


@pytest.mark.timeout(400)
async def test_logs_are_answered_here_as_by_a_real_node(tmp_path: Path) -> None:
    async with LocalCluster(tmp_path / "home") as cluster:
        answers = await log_answers(cluster.kubeconfig, "local/process")

    assert answers == json.loads(RECORDED.read_text(encoding="utf-8"))


def test_every_recorded_life_is_that_of_a_scenario() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {scenario.name for scenario in SCENARIOS}
