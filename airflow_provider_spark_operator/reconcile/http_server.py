"""A small HTTP server for probes and metrics."""

import errno
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def serve_pages(
    port: int, pages: Mapping[str, Callable[[web.Request], Awaitable[web.Response]]]
) -> AsyncIterator[int]:
    """Serve `pages` on all interfaces while the body runs; yield the port.

    Args:
        port: The port; 0 for a free port.
        pages: The handlers of GET requests, by path.

    Raises:
        OSError: The port is in use or not permitted.
    """
    application = web.Application()
    for path, page in pages.items():
        application.router.add_get(path, page)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listen_everywhere(port)).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def listen_everywhere(port: int) -> socket.socket:
    """Listen on all interfaces, including IPv6 if it is available: a pod may have no other address.

    Raises:
        OSError: The port is in use or not permitted.
    """
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:  # IPv6 is supported but disabled
                raise
    return socket.create_server(("", port))
