"""Forward a TCP connection to a port of a pod, over a WebSocket of the API.

The protocol is `v4.channel.k8s.io` of the subresource `pods/portforward`. Each message begins with the number of its
channel: 0 for data and 1 for errors. The first message of each channel repeats the port. One WebSocket carries one
connection, and cannot close only one direction.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

import aiohttp

from .client import KubeClient
from .errors import KubeError

LOOPBACK: Final = "127.0.0.1"
"""Only programs on this machine can connect to a forwarded port."""

_DATA: Final = 0
_ERROR: Final = 1
_CHUNK: Final = 64 * 1024
_PORT_BYTES: Final = 2

Write: TypeAlias = Callable[[bytes], Awaitable[None]]


class PortForwardError(Exception):
    """The pod does not accept connections at the port. The message is that of its node."""


async def forward_connection(
    client: KubeClient, namespace: str, pod: str, port: int, reader: asyncio.StreamReader, write: Write
) -> None:
    """Copy data in both directions until one side closes the connection. The caller closes the local side.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the pod.
        pod: The name of the pod.
        port: The port in the pod.
        reader: The local side, to read from.
        write: Writes to the local side.

    Raises:
        PortForwardError: Nothing listens at the port of the pod.
        KubeError: The API rejected the request or could not be reached.
        OSError: The local side failed.
    """
    async with client.open_port(namespace, pod, port) as socket:
        sending = asyncio.create_task(_send(reader, socket))
        try:
            await _receive(socket, write)
        finally:
            sending.cancel()
            await asyncio.wait({sending})


async def serve_port(
    client: KubeClient,
    namespace: str,
    find: Callable[[], Awaitable[tuple[str, int]]],
    report: Callable[[Exception], None],
    port: int = 0,
) -> asyncio.Server:
    """Listen at a local port, and forward each connection to a pod.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the pod.
        find: Finds the pod and its port for a new connection.
        report: Receives the error that ended a connection.
        port: The local port. 0 for a free one.

    Raises:
        OSError: The local port cannot be used.
    """

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def write(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        with suppress(OSError):  # the local side closed the connection
            try:
                await forward_connection(client, namespace, *await find(), reader, write)
            except (KubeError, PortForwardError) as error:
                report(error)
            finally:
                writer.close()

    return await asyncio.start_server(accept, LOOPBACK, port)


async def _send(reader: asyncio.StreamReader, socket: aiohttp.ClientWebSocketResponse) -> None:
    """Send what the local side writes, and then close the WebSocket, which ends `_receive`."""
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            await socket.send_bytes(bytes([_DATA]) + data)
    await socket.close()


async def _receive(socket: aiohttp.ClientWebSocketResponse, write: Write) -> None:
    """Write what the pod sends.

    Raises:
        PortForwardError: The node reported an error.
    """
    begun: set[int] = set()
    async for message in socket:
        if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
            continue
        channel, data = message.data[0], message.data[1:]
        if channel not in begun:
            begun.add(channel)
            data = data[_PORT_BYTES:]
        if channel == _DATA and data:
            await write(data)
        elif channel == _ERROR and data:
            raise PortForwardError(data.decode("utf-8", "replace").strip())
