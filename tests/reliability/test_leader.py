"""Several controllers, of which one leads: when it dies, another goes on."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import LEASES
from tests.controller import ControllerProcess
from tests.reliability.lives import Lived
from tests.reliability.scene import DEADLINE, Scene, controller_in
from tests.reliability.test_streams import names_of

NAMESPACE = "default"
pytestmark = pytest.mark.timeout(1200)


@dataclass
class Pair:
    """Two controllers, of which the first leads.

    Attributes:
        first: which leads.
        second: which stands by.
        lives: applications, of which half have a driver.
    """

    first: ControllerProcess
    second: ControllerProcess
    lives: list[Lived]


@asynccontextmanager
async def pair_amid(scene: Scene, applications: int) -> AsyncIterator[Pair]:
    """Two controllers, and applications in flight."""
    lease = f"lease-{scene.namespace}"
    words = ("--namespaces", scene.namespace, "--leader-elect", "--lease", lease)
    first, second = (
        controller_in(scene.folder / name, scene.proxy.url, scene.plane.token, *words) for name in ("first", "second")
    )
    try:
        await first.start()
        await until_held(scene, lease)
        await second.start()
        lives = await scene.submit(names_of(applications // 4))
        async with asyncio.timeout(DEADLINE):
            while len(scene.node.drivers) < len(lives) // 2:  # noqa: ASYNC110 - a dictionary is no Event
                await asyncio.sleep(0.01)
        yield Pair(first, second, lives)
    finally:
        await first.kill()
        await second.kill()


@pytest.mark.slow
async def test_the_leader_is_killed_with_two_hundred_applications_in_flight(scene: Scene) -> None:
    async with pair_amid(scene, 200) as pair:
        await pair.first.kill()
        await scene.until_over(pair.lives)


async def test_a_leader_that_was_suspended_comes_back_when_another_leads(scene: Scene) -> None:
    """It wakes up in the middle of what it was doing, and believes itself to be the leader for all it knows."""
    async with pair_amid(scene, 40) as pair:
        os.kill(pair.first.pid, signal.SIGSTOP)
        async with asyncio.timeout(DEADLINE):
            while "ResourceReleased" not in pair.second.log:  # noqa: ASYNC110 - a file is no Event
                await asyncio.sleep(0.1)
        os.kill(pair.first.pid, signal.SIGCONT)
        await scene.until_over(pair.lives)
        await scene.until_over(await scene.submit(["success-90", "restart-90"]))
        assert pair.first.is_running


async def until_held(scene: Scene, lease: str) -> None:
    """Wait until somebody leads."""
    async with asyncio.timeout(DEADLINE):
        while True:
            try:
                document = await scene.client.get(LEASES, lease, NAMESPACE)
            except NotFound:
                document = {}
            if document.get("spec", {}).get("holderIdentity"):
                return
            await asyncio.sleep(0.1)
