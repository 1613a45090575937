"""A small HTTP server beside the controller, for those who watch over it."""

import errno
import socket
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
        await web.SockSite(runner, listen_everywhere(port)).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def listen_everywhere(port: int) -> socket.socket:
    """A socket for all interfaces, by IPv6 as well where there is that: a pod may have no other address.

    Raises:
        OSError: the port is taken or not permitted.
    """
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:  # the protocol is there, and switched off
                raise
    return socket.create_server(("", port))
