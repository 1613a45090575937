"""Any request of the controller may go wrong, before or after the server has done what was asked."""

import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

import pytest
from aiohttp import web

from tests.reliability.lives import parametrize_lives
from tests.reliability.proxy import Fault, ReceivedRequest, build_refusal, reset_connection, send_no_answer
from tests.reliability.scene import Scene, open_scene

from control_plane import ControlPlane

FAULTS: Mapping[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {
    "conflict": build_refusal(409, "Conflict"),
    "toomany": build_refusal(429, "TooManyRequests"),
    "error": build_refusal(500, "InternalError"),
    "reset": reset_connection,
    "silence": send_no_answer,
}
# A minute goes by until the controller gives up a request that nobody answers: each of them keeps one worker.
_WORKERS = 200
# What a life takes at the least, reading and writing.
_FEWEST_REQUESTS = 8


class FaultPlan:
    """A plan for the proxy: of each application one request goes wrong, as the application's name says.

    Attributes:
        requests: how many each application has taken.
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
@parametrize_lives(quick="success")
async def test_application_completes_if_any_request_fails(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory, life: str
) -> None:
    async with open_scene(plane, tmp_path_factory.mktemp(life), "--workers", str(_WORKERS)) as scene:
        await scene.controller.start()
        most = await _count_requests(scene, [f"{life}-error-after-{number}" for number in range(90, 95)])
        assert most >= _FEWEST_REQUESTS
        parts = itertools.product(FAULTS, ("before", "after"), range(1, most + 1))
        names = [f"{life}-{kind}-{when}-{number:02}" for kind, when, number in parts]
        striking = scene.proxy.plan = FaultPlan(names)
        await scene.wait_until_completed(await scene.submit(names))
    # What goes wrong takes more requests, never fewer, so that every one of them has come to it.
    spared = {name: number for name, number in striking.requests.items() if number < int(name.rpartition("-")[2])}
    assert not spared


async def _count_requests(scene: Scene, names: list[str]) -> int:
    """How many a life takes in which nothing goes wrong; one that is looked at late may take more."""
    striking = scene.proxy.plan = FaultPlan(names)
    await scene.wait_until_completed(await scene.submit(names))
    return min(striking.requests.values())
