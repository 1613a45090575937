"""Leader election between two controllers."""

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
from tests.reliability.harness import DEADLINE, Harness, build_controller
from tests.reliability.scripts import TrackedApplication
from tests.reliability.test_streams import build_names

pytestmark = pytest.mark.timeout(1200)


@dataclass
class Pair:
    """Two controllers, of which the first is the leader.

    Attributes:
        first: The leader.
        second: The standby.
        applications: Applications, half of which have a driver.
    """

    first: ControllerProcess
    second: ControllerProcess
    applications: list[TrackedApplication]


@asynccontextmanager
async def run_pair(harness: Harness, number: int) -> AsyncIterator[Pair]:
    """Run two controllers with `number` incomplete applications."""
    lease = f"lease-{harness.namespace}"
    words = ("--namespaces", harness.namespace, "--lease", lease)
    first, second = (
        build_controller(harness.folder / name, harness.proxy.url, harness.plane.token, *words)
        for name in ("first", "second")
    )
    try:
        await first.start()
        await wait_for_leader(harness, lease)
        await second.start()
        applications = await harness.submit(build_names(number // 4))
        async with asyncio.timeout(DEADLINE):
            while len(harness.node.drivers) < len(applications) // 2:  # noqa: ASYNC110 - a dictionary is no Event
                await asyncio.sleep(0.01)
        yield Pair(first, second, applications)
    finally:
        await first.kill()
        await second.kill()


@pytest.mark.slow
async def test_second_controller_completes_applications_after_leader_is_killed(harness: Harness) -> None:
    async with run_pair(harness, 200) as pair:
        await pair.first.kill()
        await harness.wait_until_completed(pair.applications)


async def test_suspended_leader_keeps_running_after_another_takes_over(harness: Harness) -> None:
    """The suspended leader resumes in the middle of its work and does not know yet that it lost the lease."""
    async with run_pair(harness, 40) as pair:
        os.kill(pair.first.pid, signal.SIGSTOP)
        # The leader may have completed all applications before it was suspended.
        late = await harness.submit(["success-80"])
        async with asyncio.timeout(DEADLINE):
            while "ResourceReleased" not in pair.second.log:  # noqa: ASYNC110 - a file is no Event
                await asyncio.sleep(0.1)
        os.kill(pair.first.pid, signal.SIGCONT)
        await harness.wait_until_completed([*pair.applications, *late])
        await harness.wait_until_completed(await harness.submit(["success-90", "restart-90"]))
        assert pair.first.is_running


async def wait_for_leader(harness: Harness, lease: str) -> None:
    """Wait until the lease has a holder."""
    async with asyncio.timeout(DEADLINE):
        while True:
            try:
                document = await harness.client.get(LEASES, lease, harness.namespace)
            except NotFound:
                document = {}
            if document.get("spec", {}).get("holderIdentity"):
                return
            await asyncio.sleep(0.1)
