"""The probes of the controller: `/healthz` and `/readyz`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def serve_health(
    port: int, *, is_healthy: Callable[[], bool], is_ready: Callable[[], bool]
) -> AsyncIterator[int]:
    """Serve the probes on all interfaces, where a kubelet looks for them; give the port.

    Args:
        port: 0 for a free one.
        is_healthy: whether the process is worth keeping.
        is_ready: whether it does its work.

    Raises:
        OSError: the port is taken or not permitted.
    """
    application = web.Application()
    application.router.add_get("/healthz", _probe(is_healthy))
    application.router.add_get("/readyz", _probe(is_ready))
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "0.0.0.0", port).start()  # noqa: S104 - a probe comes from outside
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _probe(holds: Callable[[], bool]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if holds() else web.Response(status=503, text="not yet\n")

    return answer
