"""A client that records the requests of a behaviour and the normalized answers."""

import asyncio
import io
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from yarl import URL

from contract.normal import Normaliser

DEADLINE = 20.0
Document = dict[str, Any]
JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_OPAQUE = re.compile(r"(continue|resourceVersion)=[\w%-]{3,}")
_COMPARED_HEADERS = ("Content-Type", "Warning", "Retry-After", "Allow", "WWW-Authenticate")


@dataclass(frozen=True)
class Reply:
    """An unchanged answer."""

    status: int
    body: Any


@dataclass
class Conversation:
    """Requests to one server in a private namespace, and a record of the compared answers.

    Args:
        session: The connection, which adds no token.
        url: Address of the server.
        token: Bearer token; None if the connection authenticates.
        namespace: The namespace.
        ignores_messages: Whether error messages are not compared.
    """

    session: aiohttp.ClientSession
    url: str
    token: str | None
    namespace: str
    ignores_messages: bool = False
    record: list[Document] = field(default_factory=list)
    _normal: Normaliser = field(init=False)

    def __post_init__(self) -> None:
        self._normal = Normaliser(self.namespace, ignores_messages=self.ignores_messages)

    def path(self, resource: str, group: str = "v1") -> str:
        """Return the path of a resource in the namespace, such as `pods` or `pods/a/status`."""
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        return f"{root}/namespaces/{self.namespace}/{resource}"

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str | None = JSON,
        accept: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request that is not compared. A body of bytes or text is sent unchanged."""
        sent, data = self._prepare(body, content_type, accept, headers)
        async with (
            asyncio.timeout(DEADLINE),
            self.session.request(
                method, URL(self.url + path, encoded=True), data=data, headers=sent, allow_redirects=False
            ) as response,
        ):
            return Reply(response.status, _parse(await response.read(), response.content_type))

    async def ask_compared(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str | None = JSON,
        accept: str | None = None,
        headers: Mapping[str, str] | None = None,
        show: Callable[[Any], Any] | None = None,
    ) -> Reply:
        """Send a request whose answer is compared: status, relevant headers, and body.

        Args:
            method: HTTP method.
            path: Encoded path and query.
            body: Document; bytes or text are sent unchanged.
            content_type: Media type of the body; None sends none.
            accept: Media type of the answer.
            headers: Further headers.
            show: Selects the compared part of the body; by default all of it.
        """
        sent, data = self._prepare(body, content_type, accept, headers)
        async with (
            asyncio.timeout(DEADLINE),
            self.session.request(
                method, URL(self.url + path, encoded=True), data=data, headers=sent, allow_redirects=False
            ) as response,
        ):
            reply = Reply(response.status, _parse(await response.read(), response.content_type))
            reply_headers = {
                key: sorted(self._normal.text(item) for item in response.headers.getall(key))
                for key in _COMPARED_HEADERS
                if key in response.headers
            }
        if reply_headers.get("Content-Type") == [JSON] or reply.body == "":
            reply_headers.pop("Content-Type", None)
        entry: Document = {"request": self._normalize_request(method, path), "status": reply.status}
        if reply_headers:
            entry["headers"] = reply_headers
        entry["body"] = self._normal.body(show(reply.body) if show and reply.status < 300 else reply.body)
        self.record.append(entry)
        return reply

    async def get(self, path: str, **options: Any) -> Reply:
        return await self.ask_compared("GET", path, **options)

    async def post(self, path: str, body: object, **options: Any) -> Reply:
        return await self.ask_compared("POST", path, body, **options)

    async def put(self, path: str, body: object, **options: Any) -> Reply:
        return await self.ask_compared("PUT", path, body, **options)

    async def patch(self, path: str, body: object, content_type: str = MERGE_PATCH, **options: Any) -> Reply:
        return await self.ask_compared("PATCH", path, body, content_type=content_type, **options)

    async def delete(self, path: str, body: object = None, **options: Any) -> Reply:
        return await self.ask_compared("DELETE", path, body, **options)

    async def create(self, path: str, body: object) -> Document:
        """Create an object; fail if the server rejects it. Not compared."""
        reply = await self.ask("POST", path, body)
        assert reply.status == 201, reply.body
        document: Document = reply.body
        return document

    async def merge(self, path: str, patch: object) -> Reply:
        """Apply a merge patch. Not compared."""
        return await self.ask("PATCH", path, patch, content_type=MERGE_PATCH)

    async def until(self, path: str, holds: Callable[[Reply], bool], seconds: float = DEADLINE) -> Reply:
        """Repeat a request until its answer meets a condition, for the work of controllers. Not compared."""

        async def ask_again() -> Reply:
            return await self.ask("GET", path)

        return await repeat_until(ask_again, holds, seconds)

    async def wait_until_deleted(self, path: str) -> None:
        """Wait until a path returns 404."""
        await self.until(path, lambda reply: reply.status == 404)

    @asynccontextmanager
    async def watch(self, path: str, accept: str | None = None) -> AsyncIterator["Events"]:
        """Open a watch; the events that are read from it are compared."""
        sent, _ = self._prepare(None, None, accept, None)
        async with self.session.get(URL(self.url + path, encoded=True), headers=sent) as response:
            events = Events(response)
            yield events
        body = self._normal.body(events.items)
        self.record.append({"request": self._normalize_request("WATCH", path), "status": response.status, "body": body})

    def note(self, label: str, value: Any) -> None:
        """Compare a value that was derived from answers."""
        self.record.append({"note": label, "body": self._normal.body(value)})

    def _normalize_request(self, method: str, path: str) -> str:
        return _OPAQUE.sub(r"\1=…", self._normal.text(f"{method} {path}"))

    def _prepare(
        self, body: object, content_type: str | None, accept: str | None, headers: Mapping[str, str] | None
    ) -> tuple[dict[str, str], io.BytesIO | None]:
        sent = {"User-Agent": "contract/1"}
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        if accept is not None:
            sent["Accept"] = accept
        data = None
        if body is not None:
            if content_type is not None:
                sent["Content-Type"] = content_type
            data = io.BytesIO(_encode(body))
        return sent | dict(headers or {}), data


class Events:
    """The events of a watch, in the order in which they are read."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.items: list[Any] = []

    async def take(self, count: int) -> list[Any]:
        """Read the next events; skip those of objects that no behaviour creates."""
        items: list[Any] = []
        async with asyncio.timeout(DEADLINE):
            while len(items) < count:
                line = await self._response.content.readline()
                if not line:
                    break
                event = json.loads(line)
                if ((event.get("object") or {}).get("metadata") or {}).get("name") != "kube-root-ca.crt":
                    items.append(event)
        self.items += items
        return items

    async def take_rest(self) -> list[Any]:
        """Read all events until the server ends the watch."""
        return await self.take(10_000)


async def repeat_until(
    ask: Callable[[], Awaitable[Reply]], holds: Callable[[Reply], bool], seconds: float = DEADLINE
) -> Reply:
    reply: Reply | None = None
    try:
        async with asyncio.timeout(seconds):
            while True:
                reply = await ask()
                if holds(reply):
                    return reply
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"condition not met in time, last answer: {reply}") from None


def _encode(body: object) -> bytes:
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def _parse(content: bytes, content_type: str) -> Any:
    if content_type == JSON and content:
        return json.loads(content)
    return content.decode(errors="replace")
