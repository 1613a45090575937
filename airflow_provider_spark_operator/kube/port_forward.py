"""Forward a TCP connection to a port of a pod, over a WebSocket of the API.

The protocol is `v4.channel.k8s.io` of the subresource `pods/portforward`. Each message begins with the number of its
channel: 0 for data and 1 for errors. The first message of each channel repeats the port. One WebSocket carries one
connection, and cannot close only one direction.
"""

import asyncio
from typing import Final, Protocol

import aiohttp

from .client import KubeClient

_DATA: Final = 0
_ERROR: Final = 1
_CHUNK: Final = 64 * 1024
_PORT_BYTES: Final = 2


class PortForwardError(Exception):
    """The pod does not accept connections at the port. The message is that of its node."""


class Reader(Protocol):
    """The readable side of a connection, as of `asyncio.StreamReader`."""

    async def read(self, n: int, /) -> bytes:
        """Return up to `n` bytes; nothing at the end."""
        ...


class Writer(Protocol):
    """The writable side of a connection, as of `asyncio.StreamWriter`."""

    def write(self, data: bytes, /) -> None:
        """Write bytes to a buffer."""

    async def drain(self) -> None:
        """Wait until the buffer is not full."""
        ...


async def forward_connection(
    client: KubeClient, namespace: str, pod: str, port: int, reader: Reader, writer: Writer
) -> None:
    """Copy data in both directions until one side closes the connection. The caller closes the local side.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the pod.
        pod: The name of the pod.
        port: The port in the pod.
        reader: The local side, to read from.
        writer: The local side, to write to.

    Raises:
        PortForwardError: Nothing listens at the port of the pod.
        KubeError: The API rejected the request or could not be reached.
        OSError: The local side failed.
    """
    async with client.open_port(namespace, pod, port) as socket:
        tasks = {
            asyncio.create_task(_send(reader, socket)),
            asyncio.create_task(_receive(socket, writer)),
        }
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _send(reader: Reader, socket: aiohttp.ClientWebSocketResponse) -> None:
    while data := await reader.read(_CHUNK):
        await socket.send_bytes(bytes([_DATA]) + data)


async def _receive(socket: aiohttp.ClientWebSocketResponse, writer: Writer) -> None:
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
            writer.write(data)
            await writer.drain()
        elif channel == _ERROR and data:
            raise PortForwardError(data.decode("utf-8", "replace").strip())
