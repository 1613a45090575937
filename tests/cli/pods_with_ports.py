"""The subresource `pods/portforward` of the scripted cluster, whose pods are not processes."""

from collections.abc import Callable

import pytest
from aiohttp import WSMsgType, web

from local_kubernetes.api.kinds.documents import JsonObject
from local_kubernetes.api.kinds.status import ApiStatusError
from local_kubernetes.api.server import discovery
from local_kubernetes.api.server.handlers import ResourceRequest
from local_kubernetes.api.server.subresources import SubresourceHandlers
from local_kubernetes.api.store.registry import KindRegistry

PROTOCOL = "v4.channel.k8s.io"


def serve_ports(monkeypatch: pytest.MonkeyPatch, accepts: Callable[[str, int], bool] = lambda _, __: True) -> None:
    """Let each pod answer a request with its name and the port, in the protocol of a kubelet.

    Args:
        monkeypatch: Ends the change with the test.
        accepts: Whether a pod listens at a port.
    """
    original, original_list = SubresourceHandlers.handle, discovery.list_resources

    def list_resources(kinds: KindRegistry, group_name: str, version: str) -> JsonObject:
        found = original_list(kinds, group_name, version)
        if group_name:
            return found
        return found | {
            "resources": [*found["resources"], {"name": "pods/portforward", "kind": "PodPortForwardOptions"}]
        }

    async def handle(self: SubresourceHandlers, request: ResourceRequest) -> web.StreamResponse:
        if request.path.subresource != "portforward":
            return await original(self, request)
        if "Upgrade" not in request.http.headers:
            raise ApiStatusError(400, "BadRequest", "Upgrade request required")
        port = int(request.http.query["ports"])
        socket = web.WebSocketResponse(protocols=(PROTOCOL,))
        await socket.prepare(request.http)
        for channel in (b"\0", b"\1"):
            await socket.send_bytes(channel + port.to_bytes(2, "little"))
        if accepts(request.name, port):
            message = await socket.receive()
            if message.type is WSMsgType.BINARY:
                await socket.send_bytes(b"\0" + build_answer(f"{request.name}:{port}"))
        else:
            await socket.send_bytes(b"\1connection refused")
        await socket.close()
        return socket

    monkeypatch.setattr(SubresourceHandlers, "handle", handle)
    monkeypatch.setattr(discovery, "list_resources", list_resources)


def build_answer(text: str) -> bytes:
    """Return an answer of a web server."""
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode()
