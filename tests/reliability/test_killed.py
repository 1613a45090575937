"""A controller that is killed after any write and then restarted."""

import asyncio
import itertools

import pytest
from aiohttp import web

from airflow_provider_spark_operator.kube.resources import LEASES
from airflow_provider_spark_operator.reconcile.objects.lease import DEFAULT_LEASE
from tests.reliability.harness import Harness
from tests.reliability.proxy import Fault, ReceivedRequest, reset_connection
from tests.reliability.scripts import parametrize_scripts

# The minimum: finalizer, config map, driver, owner, service, network policy, and two writes of the status.
_FEWEST_WRITES = 8


class KillPlan:
    """A plan for the proxy: kill the controller after its n-th write for an application has reached the server.

    Events do not count, because the controller writes them in the background.

    Attributes:
        strikes: Whether the n-th write was received.
        has_struck: Set when the process has ended.
    """

    def __init__(self, harness: Harness, name: str, number: int) -> None:
        self.strikes = False
        self.has_struck = asyncio.Event()
        self._harness = harness
        self._name = name
        self._remaining_writes = number

    def __call__(self, received: ReceivedRequest) -> Fault | None:
        if received.is_write and not received.is_event and received.is_about(self._name):
            self._remaining_writes -= 1
            if self._remaining_writes == 0:
                self.strikes = True
                return Fault(self._strike, after=True)
        return None

    async def _strike(self, request: web.Request) -> web.StreamResponse:
        killing = asyncio.create_task(self._kill())
        await asyncio.shield(killing)
        return await reset_connection(request)

    async def _kill(self) -> None:
        await self._harness.controller.kill()
        self.has_struck.set()


@pytest.mark.timeout(1200)
@parametrize_scripts(quick="restart")
async def test_application_completes_if_controller_is_killed_after_any_write(harness: Harness, script: str) -> None:
    await harness.controller.start()
    for number in itertools.count(1):
        name = f"{script}-{number:02}"
        killing = harness.proxy.plan = KillPlan(harness, name, number)
        completion = asyncio.create_task(harness.wait_until_completed(await harness.submit([name])))
        struck = asyncio.create_task(killing.has_struck.wait())
        await asyncio.wait({completion, struck}, return_when=asyncio.FIRST_COMPLETED)
        if killing.strikes:
            await struck
            # The next process would wait until the Lease of the killed one expires.
            await harness.client.delete(LEASES, DEFAULT_LEASE, harness.namespace)
            await harness.controller.start()
        struck.cancel()
        await completion
        if not killing.strikes:
            break
    assert number > _FEWEST_WRITES
