"""HTTP requests to the API: authentication, timeouts, bounded retries, and every failure as a `KubeError`."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache, lru_cache

import aiohttp
from yarl import URL

from .. import __version__
from ..core.kubernetes.json_object import JsonObject
from .bounded_json import read_json, weigh
from .call import Call, CallObserver, RequestCheck, RequestGate
from .checked_connector import check_before_sending
from .errors import Forbidden, KubeError, NotFound, ServerError, Unauthorized, Unreachable
from .failed_requests import (
    RequestRetryPolicy,
    had_no_effect,
    is_kubernetes_not_found,
    parse_status,
    read_retry_after,
    translate_errors,
)
from .link import Link, Links

CONNECT_SECONDS = 10.0
REQUEST_SECONDS = 60.0
_HEADERS = {"Accept": "application/json, */*;q=0.5", "User-Agent": f"airflow-provider-spark-operator/{__version__}"}
_SWITCHING_PROTOCOLS = 101
_FORBIDDEN = 403
# How long to wait until the server confirms that a WebSocket is closed.
_CLOSE_SECONDS = 1.0
_ERROR_BODY_LIMIT = 64 * 1024
# The time of an answer is in whole seconds, and the answer takes some time.
_CLOCK_PRECISION = timedelta(seconds=2)
# The answers of one second have the same time.
_parse_date = lru_cache(maxsize=8)(parsedate_to_datetime)


class AnswerTooLarge(Exception):
    """An answer is larger than the caller permits."""


class Transport:
    """Requests to one API server over one pool of connections.

    Args:
        links: The server and the credentials. Both may change. Closed with the transport.
        retry: The retry policy for reads and for throttled requests (429).
        observer: Called after every request that was not cancelled, including retries.
        gate: Awaited before every request, including retries. If None, there is no gate.
        check: Called before the connection for a request is opened, and again when it is open. If it raises an error,
            the request is not sent. If None, every request is sent.
    """

    def __init__(
        self,
        links: Links,
        *,
        retry: RequestRetryPolicy | None = None,
        observer: CallObserver | None = None,
        gate: RequestGate | None = None,
        check: RequestCheck | None = None,
    ) -> None:
        self.links = links
        self._retry = retry or RequestRetryPolicy()
        self._observer = observer
        self._gate = gate
        self._check = check
        self._lead = timedelta(0)  # of the clock of the API server

    @property
    def server(self) -> str:
        """The address of the API server."""
        return self.links.current.server

    def get_time(self) -> datetime:
        """Return the current time by the clock of the API server, as its last answer shows it."""
        return datetime.now(UTC) + self._lead

    async def close(self) -> None:
        """Close every connection."""
        await self.links.close()

    async def request(self, call: Call) -> JsonObject:
        """Send a call and return the JSON object of the answer. See `request_sized` for the errors."""
        return (await self.request_sized(call))[0]

    async def request_sized(self, call: Call, largest: int | None = None) -> tuple[JsonObject, int]:
        """Send a call and return the JSON object of the answer, and its size.

        Args:
            call: The request.
            largest: The maximum size of the answer, see `bounded_json.weigh`. If None, there is no maximum, and the
                returned size is 0.

        Raises:
            AnswerTooLarge: The answer is larger than `largest`.
            KubeError: The API rejected the request, did not return a JSON object, or could not be reached.
        """
        retry = 0
        while True:
            try:
                return await self._request_once(call, largest)
            except KubeError as error:
                pause = self._retry.compute_pause(retry, error)
                if pause is None:
                    raise
            retry += 1
            await asyncio.sleep(pause)

    async def _request_once(self, call: Call, largest: int | None = None) -> tuple[JsonObject, int]:
        async with self.stream(call, total_seconds=REQUEST_SECONDS) as response:
            content = await response.read() if largest is None else await read_up_to(response, largest)
        size = 0 if largest is None else weigh(content)
        if largest is not None and size > largest:
            raise AnswerTooLarge
        try:
            document = await read_json(content, call.object_level)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise call.build_error(
                502, {"reason": "NoKubernetesAnswer", "message": f"{self.server} did not return a JSON object"}
            )
        return document, size

    @asynccontextmanager
    async def stream(self, call: Call, *, total_seconds: float | None) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a call and return the answer with its body unread.

        A failure while the body is read inside the `async with` also raises a `KubeError`.

        Args:
            call: The request.
            total_seconds: The time limit for the whole answer. None for a stream without a limit.

        Raises:
            KubeError: As for `request`, but without its retries. If the request was rejected with 401 or could not be
                sent, the configuration is reloaded. If it has changed, the request is sent once more. The answer of a
                program in a pod reloads nothing, because the program chooses its status.
        """
        async with AsyncExitStack() as links:
            link, response = await self._send_on_working_link(call, total_seconds, links)
            with translate_errors(call, link, total_seconds):
                try:
                    yield response
                finally:
                    _drop(response)

    @asynccontextmanager
    async def open_websocket(self, call: Call, protocol: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Open a WebSocket, and close it at the end of the context.

        Args:
            call: The request.
            protocol: The subprotocol.

        Raises:
            KubeError: As for `stream`. A WebSocket that is lost later ends like one that the server closes.
        """
        link = self.links.current
        async with link:
            socket = await self._connect_websocket(link, call, protocol)
            try:
                yield socket
            finally:
                await socket.close()

    async def _connect_websocket(self, link: Link, call: Call, protocol: str) -> aiohttp.ClientWebSocketResponse:
        if self._gate is not None:
            await self._gate(call)
        began = time.monotonic()
        with translate_errors(call, link, REQUEST_SECONDS):
            try:
                async with asyncio.timeout(REQUEST_SECONDS):
                    headers = {**_HEADERS, **await link.credentials.get_headers()}
                    with check_before_sending(self._check, call):
                        socket = await link.session.ws_connect(
                            URL(link.server + call.path),
                            params=call.parameters,
                            protocols=(protocol,),
                            headers=headers,
                            proxy=link.proxy,
                            server_hostname=link.tls_server_name,
                            timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
                        )
            except aiohttp.WSServerHandshakeError as error:
                self._report(call, error.status, began)
                status = error.status
            else:
                self._report(call, _SWITCHING_PROTOCOLS, began)
                return socket
        raise await self._find_refusal(call, status)

    async def _find_refusal(self, call: Call, status: int) -> KubeError:
        """Return the error for a refused WebSocket. Its answer has no body, so the request is sent without upgrade."""
        try:
            await self._request_once(call)
        except KubeError as error:
            # The check of the second permission ends with an empty reason.
            is_second = isinstance(error, Forbidden) and error.message.rstrip().endswith("is forbidden:")
            if not is_second and (error.status == status or isinstance(error, Forbidden | NotFound | Unauthorized)):
                return error
        if status == _FORBIDDEN:  # Kubernetes 1.35 and later require a second permission
            advice = f'grant the verb "create" on {call.rbac_resource} in namespace {call.namespace}'
            return call.build_error(status, {"message": f"a websocket is not permitted; {advice}"})
        message = f"{self.server} opened no websocket: HTTP status {status}"
        return call.build_error(502, {"reason": "NoWebsocket", "message": message})

    async def _send_on_working_link(
        self, call: Call, total_seconds: float | None, links: AsyncExitStack
    ) -> tuple[Link, aiohttp.ClientResponse]:
        """Send on the current link, or on the link that replaces it if the configuration has changed."""
        link = self.links.current
        await links.enter_async_context(link)
        try:
            with translate_errors(call, link, total_seconds):
                return link, await self._send(link, call, total_seconds)
        except KubeError as error:
            if not _may_be_outdated(error, call) or not await self._renew(link, error) or not had_no_effect(error):
                raise
            renewed = self.links.current
            if _is_continuation(call) and renewed.fingerprint.connection != link.fingerprint.connection:
                raise
        await links.enter_async_context(renewed)
        with translate_errors(call, renewed, total_seconds):
            return renewed, await self._send(renewed, call, total_seconds)

    async def _renew(self, link: Link, error: KubeError) -> bool:
        renewed = await self.links.renew(link, rejected=isinstance(error, Unauthorized))
        if not renewed and self.links.problem:
            error.message += f" (could not reload the configuration: {self.links.problem})"
        return renewed

    async def _send(self, link: Link, call: Call, total_seconds: float | None) -> aiohttp.ClientResponse:
        authentication = await link.credentials.get_headers()
        response = await self._send_observed(link, call, total_seconds, authentication)
        if response.status == 401:
            refusal = await self._read_error(link, call, response)
            # Without headers, a client certificate was rejected. Only another link can replace it.
            if call.is_proxied or not authentication or not await link.credentials.renew(authentication):
                raise refusal
            response = await self._send_observed(link, call, total_seconds, await link.credentials.get_headers())
        if response.status >= 300:
            raise await self._read_error(link, call, response)
        return response

    async def _send_observed(
        self, link: Link, call: Call, total_seconds: float | None, authentication: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        if self._gate is not None:
            await self._gate(call)
        began = time.monotonic()
        try:
            with check_before_sending(self._check, call):
                response = await self._send_as(link, call, total_seconds, authentication)
        except (TimeoutError, aiohttp.ClientError, OSError):
            self._report(call, None, began)
            raise
        self._report(call, response.status, began)
        if call.is_forwarded:
            return response
        with suppress(KeyError, TypeError, ValueError):  # a proxy may answer without a time
            lead = _parse_date(response.headers["Date"]) - datetime.now(UTC)
            self._lead = lead if abs(lead) > _CLOCK_PRECISION else timedelta(0)
        return response

    def _report(self, call: Call, status: int | None, began: float) -> None:
        if self._observer is not None:
            self._observer(call, status, time.monotonic() - began)

    async def _send_as(
        self, link: Link, call: Call, total_seconds: float | None, authentication: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        data, headers = None, {**_HEADERS, **authentication}
        if call.body is not None:
            data, headers["Content-Type"] = json.dumps(call.body).encode(), call.content_type
        return await link.session.request(
            call.method,
            URL(link.server + call.path),
            params=call.parameters or None,
            data=data,
            headers=headers,
            proxy=link.proxy,
            server_hostname=link.tls_server_name,
            timeout=_build_timeout(total_seconds),
            # The API never redirects. Redirects lead to login pages, which must not receive the token.
            allow_redirects=False,
        )

    async def _read_error(self, link: Link, call: Call, response: aiohttp.ClientResponse) -> KubeError:
        try:
            content = b""
            while len(content) < _ERROR_BODY_LIMIT and (chunk := await response.content.readany()):
                content += chunk
        finally:
            _drop(response)
        message = ""
        if 300 <= response.status < 400:
            message = f"{link.server} redirects to another address: it is not a Kubernetes API server"
        elif response.status == 404 and not is_kubernetes_not_found(content):
            message = (
                f"{link.server} answered HTTP status 404 without a Kubernetes Status: it is not a Kubernetes API server"
            )
        if message:
            return call.build_error(502, {"reason": "NoKubernetesAnswer", "message": message})
        error = call.build_error(response.status, parse_status(content), read_retry_after(response))
        if isinstance(error, Unauthorized):
            error.renewal = link.renewal
        return error


@cache
def _build_timeout(total_seconds: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=total_seconds, connect=CONNECT_SECONDS)


async def read_up_to(response: aiohttp.ClientResponse, largest: int) -> bytes:
    """Return the body of an answer. Raise AnswerTooLarge if it has more than `largest` bytes."""
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > largest:
            raise AnswerTooLarge
    return bytes(content)


def _drop(response: aiohttp.ClientResponse) -> None:
    """Close an answer. An answer that was read to its end has already released its connection."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        # Do not wait for the TLS shutdown: the server of a watch may not answer it, and the socket would outlive the
        # event loop.
        connection.transport.abort()
    response.close()


def _may_be_outdated(error: KubeError, call: Call) -> bool:
    """Return whether the address or the credentials may have changed since the configuration was read."""
    without_answer = isinstance(error, Unreachable) and error.__cause__ is not None
    return without_answer or (isinstance(error, Unauthorized | ServerError) and not call.is_proxied)


def _is_continuation(call: Call) -> bool:
    """Return whether the call refers to state of one server: a resource version or a page."""
    return call.verb == "watch" or "continue" in call.parameters
