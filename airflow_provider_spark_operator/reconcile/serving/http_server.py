"""A small HTTP server for metrics, and for the probes `/healthz` and `/readyz`."""

import asyncio
import errno
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from aiohttp import web

EVERYWHERE: Final = "*"
"""The address that stands for all interfaces."""


def choose_address() -> str:
    """Return the default address of the servers: all interfaces in a pod, otherwise the loopback interface.

    Prometheus and the kubelet reach a pod from outside. On another machine, other users could read the metrics.
    """
    return EVERYWHERE if "KUBERNETES_SERVICE_HOST" in os.environ else "127.0.0.1"


@asynccontextmanager
async def serve_pages(
    address: str, port: int, pages: Mapping[str, Callable[[web.Request], Awaitable[web.Response]]]
) -> AsyncIterator[int]:
    """Serve `pages` while the body runs; yield the port.

    Args:
        address: The IP address of an interface, or `EVERYWHERE`.
        port: The port; 0 for a free port.
        pages: The handlers of GET requests, by path.

    Raises:
        OSError: The port is in use or not permitted, or the address belongs to no interface.
    """
    application = web.Application()
    for path, page in pages.items():
        application.router.add_get(path, page)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listen(address, port)).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def listen(address: str, port: int) -> socket.socket:
    """Listen on the IP address of an interface, or on all interfaces if the address is `EVERYWHERE`.

    Raises:
        OSError: The port is in use or not permitted, or the address belongs to no interface.
    """
    if address == EVERYWHERE:
        return _listen_everywhere(port)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, port), family=family)


def _listen_everywhere(port: int) -> socket.socket:
    # A pod may have no IPv4 address.
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:  # IPv6 is supported but disabled
                raise
    return socket.create_server(("", port))


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
