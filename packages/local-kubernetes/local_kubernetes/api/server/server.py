"""The HTTP server of the local cluster."""

import asyncio
import hmac
import logging
import re
import ssl
from urllib.parse import unquote

from aiohttp import web

from ..kinds import missing_features
from ..kinds.documents import JsonObject
from ..kinds.status import (
    ApiStatusError,
    PageNotFound,
    build_bad_request,
    build_method_not_allowed,
    build_not_implemented,
    build_unauthorized,
)
from ..rendering.presentation import build_json_response
from ..requests.bodies import MAX_BODY_BYTES, read_required_object
from ..requests.requests import parse_path
from ..store.registry import KindRegistry
from ..store.store import Store
from . import discovery, openapi, reviews
from .handlers import ResourceHandlers, parse
from .pod_proxy import FindPort
from .podlogs import PodLogs
from .subresources import SubresourceHandlers

_LOG = logging.getLogger(__name__)
_HEALTH_PATHS = frozenset({"/healthz", "/livez", "/readyz"})
_SHUTDOWN_SECONDS = 2.0
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class ApiServer:
    """Serves a store as the Kubernetes API.

    Args:
        store: The cluster's objects.
        kinds: The served kinds.
        token: Bearer token of every request, except for `/version` and the health paths.
        tls: TLS settings. If None, the server uses plain HTTP.
        logs: The source of the logs of pods.
        find_port: Finds the ports of pods. By default, a pod listens on the port that a request names.
    """

    def __init__(
        self,
        store: Store,
        kinds: KindRegistry,
        *,
        token: str,
        tls: ssl.SSLContext | None,
        logs: PodLogs,
        find_port: FindPort = lambda namespace, pod, port: port,  # noqa: ARG005 - the pod does not matter
    ) -> None:
        self._kinds = kinds
        self._journal = store.journal
        self._token = token
        self._tls = tls
        self._resources = ResourceHandlers(store)
        self._subresources = SubresourceHandlers(store, logs, find_port)
        self._runner: web.AppRunner | None = None
        self._listener: asyncio.Server | None = None
        self._address = ""

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen, and return the port; 0 selects a free port.

        Raises:
            OSError: The port is in use or not permitted.
        """
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        application.router.add_route("*", r"/{path:[\s\S]*}", self._serve)
        runner = web.AppRunner(
            application, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS, handler_cancellation=True
        )
        await runner.setup()
        assert runner.server is not None  # noqa: S101 - set by setup()
        try:
            loop = asyncio.get_running_loop()
            self._listener = await loop.create_server(runner.server, host, port, ssl=self._tls)
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        bound: int = self._listener.sockets[0].getsockname()[1]
        self._address = f"{host}:{bound}"
        return bound

    async def stop(self) -> None:
        """Close all watches and connections; can be called repeatedly."""
        runner, self._runner = self._runner, None
        if runner is not None:
            self._resources.close()
            await self._stop_listening()
            await runner.cleanup()

    async def _stop_listening(self) -> None:
        """Close the listening socket after the connections that it has accepted are complete.

        asyncio never closes a connection that it accepts in the iteration of the event loop in which its server closes.
        """
        listener, self._listener = self._listener, None
        if listener is None:
            return
        for one in listener.sockets:
            asyncio.get_running_loop().remove_reader(one.fileno())
        await asyncio.sleep(0)
        listener.close()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        try:
            answer = await self._answer(request)
            if self._journal is not None and request.method not in ("GET", "HEAD"):
                await self._journal.sync()
            return answer
        except ApiStatusError as error:
            return _build_refusal(error)
        except RecursionError:
            return _build_refusal(build_bad_request("the body is nested too deeply"))
        except web.HTTPException:
            raise
        except Exception as error:
            if isinstance(error, ConnectionError) and (request.transport is None or request.transport.is_closing()):
                # The client has left. aiohttp would log the exception, but ignores an answer that cannot be sent.
                return web.Response()
            _LOG.exception("%s %s failed", request.method, request.path)
            detail = f"internal error of the local cluster: {type(error).__name__}: {error}"
            return _build_refusal(ApiStatusError(500, "InternalError", detail))

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = "/" + request.rel_url.raw_path.strip("/")
        if path == "/" != request.rel_url.raw_path:
            raise PageNotFound
        if _BAD_ESCAPE.search(path):
            return web.Response(status=400, text="400 Bad Request")
        if path in _HEALTH_PATHS or path.startswith(tuple(f"{item}/" for item in _HEALTH_PATHS)):
            return web.Response(text="ok")
        if path == "/version":
            if request.method not in ("GET", "HEAD"):
                raise build_method_not_allowed()
            return build_json_response(discovery.VERSION)
        if not self._is_authorized(request):
            raise build_unauthorized()
        if path == "/openapi/v2" and openapi.PROTOBUF_ASKED in request.headers.get("Accept", ""):
            return web.Response(headers={"Content-Type": openapi.PROTOBUF})
        found = self._describe_server(path)
        if found is not None:
            if request.method not in ("GET", "HEAD"):
                raise build_method_not_allowed()
            return build_json_response(found)
        return await self._answer_resource(request, path)

    async def _answer_resource(self, request: web.Request, path: str) -> web.StreamResponse:
        target = parse_path(path)
        if target is None:
            raise PageNotFound
        if (target.group, target.plural) in reviews.REVIEWS and target.version == "v1":
            if request.method != "POST":
                raise build_method_not_allowed()
            review = await read_required_object(request)
            return build_json_response(reviews.answer_review(target.group, target.plural, review), 201)
        served = self._kinds.find(target.group, target.version, target.plural)
        if target.name is not None and (target.subresource is None or "/" not in target.subresource):
            _check_name(target.name)
        wanted = parse(request, target, served)
        if target.subresource is None or (target.subresource == "status" and served.kind.status):
            return await self._resources.handle(wanted)
        return await self._subresources.handle(wanted)

    def _describe_server(self, path: str) -> JsonObject | None:
        """Return the answer to a request for the server's own information; None for any other request."""
        if path == "/api":
            return discovery.list_api_versions(self._address)
        if path == "/apis":
            return discovery.list_groups(self._kinds)
        if path == "/openapi/v2":
            return openapi.build_swagger()
        if path == "/openapi/v3":
            return openapi.build_index(self._kinds)
        if path.startswith("/openapi/v3/"):
            return openapi.build_document(self._kinds, path.removeprefix("/openapi/v3/"))
        if path in missing_features.PATHS:
            raise build_not_implemented(f"{path} is not part of the local cluster")
        return self._describe_groups(path)

    def _describe_groups(self, path: str) -> JsonObject | None:
        if path.startswith("/openapi/"):
            raise PageNotFound
        parts = [unquote(part) for part in path.split("/")[1:]]
        if parts[0] == "api" and len(parts) == 2:
            return discovery.list_resources(self._kinds, "", parts[1])
        if parts[0] == "apis" and len(parts) == 2:
            return discovery.get_group(self._kinds, parts[1])
        if parts[0] == "apis" and len(parts) == 3:
            return discovery.list_resources(self._kinds, parts[1], parts[2])
        return None

    def _is_authorized(self, request: web.Request) -> bool:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token.encode())


def _check_name(name: str) -> None:
    """Reject path elements that cannot be names, because they could lead out of a directory."""
    found = f"'{name}'" if name in (".", "..") else "'%'" if "%" in name else ""
    if found:
        verb = "contain" if "%" in name else "be"
        raise build_bad_request(f'Name parameter invalid: "{name}": may not {verb} {found}')


def _build_refusal(error: ApiStatusError) -> web.Response:
    if isinstance(error, PageNotFound):
        return web.Response(status=404, text=error.text)
    answer = build_json_response(error.build_document(), error.code)
    if retry := (error.details or {}).get("retryAfterSeconds"):
        answer.headers["Retry-After"] = str(retry)
    return answer
