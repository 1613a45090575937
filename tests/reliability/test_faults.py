"""Faults of any request of the controller, before or after the server has processed the request."""

import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

import pytest
from aiohttp import web

from tests.reliability.harness import Harness, open_harness
from tests.reliability.proxy import Fault, ReceivedRequest, build_refusal, reset_connection, send_no_answer
from tests.reliability.scripts import parametrize_scripts

from control_plane import ControlPlane

FAULTS: Mapping[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {
    "conflict": build_refusal(409, "Conflict"),
    "toomany": build_refusal(429, "TooManyRequests"),
    "error": build_refusal(500, "InternalError"),
    "reset": reset_connection,
    "silence": send_no_answer,
}
# The controller gives up a request without answer after a minute. Each such request occupies one worker.
_WORKERS = 200
# The minimum number of reads and writes for one application.
_FEWEST_REQUESTS = 8


class FaultPlan:
    """A plan for the proxy: one request of each application fails.

    The name of an application selects the request and the fault.

    Attributes:
        requests: Number of requests so far, by application.
    """

    def __init__(self, names: list[str]) -> None:
        self.requests: Counter[str] = Counter()
        self._names = names

    def __call__(self, received: ReceivedRequest) -> Fault | None:
        if received.is_event:
            return None
        name = next((name for name in self._names if received.is_about(name)), None)
        if name is None:
            return None
        self.requests[name] += 1
        _, kind, when, number = name.split("-")
        return Fault(FAULTS[kind], after=when == "after") if self.requests[name] == int(number) else None


@pytest.mark.timeout(1200)
@parametrize_scripts(quick="success")
async def test_application_completes_if_any_request_fails(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory, script: str
) -> None:
    async with open_harness(plane, tmp_path_factory.mktemp(script), "--workers", str(_WORKERS)) as harness:
        await harness.controller.start()
        most = await _count_requests(harness, [f"{script}-error-after-{number}" for number in range(90, 95)])
        assert most >= _FEWEST_REQUESTS
        parts = itertools.product(FAULTS, ("before", "after"), range(1, most + 1))
        names = [f"{script}-{kind}-{when}-{number:02}" for kind, when, number in parts]
        striking = harness.proxy.plan = FaultPlan(names)
        await harness.wait_until_completed(await harness.submit(names))
    # Faults only increase the number of requests. Therefore each application must have reached its faulty request.
    spared = {name: number for name, number in striking.requests.items() if number < int(name.rpartition("-")[2])}
    assert not spared


async def _count_requests(harness: Harness, names: list[str]) -> int:
    """Return the smallest number of requests for an application without faults; a late reconciliation may need more."""
    striking = harness.proxy.plan = FaultPlan(names)
    await harness.wait_until_completed(await harness.submit(names))
    return min(striking.requests.values())


class StatusFaultPlan(FaultPlan):
    """A plan for the proxy: every third write of the status of each application fails."""

    def __call__(self, received: ReceivedRequest) -> Fault | None:
        if not received.is_write or "/status" not in received.address:
            return None
        name = next((name for name in self._names if received.is_about(name)), None)
        if name is None:
            return None
        self.requests[name] += 1
        _, kind, when, _ = name.split("-")
        return Fault(FAULTS[kind], after=when == "after") if self.requests[name] % 3 == 1 else None


async def test_failed_write_of_a_status_is_repeated_without_a_backoff(harness: Harness) -> None:
    parts = itertools.product(("toomany", "error", "reset"), ("before", "after"))
    names = [f"restart-{kind}-{when}-0" for kind, when in parts]
    plan = harness.proxy.plan = StatusFaultPlan(names)
    await harness.controller.start()
    await harness.wait_until_completed(await harness.submit(names))
    assert all(plan.requests.values())
    assert "reconcile failed" not in harness.controller.log
