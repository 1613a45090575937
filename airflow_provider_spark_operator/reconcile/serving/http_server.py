"""A small HTTP server for probes and metrics."""

import errno
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
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
