"""Several controllers, of which one leads: when it dies, another goes on."""

import asyncio

import pytest

from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import LEASES
from tests.reliability.scene import DEADLINE, Scene, controller_in
from tests.reliability.test_streams import names_of

NAMESPACE = "default"
_APPLICATIONS_OF_A_LIFE = 50


@pytest.mark.timeout(900)
async def test_the_leader_is_killed_with_two_hundred_applications_in_flight(scene: Scene) -> None:
    lease = f"lease-{scene.namespace}"
    words = ("--namespaces", scene.namespace, "--leader-elect", "--lease", lease)
    controllers = [
        controller_in(scene.folder / name, scene.proxy.url, scene.plane.token, *words) for name in ("first", "second")
    ]
    first, second = controllers
    try:
        await first.start()
        await until_held(scene, lease)
        await second.start()
        lives = await scene.submit(names_of(_APPLICATIONS_OF_A_LIFE))
        async with asyncio.timeout(DEADLINE):
            while len(scene.node.drivers) < len(lives) // 2:  # noqa: ASYNC110 - a dictionary is no Event
                await asyncio.sleep(0.01)
        await first.kill()
        await scene.until_over(lives)
    finally:
        for controller in controllers:
            await controller.kill()


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
