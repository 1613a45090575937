"""The statuses of pods on the local node equal those recorded on a real node."""

import json
from pathlib import Path

import pytest

from local_kubernetes.cluster import LocalCluster

from kubelet.log_answers import RECORDED, log_answers
from kubelet.record import FOLDER, lives_on, read_recording
from kubelet.scenarios import SCENARIOS


@pytest.mark.timeout(400)
async def test_pods_have_the_recorded_statuses_of_a_real_node(tmp_path: Path) -> None:
    async with LocalCluster(tmp_path / "home") as cluster:
        lives = await lives_on(str(cluster.kubeconfig), "local/process", SCENARIOS)

    assert lives == {scenario.name: read_recording(scenario.name) for scenario in SCENARIOS}


@pytest.mark.timeout(400)
async def test_log_answers_equal_those_of_a_real_node(tmp_path: Path) -> None:
    async with LocalCluster(tmp_path / "home") as cluster:
        answers = await log_answers(cluster.kubeconfig, "local/process")

    assert answers == json.loads(RECORDED.read_text(encoding="utf-8"))


def test_every_recording_belongs_to_a_scenario() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {scenario.name for scenario in SCENARIOS}
