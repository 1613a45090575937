from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubelet.running_node import RunningNode


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[RunningNode]:
    async with RunningNode(tmp_path / "home") as running:
        yield running
