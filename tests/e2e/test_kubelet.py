"""The lives that the local node is held to are those of pods on a real one."""

import asyncio
import os

import pytest

from tests.local.kubelet.record import lives_on, recorded
from tests.local.kubelet.scenarios import SCENARIOS

KUBECONFIG, IMAGE = os.environ.get("E2E_KUBECONFIG"), os.environ.get("E2E_IMAGE", "")

pytestmark = [
    pytest.mark.skipif(not (KUBECONFIG and IMAGE), reason="E2E_KUBECONFIG and E2E_IMAGE name no cluster and image"),
    pytest.mark.timeout(600),
]


def test_pods_live_on_this_node_as_they_were_recorded() -> None:
    lives = asyncio.run(lives_on(str(KUBECONFIG), IMAGE, SCENARIOS))

    assert lives == {scenario.name: recorded(scenario.name) for scenario in SCENARIOS}
