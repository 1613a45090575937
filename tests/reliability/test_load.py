"""Applications at a steady rate while one request in twelve fails: all complete once, and nothing leaks."""

import asyncio
import os
import random
from collections import Counter
from contextlib import suppress

import pytest

from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from bench.churn import compute_growths, read_samples
from tests.reliability.harness import DEADLINE, Harness
from tests.reliability.proxy import Fault, ReceivedRequest, build_refusal, reset_connection

# The target has a time limit, and a leak of a few bytes needs hours to show.
MINUTES = float(os.environ.get("RELIABILITY_MINUTES", "0.7"))
PER_SECOND = 4
ONE_IN = 12
SCRIPTS = ("success", "failure", "success", "restart", "success", "deletion", "success", "suspension")
FAULTS = {
    "409": Fault(build_refusal(409, "Conflict"), after=False),
    "429": Fault(build_refusal(429, "TooManyRequests"), after=False),
    "500": Fault(build_refusal(500, "InternalError"), after=False),
    "503": Fault(build_refusal(503, "ServiceUnavailable"), after=False),
    "cut": Fault(reset_connection, after=False),
    "applied, answer lost": Fault(reset_connection, after=True),
}
# The caches fill up in the first minutes.
MOST_GROWTH_KIB = 16 * 1024

pytestmark = pytest.mark.timeout(60 * MINUTES + 2 * DEADLINE)


class FaultPlan:
    """A plan for the proxy: one request in twelve fails, whatever the request is.

    Attributes:
        faults: Number of faults so far, by kind.
    """

    def __init__(self) -> None:
        self.faults: Counter[str] = Counter()
        self._random = random.Random(1)

    def __call__(self, _: ReceivedRequest) -> Fault | None:
        if self._random.randrange(ONE_IN):
            return None
        kind = self._random.choice(tuple(FAULTS))
        self.faults[kind] += 1
        return FAULTS[kind]


async def test_applications_complete_and_nothing_leaks_if_one_request_in_twelve_fails(harness: Harness) -> None:
    harness.controller.program = ("bench.churn_controller", "1")
    harness.proxy.watch_seconds = 30.0
    await harness.controller.start()
    await wait_for_samples(harness, 3)
    idle = read_samples(harness.controller.log)[-1]
    plan = harness.proxy.plan = FaultPlan()
    await run_load(harness)
    samples = read_samples(harness.controller.log)
    growths = {growth.name: growth for growth in compute_growths(samples)}
    print(*growths.values(), dict(plan.faults), f"watches={harness.proxy.watches}", sep="\n")
    assert plan.faults.keys() == FAULTS.keys()
    assert growths["rss"].late - growths["rss"].early < MOST_GROWTH_KIB
    # Idle connections stay open for some seconds.
    async with asyncio.timeout(DEADLINE):
        while any(read_samples(harness.controller.log)[-1][name] > idle[name] for name in ("tasks", "files")):  # noqa: ASYNC110
            await asyncio.sleep(1)


async def run_load(harness: Harness) -> None:
    """Run applications at a steady rate, each until it is deleted."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asyncio.TaskGroup() as group:
        for number in range(round(60 * MINUTES * PER_SECOND)):
            await asyncio.sleep(began + number / PER_SECOND - loop.time())
            group.create_task(run_application(harness, f"{SCRIPTS[number % len(SCRIPTS)]}-{number:05}"))


async def run_application(harness: Harness, name: str) -> None:
    """Run an application until it is completed, check that it had one driver for each attempt, and delete it."""
    (application,) = await harness.submit([name])
    await harness.wait_until_completed([application])
    with suppress(NotFound):
        await harness.client.delete(SPARK_APPLICATIONS, name, harness.namespace)
    async with asyncio.timeout(DEADLINE):
        await harness.node.wait_until(application.key, lambda seen: seen is None)


async def wait_for_samples(harness: Harness, number: int) -> None:
    """Wait until the controller has reported its resources `number` times."""
    async with asyncio.timeout(DEADLINE):
        while len(read_samples(harness.controller.log)) < number:  # noqa: ASYNC110 - a file is no Event
            await asyncio.sleep(0.1)
