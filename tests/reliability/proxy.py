"""A proxy for an API server that injects faults."""

import asyncio
import io
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from yarl import URL

from control_plane import Server, find_free_port

_PASSED_ON = ("Accept", "Authorization", "Content-Type", "User-Agent")
_WRITING = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that the proxy received.

    Attributes:
        method: The HTTP method.
        address: The path and the query.
        body: The content.
    """

    method: str
    address: str
    body: bytes

    @property
    def is_write(self) -> bool:
        """Return whether the request changes an object."""
        return self.method in _WRITING

    @property
    def is_watch(self) -> bool:
        """Return whether the request starts a watch."""
        return "watch=true" in self.address

    @property
    def is_event(self) -> bool:
        """Return whether the request writes a Kubernetes Event."""
        return "/events" in self.address

    def is_about(self, name: str) -> bool:
        """Return whether the request names an application or one of its objects, whose names contain its name."""
        return name in self.address or name.encode() in self.body


@dataclass(frozen=True)
class Fault:
    """A fault in the answer to a request.

    Attributes:
        answer: Sends the answer instead of the server.
        after: Whether the server receives the request nevertheless.
    """

    answer: Callable[[web.Request], Awaitable[web.StreamResponse]]
    after: bool


def build_refusal(status: int, reason: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Build a handler that answers with an error of the Kubernetes API."""
    document = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status}

    async def answer(_: web.Request) -> web.StreamResponse:
        headers = {"Retry-After": "1"} if status == 429 else {}
        text = json.dumps({**document, "message": "injected by a test"})
        return web.Response(status=status, text=text, content_type="application/json", headers=headers)

    return answer


async def send_no_answer(_: web.Request) -> web.StreamResponse:
    """Send no answer until the client gives up."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def reset_connection(request: web.Request) -> web.StreamResponse:
    """Reset the connection, as after the crash of a machine."""
    transport = request.transport
    if transport is not None:
        linger = struct.pack("ii", 1, 0)  # closes with a reset (RST)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()
    return web.Response()


class Proxy:
    """Forwards requests, or injects the faults of `plan`.

    Attributes:
        plan: Called for each request. Returns the fault, or None to forward the request.
        watch_seconds: Time in seconds after which each watch is interrupted; None for no limit.
        watches: Number of watches so far.
        expired: Number of watches that the server ended because their resource version is too old.

    Args:
        server: The API server.
    """

    def __init__(self, server: Server) -> None:
        self.plan: Callable[[ReceivedRequest], Fault | None] = lambda _: None
        self.watch_seconds: float | None = None
        self.watches = 0
        self.expired = 0
        self._server = server
        self._open = asyncio.Event()
        self._open.set()
        self._streams: set[asyncio.Task[None]] = set()
        self.port = find_free_port()

    @property
    def url(self) -> str:
        """The URL of the proxy."""
        return f"http://127.0.0.1:{self.port}"

    def hold_watches(self) -> None:
        """Interrupt all watches, and hold new ones until `release_watches`."""
        self._open.clear()
        self.cut_watches()

    def release_watches(self) -> None:
        """Start the held watches."""
        self._open.set()

    def cut_watches(self) -> None:
        """Interrupt all watches."""
        for stream in self._streams:
            stream.cancel()

    @asynccontextmanager
    async def run(self) -> AsyncIterator["Proxy"]:
        """Serve during the body."""
        application = web.Application(client_max_size=1 << 26)
        application.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1)
        connector = aiohttp.TCPConnector(ssl=self._server.tls or False, limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(None)) as self._session:
            await runner.setup()
            try:
                await web.TCPSite(runner, "127.0.0.1", self.port).start()
                yield self
            finally:
                self.cut_watches()
                await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        received = ReceivedRequest(request.method, request.path_qs, await request.read())
        if received.is_watch:
            return await self._stream(request)
        fault = self.plan(received)
        if fault is not None and not fault.after:
            return await fault.answer(request)
        try:
            async with self._send(request, received.body) as answer:
                content = await answer.read()
        except aiohttp.ClientError:
            return await reset_connection(request)
        if fault is not None:
            return await fault.answer(request)
        headers = {name: answer.headers[name] for name in ("Content-Type", "Retry-After") if name in answer.headers}
        return web.Response(status=answer.status, body=content, headers=headers)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        await self._open.wait()
        self.watches += 1
        response = web.StreamResponse()
        copying = asyncio.create_task(self._copy(request, response))
        self._streams.add(copying)
        try:
            await asyncio.wait({copying}, timeout=self.watch_seconds)
        finally:
            self._streams.discard(copying)
            copying.cancel()
            await asyncio.wait({copying})
        if not copying.cancelled() and copying.exception() is None:
            return response
        return await reset_connection(request)

    async def _copy(self, request: web.Request, response: web.StreamResponse) -> None:
        async with self._send(request, b"") as answer:
            response.set_status(answer.status)
            response.headers["Content-Type"] = answer.headers.get("Content-Type", "application/json")
            self.expired += answer.status == 410
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                self.expired += b'"type":"ERROR"' in chunk and b'"code":410' in chunk
                await response.write(chunk)
            await response.write_eof()

    def _send(self, request: web.Request, body: bytes) -> "aiohttp.client._RequestContextManager":
        return self._session.request(
            request.method,
            URL(self._server.url + request.path_qs, encoded=True),
            data=io.BytesIO(body) if body else None,
            headers={name: request.headers[name] for name in _PASSED_ON if name in request.headers},
        )
