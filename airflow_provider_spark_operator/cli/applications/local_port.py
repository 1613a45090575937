"""Serve a web interface of a pod on a port of this machine."""

import asyncio
import errno
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from ...kube.client import KubeClient
from ...kube.errors import KubeError
from ...kube.port_forward import PortForwardError, forward_connection
from ..base.errors import CommandError, print_error
from ..base.exit_codes import ExitCode
from ..options.declaration import Parameter

_LOOPBACK = "127.0.0.1"
_RETRY_SECONDS = 2

LocalPort: TypeAlias = Annotated[
    int | None,
    Parameter(
        "--port PORT",
        "local port; 0 for a free one (default: the usual port of the web interface, or a free one if another "
        "program uses it)",
        at_least=0,
        at_most=65535,
    ),
]


class Unavailable(Exception):
    """There is no pod with the web interface now. The message says why."""


@dataclass(frozen=True)
class PodPort:
    """A port of a pod."""

    namespace: str
    pod: str
    port: int


FindPort: TypeAlias = Callable[[], Awaitable[PodPort]]
"""Finds the pod for a new connection.

Raises:
    Unavailable: There is none now.
    KubeError: The API rejected the request or could not be reached.
"""


def get_port(pod: Mapping[str, Any], name: str, default: int) -> int:
    """Return the port of a pod with a name, or the default if no container names it."""
    ports = (port for container in pod["spec"].get("containers") or () for port in container.get("ports") or ())
    return next((int(port["containerPort"]) for port in ports if port.get("name") == name), default)


@asynccontextmanager
async def serve_port(client: KubeClient, find: FindPort, port: int | None, usual: int) -> AsyncIterator[str]:
    """Forward each connection to a local port until the end of the context, and yield the address of the interface.

    While the pod cannot be reached, a browser shows why, and tries again.

    Args:
        client: The client of the cluster.
        find: Called for each connection.
        port: The local port. 0 for a free one. None for the usual port, or a free one if it is in use.
        usual: The usual port.

    Raises:
        CommandError: The port cannot be used.
    """
    connections: set[asyncio.Task[None]] = set()
    reported: set[str] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_serve(client, find, reader, _LocalSide(writer), reported))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await _listen(accept, port, usual)
    try:
        yield f"http://{_LOOPBACK}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


class _LocalSide:
    """The writable side of a local connection, which remembers whether anything was written."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.has_begun = False

    def write(self, data: bytes) -> None:
        self.has_begun = True
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


Accept: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]


async def _listen(accept: Accept, port: int | None, usual: int) -> asyncio.Server:
    try:
        return await asyncio.start_server(accept, _LOOPBACK, usual if port is None else port)
    except OSError as error:
        if port is None and error.errno in (errno.EADDRINUSE, errno.EACCES):
            return await asyncio.start_server(accept, _LOOPBACK, 0)
        reason = error.strerror or str(error)
        raise CommandError(f"--port {port}: could not listen on the port: {reason}", ExitCode.INVALID) from None


async def _serve(
    client: KubeClient, find: FindPort, reader: asyncio.StreamReader, local: _LocalSide, reported: set[str]
) -> None:
    """Forward one connection. Print each error once: a browser opens many connections."""
    try:
        target = await find()
        await forward_connection(client, target.namespace, target.pod, target.port, reader, local)
    except (KubeError, PortForwardError, Unavailable) as error:
        message = str(error)
        if not isinstance(error, Unavailable) and message not in reported:
            reported.add(message)
            print_error(message)
        if not local.has_begun:
            local.write(_build_answer(message))
    except OSError:  # the browser closed the connection
        pass
    finally:
        await local.close()


def _build_answer(message: str) -> bytes:
    body = f"{message}\n".encode()
    lines = (
        "HTTP/1.1 503 Service Unavailable",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        f"Refresh: {_RETRY_SECONDS}",
        "Connection: close",
    )
    return "\r\n".join([*lines, "", ""]).encode() + body
