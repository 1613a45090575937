"""A scripted API server that speaks `v4.channel.k8s.io`, as the streaming server of a kubelet does."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from aiohttp import WSMsgType, web

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, KubeError, NotFound, Unauthorized, Unreachable
from airflow_provider_spark_operator.kube.port_forward import PortForwardError, forward_connection
from tests.kube.scripted_api import ScriptedApi, deny, hang_up, refuse

PORT = 4040
DATA, ERROR = b"\0", b"\1"
PROTOCOL = "v4.channel.k8s.io"


@dataclass
class Local:
    """Both sides of a local connection.

    Attributes:
        reader: What the local program sends.
        written: What the local program receives.
    """

    reader: asyncio.StreamReader = field(default_factory=asyncio.StreamReader)
    written: bytes = b""

    async def write(self, data: bytes) -> None:
        self.written += data


def accept(
    act: Callable[[web.WebSocketResponse], Awaitable[None]],
) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    """Open a WebSocket, announce the port on both channels, and play a pod."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=(PROTOCOL,))
        await socket.prepare(request)
        assert socket.ws_protocol == PROTOCOL
        for channel in (DATA, ERROR):
            await socket.send_bytes(channel + PORT.to_bytes(2, "little"))
        await act(socket)
        await socket.close()
        return socket

    return answer


async def echo(socket: web.WebSocketResponse) -> None:
    """Return one message in two parts."""
    message = await socket.receive()
    assert message.type is WSMsgType.BINARY
    assert message.data[:1] == DATA
    await socket.send_bytes(DATA + message.data[1:3])
    await socket.send_bytes(DATA + message.data[3:])


@pytest.fixture
def local() -> Local:
    return Local()


async def forward(client: KubeClient, local: Local) -> None:
    await forward_connection(client, "jobs", "pi-driver", PORT, local.reader, local.write)


async def test_bytes_are_copied_in_both_directions(api: ScriptedApi, client: KubeClient, local: Local) -> None:
    api.script(accept(echo))
    local.reader.feed_data(b"GET / HTTP/1.1")
    await forward(client, local)
    assert local.written == b"GET / HTTP/1.1"
    (seen,) = api.requests
    assert (seen.path, seen.query) == ("/api/v1/namespaces/jobs/pods/pi-driver/portforward", {"ports": "4040"})


async def test_end_of_the_local_side_closes_the_websocket(api: ScriptedApi, client: KubeClient, local: Local) -> None:
    closed = asyncio.Event()

    async def wait_for_close(socket: web.WebSocketResponse) -> None:
        assert (await socket.receive()).type is WSMsgType.CLOSE
        closed.set()

    api.script(accept(wait_for_close))
    local.reader.feed_eof()
    await forward(client, local)
    async with asyncio.timeout(30):
        await closed.wait()


async def test_error_channel_raises_the_message_of_the_node(api: ScriptedApi, client: KubeClient, local: Local) -> None:
    async def report(socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(ERROR + b"error forwarding port 4040: connection refused\n")

    api.script(accept(report))
    with pytest.raises(PortForwardError, match=r"error forwarding port 4040: connection refused$"):
        await forward(client, local)


async def test_missing_pod_is_not_found(api: ScriptedApi, client: KubeClient, local: Local) -> None:
    api.script(*[refuse(404, 'pods "pi-driver" not found', "NotFound")] * 2)
    with pytest.raises(NotFound, match='pods "pi-driver" not found'):
        await forward(client, local)


async def test_missing_permission_is_named(api: ScriptedApi, client: KubeClient, local: Local) -> None:
    api.script(*[deny("get", "pods/portforward")] * 2)
    with pytest.raises(Forbidden, match=re.escape('grant the verb "get" on pods/portforward in namespace jobs')):
        await forward(client, local)


async def test_permission_of_newer_servers_is_named(api: ScriptedApi, client: KubeClient, local: Local) -> None:
    upgrade = refuse(400, "Upgrade request required", "BadRequest")
    api.script(deny("create", "pods/portforward"), upgrade)
    with pytest.raises(Forbidden, match=re.escape('grant the verb "create" on pods/portforward in namespace jobs')):
        await forward(client, local)


async def test_permission_that_the_server_does_not_name_is_named(
    api: ScriptedApi, client: KubeClient, local: Local
) -> None:
    api.script(*[refuse(403, 'pods "pi-driver" is forbidden: ', "Forbidden")] * 2)
    with pytest.raises(Forbidden, match=re.escape('grant the verb "create" on pods/portforward in namespace jobs')):
        await forward(client, local)


async def test_rejected_credentials_are_reported(api: ScriptedApi, client: KubeClient, local: Local) -> None:
    api.script(*[refuse(401, "Unauthorized", "Unauthorized")] * 6)
    with pytest.raises(Unauthorized):
        await forward(client, local)


async def test_server_without_websockets_is_reported(api: ScriptedApi, client: KubeClient, local: Local) -> None:
    api.script(refuse(500, "no streaming server", "InternalError"), refuse(400, "no", "BadRequest"))
    with pytest.raises(KubeError, match="opened no websocket: HTTP status 500"):
        await forward(client, local)


async def test_unreachable_server_is_reported(api: ScriptedApi, client: KubeClient, local: Local) -> None:
    api.script(*[hang_up()] * 6)
    with pytest.raises(Unreachable):
        await forward(client, local)
