"""Interrupted watches and compacted history: the controller detects all changes."""

import asyncio

import aiohttp
import pytest

from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.reconcile.harness import state_of
from tests.reliability.scene import DEADLINE, Scene

from control_plane import ControlPlane

pytestmark = pytest.mark.timeout(900)

_ALL_LIVES = ("success", "failure", "restart", "deletion")


def build_names(number: int) -> list[str]:
    """Return `number` application names for each life."""
    return [f"{life}-{each:02}" for life in _ALL_LIVES for each in range(number)]


async def test_applications_complete_if_watches_are_cut_every_second(scene: Scene) -> None:
    scene.proxy.watch_seconds = 1.0
    await scene.controller.start()
    await scene.wait_until_completed(await scene.submit(build_names(5)))
    # On a fast machine, the applications may complete before each watch was interrupted twice.
    async with asyncio.timeout(DEADLINE):
        while scene.proxy.watches <= 6:  # noqa: ASYNC110 - the proxy's count is no Event
            await asyncio.sleep(0.01)
    await scene.wait_until_completed(await scene.submit(["success-99"]))


async def test_applications_complete_after_api_server_restart(scene: Scene) -> None:
    await scene.controller.start()
    lives = await scene.submit([*build_names(12), "success-12", "restart-12"])
    async with asyncio.timeout(DEADLINE):
        while len(scene.node.drivers) < len(lives) // 3:  # noqa: ASYNC110 - a dictionary is no Event
            await asyncio.sleep(0.01)
    scene.plane.kill_api_server()
    await asyncio.to_thread(scene.plane.start_api_server)
    await scene.wait_until_completed(lives)


async def test_changes_during_compaction_are_detected(scene: Scene) -> None:
    """The compacted versions include a creation, a deletion, and the end of a driver."""
    await scene.controller.start()
    running = await scene.submit(["deletion-00"])
    await scene.node.wait_until(running[0].key, lambda seen: seen is not None and state_of(seen) == "RunningHealthy")
    scene.proxy.hold_watches()
    await scene.client.delete(SPARK_APPLICATIONS, running[0].key.name, scene.namespace)
    fresh = await scene.submit(["success-00", "restart-00"])
    await compact(scene.plane)
    scene.plane.kill_api_server()
    await asyncio.to_thread(scene.plane.start_api_server)
    scene.proxy.release_watches()
    await scene.wait_until_completed([*running, *fresh])
    assert scene.proxy.expired > 0, "the server still knew the old versions"


async def compact(plane: ControlPlane) -> None:
    """Compact etcd to its current revision. The API server loses its cache when its process ends."""
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{plane.etcd}/v3/kv/range", json={"key": "AA=="}) as answer:
            revision = (await answer.json())["header"]["revision"]
        request = {"revision": revision, "physical": True}
        async with session.post(f"{plane.etcd}/v3/kv/compaction", json=request) as answer:
            assert answer.status == 200, await answer.text()
