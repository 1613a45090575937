"""A small client for any API server, from a kubeconfig; some tests also run against a real cluster."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from local_kubernetes.api.kinds.kinds import Kind

from contract.servers import read_server

Json = dict[str, Any]


class ApiError(Exception):
    """The server rejected a request."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class WatchEvent:
    """One change of an object."""

    type: str
    object: Json


class Client:
    """Requests to one server; cluster-scoped kinds have the namespace None."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.url = url
        self._session = session

    async def get(self, kind: Kind, name: str, namespace: str | None) -> Json:
        answer: Json = await self._send("GET", f"{_build_path(kind, namespace)}/{name}")
        return answer

    async def logs(self, namespace: str, pod: str, **parameters: str) -> list[str]:
        """Return the lines of the log of a pod's only container."""
        address = f"{self.url}/api/v1/namespaces/{namespace}/pods/{pod}/log"
        async with self._session.get(address, params=parameters) as response:
            await _raise_refusal(response)
            return (await response.text()).splitlines()

    async def list(self, kind: Kind, namespace: str | None, **parameters: str) -> list[Json]:
        items: list[Json] = (await self._send("GET", _build_path(kind, namespace), parameters=parameters))["items"]
        return items

    async def create(self, kind: Kind, document: Json, namespace: str | None) -> Json:
        answer: Json = await self._send("POST", _build_path(kind, namespace), document)
        return answer

    async def patch(self, kind: Kind, name: str, namespace: str | None, change: Json, subresource: str = "") -> Json:
        path = f"{_build_path(kind, namespace)}/{name}" + (f"/{subresource}" if subresource else "")
        answer: Json = await self._send("PATCH", path, change)
        return answer

    async def delete(self, kind: Kind, name: str, namespace: str | None, *, grace_seconds: int | None = None) -> None:
        options = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        await self._send("DELETE", f"{_build_path(kind, namespace)}/{name}", options)

    async def watch(self, kind: Kind, namespace: str, **parameters: str) -> AsyncGenerator[WatchEvent]:
        """Yield the changes of objects until the server ends the stream; an expired version raises ApiError 410."""
        address = self.url + _build_path(kind, namespace)
        async with self._session.get(address, params={"watch": "true", **parameters}) as response:
            await _raise_refusal(response)
            async for line in response.content:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(event["object"]["code"], event["object"]["message"])
                yield WatchEvent(event["type"], event["object"])

    async def _send(self, method: str, path: str, body: object = None, parameters: dict[str, str] | None = None) -> Any:
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": content_type}
        address = self.url + path
        async with self._session.request(method, address, data=data, params=parameters, headers=headers) as response:
            await _raise_refusal(response)
            return await response.json()


@asynccontextmanager
async def open_client(kubeconfig: Path) -> AsyncGenerator[Client]:
    """Open a client of the server in the current context of a kubeconfig."""
    server = read_server(kubeconfig)
    connector = aiohttp.TCPConnector(ssl=server.tls) if server.tls else aiohttp.TCPConnector()
    headers = {"Authorization": f"Bearer {server.token}"} if server.token else {}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        yield Client(session, server.url)


def _build_path(kind: Kind, namespace: str | None) -> str:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
    return f"{root}/namespaces/{namespace}/{kind.plural}" if namespace else f"{root}/{kind.plural}"


async def _raise_refusal(response: aiohttp.ClientResponse) -> None:
    if response.status >= 400:
        raise ApiError(response.status, (await response.json())["message"])
