"""The `proxy` subresource of pods: requests to a port of a pod, through the API server. Only GET is served."""

import re
from collections.abc import Callable
from typing import TypeAlias

import aiohttp
from aiohttp import web

from ..kinds.documents import JsonObject
from ..kinds.status import ApiStatusError, build_bad_request

FindPort: TypeAlias = Callable[[str, str, int], int]
"""Returns the port of this machine on which a pod serves one of its ports, from its namespace, name and port."""

_NAME = re.compile(r"(?:(?P<scheme>https?)?:)?(?P<name>[^:]+)(?::(?P<port>\d{1,5})?)?")
_PATH = re.compile(r"/+api/+v1/+namespaces/+[^/]+/+pods/+[^/]+/+proxy(?P<path>.*)")
# Headers of one connection, or of a body that this server decodes.
_OWN_HEADERS = frozenset({"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"})
_PIECE = 64 * 1024
_CONNECT_SECONDS = 30.0


def split_name(name: str) -> tuple[str, int | None]:
    """Return the pod and the port of a name in the path: `POD`, `POD:PORT` or `http:POD:PORT`.

    Raises:
        ApiStatusError: 400 if the name has another format. 501 for TLS.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise build_bad_request(f'invalid pod request "{name}"')
    if found["scheme"] == "https":
        raise ApiStatusError(501, "NotImplemented", "pods/proxy with https is not part of the local cluster")
    return found["name"], int(found["port"]) if found["port"] else None


def find_first_port(pod: JsonObject) -> int:
    """Return the first port that a pod declares. The port is 80 if it declares none, as in Kubernetes."""
    ports = (port for one in pod["spec"].get("containers") or () for port in one.get("ports") or ())
    return int(next((port["containerPort"] for port in ports), 80))


async def forward_request(request: web.Request, address: str, port: int) -> web.StreamResponse:
    """Answer a request with the answer of a program of a pod.

    Args:
        request: The request, whose path ends with `proxy` or has the path of the program after it.
        address: The address of the pod.
        port: The port of the program.

    Raises:
        ApiStatusError: 503 if the program does not answer.
    """
    found = _PATH.fullmatch(request.rel_url.raw_path)
    path = found["path"] if found else ""
    if not path:
        return web.Response(status=301, headers={"Location": f"{request.rel_url.raw_path}/"})
    query = f"?{request.rel_url.raw_query_string}" if request.rel_url.raw_query_string else ""
    url = f"http://{address}:{port}{path}{query}"
    headers = {key: value for key, value in request.headers.items() if key.lower() in ("accept", "user-agent")}
    timeout = aiohttp.ClientTimeout(total=None, connect=_CONNECT_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(request.method, url, headers=headers, allow_redirects=False) as received,
        ):
            kept = {key: value for key, value in received.headers.items() if key.lower() not in _OWN_HEADERS}
            answer = web.StreamResponse(status=received.status, headers=kept)
            await answer.prepare(request)
            async for piece in received.content.iter_chunked(_PIECE):
                await answer.write(piece)
            await answer.write_eof()
            return answer
    except aiohttp.ClientConnectionError as error:
        raise ApiStatusError(503, "ServiceUnavailable", f"error trying to reach service: {error}") from error
