"""Documents for the tests of the API server, and a client that returns raw answers."""

import io
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

Document = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

NAMESPACES = "/api/v1/namespaces"
PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"


def build_pod(name: str, **metadata: Any) -> Document:
    return {"metadata": {"name": name, **metadata}, "spec": {"containers": [{"name": "main", "image": "i:1"}]}}


def build_config_map(name: str, data: Mapping[str, str] | None = None, **metadata: Any) -> Document:
    return {"metadata": {"name": name, **metadata}, "data": dict(data or {})}


def build_thing(
    name: str, status: Document | None = None, metadata: Document | None = None, /, **spec: Any
) -> Document:
    document = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"name": "abc", **spec},
    }
    return document | ({"status": status} if status else {})


def build_owner(document: Document, **more: Any) -> Document:
    """Return a reference to an object as an owner."""
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "name": document["metadata"]["name"],
        "uid": document["metadata"]["uid"],
        **more,
    }


def build_definition() -> Document:
    """Return a definition of `things` in two versions, with defaults, rules and both subresources."""
    items = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "string"}}}
    spec = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
            "replicas": {"type": "integer", "minimum": 0, "default": 1},
            "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "port": {"x-kubernetes-int-or-string": True},
            "texts": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "entries": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": items,
            },
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    status = {"type": "object", "properties": {"phase": {"type": "string"}, "replicas": {"type": "integer"}}}
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}}
    version = {
        "served": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
        "additionalPrinterColumns": [
            {"name": "Mode", "type": "string", "jsonPath": ".spec.mode"},
            {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing", "shortNames": ["th"]},
            "versions": [{"name": "v1", "storage": True, **version}, {"name": "v1alpha1", "storage": False, **version}],
        },
    }


@dataclass(frozen=True)
class Reply:
    """An answer of the server."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def refusal(self) -> tuple[int, str]:
        """The code and reason of a Status."""
        return self.body["code"], self.body["reason"]


class Api:
    """A client that adds nothing but the token."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session = session
        self.url = url

    async def send(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        sent = dict(headers or {})
        data: io.BytesIO | None = None
        if body is not None:
            sent["Content-Type"] = content_type
            data = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
        async with self.session.request(method, self.url + path, data=data, headers=sent) as response:
            text = await response.text()
            is_json = response.content_type == "application/json"
            return Reply(response.status, json.loads(text) if is_json and text else text, response.headers)

    async def get(self, path: str, **headers: str) -> Reply:
        return await self.send("GET", path, headers=headers)

    async def post(self, path: str, body: object) -> Reply:
        return await self.send("POST", path, body)

    async def put(self, path: str, body: object) -> Reply:
        return await self.send("PUT", path, body)

    async def patch(self, path: str, body: object, content_type: str = MERGE_PATCH) -> Reply:
        return await self.send("PATCH", path, body, content_type)

    async def delete(self, path: str, body: object = None) -> Reply:
        return await self.send("DELETE", path, body)

    async def create(self, path: str, body: object) -> Document:
        """Create an object; fail if the server rejects it."""
        reply = await self.post(path, body)
        assert reply.status == 201, reply.body
        document: Document = reply.body
        return document

    async def names(self, path: str) -> list[str]:
        """Return the names of the objects in a list."""
        return [item["metadata"]["name"] for item in (await self.get(path)).body["items"]]

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[AsyncIterator[Document]]:
        """Yield the events of a watch while the context is open."""
        async with self.session.get(self.url + path) as response:
            assert response.status == 200, await response.text()
            yield _read_events(response)


async def _read_events(response: aiohttp.ClientResponse) -> AsyncIterator[Document]:
    async for line in response.content:
        yield json.loads(line)
