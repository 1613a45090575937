"""Interrupted watches and compacted history: the controller detects all changes."""

import asyncio

import aiohttp
import pytest

from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.reconcile.harness import state_of
from tests.reliability.harness import DEADLINE, Harness

from control_plane import ControlPlane

pytestmark = pytest.mark.timeout(900)

_ALL_SCRIPTS = ("success", "failure", "restart", "deletion")


def build_names(number: int) -> list[str]:
    """Return `number` application names for each script."""
    return [f"{script}-{each:02}" for script in _ALL_SCRIPTS for each in range(number)]


async def test_applications_complete_if_watches_are_cut_every_second(harness: Harness) -> None:
    harness.proxy.watch_seconds = 1.0
    await harness.controller.start()
    await harness.wait_until_completed(await harness.submit(build_names(5)))
    # On a fast machine, the applications may complete before each watch was interrupted twice.
    async with asyncio.timeout(DEADLINE):
        while harness.proxy.watches <= 6:  # noqa: ASYNC110 - the proxy's count is no Event
            await asyncio.sleep(0.01)
    await harness.wait_until_completed(await harness.submit(["success-99"]))


async def test_applications_complete_after_api_server_restart(harness: Harness) -> None:
    await harness.controller.start()
    applications = await harness.submit([*build_names(12), "success-12", "restart-12"])
    async with asyncio.timeout(DEADLINE):
        while len(harness.node.drivers) < len(applications) // 3:  # noqa: ASYNC110 - a dictionary is no Event
            await asyncio.sleep(0.01)
    harness.plane.kill_api_server()
    await asyncio.to_thread(harness.plane.start_api_server)
    await harness.wait_until_completed(applications)


async def test_changes_during_compaction_are_detected(harness: Harness) -> None:
    """The compacted versions include a creation, a deletion, and the end of a driver."""
    await harness.controller.start()
    running = await harness.submit(["deletion-00"])
    await harness.node.wait_until(running[0].key, lambda seen: seen is not None and state_of(seen) == "RunningHealthy")
    harness.proxy.hold_watches()
    await harness.client.delete(SPARK_APPLICATIONS, running[0].key.name, harness.namespace)
    fresh = await harness.submit(["success-00", "restart-00"])
    await compact(harness.plane)
    harness.plane.kill_api_server()
    await asyncio.to_thread(harness.plane.start_api_server)
    harness.proxy.release_watches()
    await harness.wait_until_completed([*running, *fresh])
    assert harness.proxy.expired > 0, "the server still knew the old versions"


async def compact(plane: ControlPlane) -> None:
    """Compact etcd to its current revision. The API server loses its cache when its process ends."""
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{plane.etcd}/v3/kv/range", json={"key": "AA=="}) as answer:
            revision = (await answer.json())["header"]["revision"]
        request = {"revision": revision, "physical": True}
        async with session.post(f"{plane.etcd}/v3/kv/compaction", json=request) as answer:
            assert answer.status == 200, await answer.text()
