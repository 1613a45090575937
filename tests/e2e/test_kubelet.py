"""The recorded pod lives, which the local cluster must reproduce, are those of a real cluster."""

import asyncio
import json
from pathlib import Path

from tests.e2e.node import IMAGE, KUBECONFIG, NEEDED

from client import open_client
from kubelet.log_answers import RECORDED as LOG_ANSWERS
from kubelet.log_answers import log_answers
from kubelet.record import lives_on, read_recording
from kubelet.scenarios import SCENARIOS
from workloads.life import RECORDED, run_life

pytestmark = NEEDED


def test_pods_on_this_node_equal_the_recording() -> None:
    lives = asyncio.run(lives_on(str(KUBECONFIG), IMAGE, SCENARIOS))

    assert lives == {scenario.name: read_recording(scenario.name) for scenario in SCENARIOS}


async def test_logs_of_this_node_equal_the_recording() -> None:
    assert await log_answers(Path(str(KUBECONFIG)), IMAGE) == json.loads(LOG_ANSWERS.read_text(encoding="utf-8"))


async def test_stateful_set_on_this_cluster_equals_the_recording() -> None:
    async with open_client(Path(str(KUBECONFIG))) as client:
        assert await run_life(client, IMAGE) == json.loads(RECORDED.read_text())
