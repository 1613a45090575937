"""The probes of the controller: `/healthz` and `/readyz`."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from aiohttp import web

from .http_server import EVERYWHERE, serve_pages

logger = logging.getLogger(__name__)


_INTERVAL = 0.1
_LONGEST_STALL = 3.0
# Three periods of the chart's readiness probe.
_REPORTED_SECONDS = 15.0


class StallMonitor:
    """Measures for how long the event loop does not run tasks, because a computation or the machine blocks it.

    Args:
        report: Called about ten times per second with the delay of a task, in seconds.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, report: Callable[[float], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._report = report
        self._clock = clock
        self._last_run = clock()
        self._last_stall: float | None = None

    async def run(self) -> None:
        """Measure until cancelled."""
        self._last_run = self._clock()
        while True:
            await asyncio.sleep(_INTERVAL)
            self.measure()

    def measure(self) -> None:
        """Report the delay since the last measurement."""
        now = self._clock()
        delay = max(0.0, now - self._last_run - _INTERVAL)
        self._last_run = now
        self._report(delay)
        if delay >= _LONGEST_STALL:
            self._last_stall = now
            logger.warning("the event loop did not run for %.1f s: it or its machine is overloaded", delay)

    @property
    def has_stalled(self) -> bool:
        """Whether a long stall ended a short time ago, or has not ended yet."""
        now = self._clock()
        is_recent = self._last_stall is not None and now - self._last_stall < _REPORTED_SECONDS
        return is_recent or now - self._last_run >= _LONGEST_STALL + _INTERVAL


def serve_health(
    port: int, *, is_healthy: Callable[[], bool], is_ready: Callable[[], bool], address: str = EVERYWHERE
) -> AbstractAsyncContextManager[int]:
    """Serve the probes while the body runs; yield the port.

    Args:
        address: The IP address of an interface, or `EVERYWHERE`.
        port: The port; 0 for a free port.
        is_healthy: Whether the process must not be restarted.
        is_ready: Whether the process is ready to work.

    Raises:
        OSError: The port is in use or not permitted.
    """
    return serve_pages(address, port, {"/healthz": _build_probe(is_healthy), "/readyz": _build_probe(is_ready)})


def _build_probe(condition: Callable[[], bool]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if condition() else web.Response(status=503, text="not yet\n")

    return answer
