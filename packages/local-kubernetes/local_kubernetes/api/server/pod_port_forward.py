"""The `portforward` subresource of pods: one connection to one port of a pod, in a WebSocket.

The protocol is `v4.channel.k8s.io`. Each message begins with the number of its channel: 0 for data, 1 for errors. The
first message of each channel contains the port.
"""

import asyncio
import contextlib

from aiohttp import WSMsgType, web

from ..kinds.status import build_bad_request

_PROTOCOL = "v4.channel.k8s.io"
_PIECE = 64 * 1024
_LAST_PORT = 65535


def parse_forwarded_port(request: web.Request) -> int:
    """Return the port that a request names.

    Raises:
        ApiStatusError: 400 if the request is not for one port, or opens no WebSocket with the protocol.
    """
    if not web.WebSocketResponse(protocols=(_PROTOCOL,)).can_prepare(request):
        raise build_bad_request(f"Upgrade request required: the local cluster forwards ports over {_PROTOCOL} only")
    ports = request.query.getall("ports", [])
    if len(ports) != 1 or not ports[0].isdecimal() or not 0 < int(ports[0]) <= _LAST_PORT:
        raise build_bad_request(f'query parameter "ports" must be one port, not {ports}')
    return int(ports[0])


async def forward_connection(request: web.Request, port: int, address: str, target: int) -> web.StreamResponse:
    """Copy data between a WebSocket and a program of a pod until one side closes the connection.

    Args:
        request: The request, which opens the WebSocket.
        port: The port of the pod.
        address: The address of the pod.
        target: The port of this machine on which the program listens.
    """
    socket = web.WebSocketResponse(protocols=(_PROTOCOL,))
    await socket.prepare(request)
    for channel in (b"\0", b"\1"):
        await socket.send_bytes(channel + port.to_bytes(2, "little"))
    try:
        reader, writer = await asyncio.open_connection(address, target)
    except OSError as error:
        cause = error.strerror or str(error)
        await socket.send_bytes(b"\1" + f"could not forward port {port}: {cause}".encode())
        await socket.close()
        return socket
    sending = asyncio.create_task(_send(reader, socket))
    try:
        async for message in socket:
            if message.type is WSMsgType.BINARY and message.data[:1] == b"\0":
                writer.write(message.data[1:])
                await writer.drain()
    except OSError:  # the program closed the connection
        pass
    finally:
        writer.close()
        sending.cancel()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return socket


async def _send(reader: asyncio.StreamReader, socket: web.WebSocketResponse) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_PIECE):
            await socket.send_bytes(b"\0" + data)
    await socket.close()
