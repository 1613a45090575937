"""A small HTTP server beside the controller, for those who watch over it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def serving(
    port: int, pages: Mapping[str, Callable[[web.Request], Awaitable[web.Response]]]
) -> AsyncIterator[int]:
    """Serve `pages` (by path) on all interfaces, where a kubelet or Prometheus looks for them; give the port.

    Args:
        port: 0 for a free one.
        pages: what answers a GET.

    Raises:
        OSError: the port is taken or not permitted.
    """
    application = web.Application()
    for path, page in pages.items():
        application.router.add_get(path, page)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "0.0.0.0", port).start()  # noqa: S104 - who asks comes from outside
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
