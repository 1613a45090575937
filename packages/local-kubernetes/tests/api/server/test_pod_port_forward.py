"""Connections to a port of a pod, which the API server forwards in a WebSocket."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from api.builders import PODS, Api, build_pod
from api.conftest import RecordedLogs

PROTOCOLS = ("v4.channel.k8s.io",)
DEADLINE = 30.0


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """The port of a program that answers each line, and ends the connection after the line `bye`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended.clear()
        while line := await reader.readline():
            writer.write(b"you said " + line)
            if line == b"bye\n":
                break
        writer.close()
        await writer.wait_closed()
        ended.set()

    ended = asyncio.Event()
    ended.set()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.wait_for(ended.wait(), DEADLINE)


@pytest.fixture
async def running(api: Api, logs: RecordedLogs, port: int) -> Api:
    """Return a server with the pod `it`, whose port 15002 is served on another one of this machine."""
    await api.post(PODS, build_pod("it"))
    await api.patch(f"{PODS}/it/status", {"status": {"phase": "Running", "podIP": "127.0.0.1"}})
    logs.ports[("default", "it", 15002)] = port
    return api


async def receive(socket: aiohttp.ClientWebSocketResponse) -> list[bytes]:
    """Return all messages until the server closes the connection."""
    async with asyncio.timeout(DEADLINE):
        return [message.data async for message in socket]


async def test_connection_is_forwarded_in_both_directions(running: Api) -> None:
    url = f"{running.url}{PODS}/it/portforward?ports=15002"
    async with running.session.ws_connect(url, protocols=PROTOCOLS) as socket:
        await socket.send_bytes(b"\0hello\n")
        await socket.send_bytes(b"\0bye\n")
        first, second, *data = await receive(socket)
    number = (15002).to_bytes(2, "little")
    assert (first, second) == (b"\0" + number, b"\1" + number)
    assert b"".join(one.removeprefix(b"\0") for one in data) == b"you said hello\nyou said bye\n"


async def test_closed_port_is_reported_on_the_channel_for_errors(running: Api) -> None:
    url = f"{running.url}{PODS}/it/portforward?ports=1"
    async with running.session.ws_connect(url, protocols=PROTOCOLS) as socket:
        *_, error = await receive(socket)
    assert error.startswith(b"\1could not forward port 1: ")


async def test_client_can_close_the_connection(running: Api) -> None:
    url = f"{running.url}{PODS}/it/portforward?ports=15002"
    async with running.session.ws_connect(url, protocols=PROTOCOLS) as socket:
        await socket.send_bytes(b"\0hello\n")
        async with asyncio.timeout(DEADLINE):
            while b"you said" not in (await socket.receive()).data:
                pass
        await socket.close()
        assert socket.close_code == aiohttp.WSCloseCode.OK


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("it/portforward", 400),
        ("it/portforward?ports=0", 400),
        ("it/portforward?ports=1&ports=2", 400),
        ("waiting/portforward?ports=1", 400),
        ("missing/portforward?ports=1", 404),
    ],
)
async def test_connection_that_cannot_be_forwarded_is_refused(running: Api, path: str, status: int) -> None:
    await running.post(PODS, build_pod("waiting"))
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await running.session.ws_connect(f"{running.url}{PODS}/{path}", protocols=PROTOCOLS)
    assert caught.value.status == status


async def test_request_without_a_websocket_is_refused(running: Api) -> None:
    answer = await running.get(f"{PODS}/it/portforward?ports=15002")
    assert answer.refusal == (400, "BadRequest")
    assert "forwards ports over v4.channel.k8s.io only" in answer.body["message"]
