"""Forward the web interface of a resource until the resource ends or the command is interrupted."""

import asyncio
import errno
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, TypeAlias

from ...follow.access.reference import ApplicationDeleted, ApplicationReference
from ...follow.watching.watch import WatchHub
from ...kube.client import KubeClient
from ...kube.errors import KubeError
from ...kube.port_forward import LOOPBACK, PortForwardError, forward_connection
from ..base.errors import CommandError, ExitCode, print_error, print_note
from ..options.declaration import Parameter

# A browser shows the text that follows, and tries again after 2 seconds.
_ANSWER: Final = (
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n"
    "Refresh: 2\r\n"
    "Connection: close\r\n\r\n"
)

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
class Interface:
    """The web interface of an application or a SparkCluster.

    Attributes:
        title: What it is, for messages.
        reference: The resource.
        find: Finds the pod and its port for a new connection. Raises Unavailable or KubeError.
        usual: The local port to use by default.
        is_over: Whether a content of the resource means that the interface never comes back.
        describe: Describes the pod behind the interface in a content of the resource. A change is printed.
        reported: The errors that were printed.
    """

    title: str
    reference: ApplicationReference
    find: Callable[[], Awaitable[tuple[str, int]]]
    usual: int
    is_over: Callable[[dict[str, Any]], bool]
    describe: Callable[[dict[str, Any]], str]
    reported: set[str] = field(default_factory=set)


def get_port(pod: Mapping[str, Any], name: str, default: int) -> int:
    """Return the port of a pod with a name, or the default if no container names it."""
    ports = (port for container in pod["spec"].get("containers") or () for port in container.get("ports") or ())
    return next((int(port["containerPort"]) for port in ports if port.get("name") == name), default)


async def forward(client: KubeClient, interface: Interface, port: int | None) -> ExitCode:
    """Print the local address of an interface, and forward connections.

    The resource is watched through outages of the API. Each connection looks for the pod anew. While the pod cannot be
    reached, a browser shows why, and tries again.

    Args:
        client: The client of the cluster.
        interface: The interface.
        port: The local port. 0 for a free one. None for the usual port, or a free one if it is in use.

    Returns:
        SUCCESS after the end of the resource, and after an interrupt, as of `kubectl port-forward`.

    Raises:
        CommandError: The port cannot be used.
        KubeError: The API rejected the watch, or could not be reached for a long time.
    """
    hub = WatchHub(client)
    try:
        async with _serve(client, interface, port) as address:
            print(f"Forwarding {address} to {interface.title} of {interface.reference}", flush=True)
            await _wait_for_end(hub, interface)
    except ApplicationDeleted:
        print_error(f"{interface.reference} was deleted")
        return ExitCode.INFRASTRUCTURE_FAILED
    except asyncio.CancelledError:
        return ExitCode.SUCCESS
    finally:
        await hub.close()
    print_note(f"{interface.reference} has ended, so {interface.title} is no longer available")
    return ExitCode.SUCCESS


async def _wait_for_end(hub: WatchHub, interface: Interface) -> None:
    described = ""
    async with aclosing(hub.follow(interface.reference)) as contents:
        async for content in contents:
            if interface.is_over(content):
                return
            if (current := interface.describe(content)) != described:
                described = current
                print_note(described)


@asynccontextmanager
async def _serve(client: KubeClient, interface: Interface, port: int | None) -> AsyncIterator[str]:
    """Forward each connection to a local port until the end of the context, and yield the address of the interface."""
    connections: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_forward_connection(client, interface, reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await _listen(accept, port, interface.usual)
    try:
        yield f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _listen(
    accept: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None], port: int | None, usual: int
) -> asyncio.Server:
    try:
        return await asyncio.start_server(accept, LOOPBACK, usual if port is None else port)
    except OSError as error:
        if port is None and error.errno in (errno.EADDRINUSE, errno.EACCES):
            return await asyncio.start_server(accept, LOOPBACK, 0)
        reason = error.strerror or str(error)
        raise CommandError(f"--port {port}: could not listen on the port: {reason}", ExitCode.INVALID) from None


async def _forward_connection(
    client: KubeClient, interface: Interface, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Forward one connection. Print each error once: a browser opens many connections."""
    has_begun = False

    async def write(data: bytes) -> None:
        nonlocal has_begun
        has_begun = True
        writer.write(data)
        await writer.drain()

    with suppress(OSError):  # the browser closed the connection
        try:
            pod, port = await interface.find()
            await forward_connection(client, interface.reference.namespace, pod, port, reader, write)
        except (KubeError, PortForwardError, Unavailable) as error:
            message = str(error)
            if not isinstance(error, Unavailable) and message not in interface.reported:
                interface.reported.add(message)
                print_error(message)
            if not has_begun:
                await write(f"{_ANSWER}{message}\n".encode())
        finally:
            writer.close()
            await writer.wait_closed()
