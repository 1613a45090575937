"""Requests for subresources: logs, bindings, evictions, scales, and requests to pods."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

from aiohttp import web

from ..kinds.documents import JsonObject, format_timestamp, get_text
from ..kinds.kinds import PODS, Kind
from ..kinds.missing_features import find_missing_subresource
from ..kinds.status import (
    build_bad_request,
    build_method_not_allowed,
    build_not_found,
    build_not_implemented,
    build_resource_not_found,
    build_unsupported_media_type,
    build_verb_not_supported,
)
from ..patching.patch import apply_json_patch, apply_merge_patch
from ..rendering.presentation import build_json_response
from ..requests.bodies import decode, read_bytes, read_object
from ..requests.requests import parse_delete_options
from ..rules.metadata import ensure_metadata
from ..store.store import Store
from . import resources
from .handlers import VERBS, ResourceRequest
from .pod_port_forward import forward_connection, parse_forwarded_port
from .pod_proxy import FindPort, find_first_port, forward_request, split_name
from .podlogs import PodLogs, find_container, parse_log_options, require_started
from .scale import build_scale, with_scale

_WRITE_SECONDS = 60.0
_EVICTIONS = Kind("policy", "evictions", "Eviction")
_SUCCESS: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class SubresourceHandlers:
    """The subresources except for `status`, which `handlers` serves.

    Args:
        store: The cluster's objects.
        logs: The source of the logs of pods.
        find_port: Finds the ports of pods.
    """

    def __init__(self, store: Store, logs: PodLogs, find_port: FindPort) -> None:
        self._store = store
        self._logs = logs
        self._find_port = find_port

    async def handle(self, request: ResourceRequest) -> web.StreamResponse:
        """Answer a request for a subresource.

        Raises:
            ApiStatusError: The request is refused; 501 for subresources that the local cluster lacks.
        """
        name = (request.path.subresource or "").split("/")[0]
        handlers: dict[str, tuple[tuple[str, ...], Callable[..., Awaitable[web.StreamResponse]]]] = {}
        if request.served.kind.key == PODS.key:
            handlers["log"] = (("GET",), self._log)
            handlers["eviction"] = (("POST",), self._evict)
            handlers["proxy"] = (("GET", "HEAD"), self._proxy)
            handlers["portforward"] = (("GET", "POST"), self._forward_port)
        if request.served.scale is not None:
            handlers["scale"] = (("GET", "PUT", "PATCH"), self._scale)
        if name not in handlers:
            absent = find_missing_subresource(request.served.kind.qualified_name, name)
            if absent is not None:
                raise build_not_implemented(absent)
            raise (
                build_not_found(request.served.kind, request.name)
                if request.served.kind.custom
                else build_resource_not_found()
            )
        methods, handler = handlers[name]
        if request.http.method not in methods and request.served.kind.custom:
            raise build_verb_not_supported(request.served.kind, VERBS.get(request.http.method, ""))
        if request.http.method not in methods:
            raise build_method_not_allowed()
        return await handler(request)

    async def _log(self, request: ResourceRequest) -> web.StreamResponse:
        options = parse_log_options(request.name, request.http.query)
        pod = self._store.objects.get_shared(PODS, *request.place)
        container = find_container(pod, options)
        if not pod["spec"].get("nodeName"):
            return web.Response(status=204)
        require_started(pod, container, options)
        pieces = await self._logs.read(request.path.namespace or "", request.name, container, options)
        return await _send_log(request.http, pieces)

    async def _proxy(self, request: ResourceRequest) -> web.StreamResponse:
        name, port = split_name(request.name)
        namespace = request.path.namespace or ""
        pod = self._store.objects.get_shared(PODS, namespace, name)
        address = get_text(pod, ("status", "podIP"))
        if not address:
            raise build_bad_request("address not allowed")
        port = self._find_port(namespace, name, port or find_first_port(pod))
        return await forward_request(request.http, address, port)

    async def _forward_port(self, request: ResourceRequest) -> web.StreamResponse:
        pod = self._store.objects.get_shared(PODS, *request.place)
        port = parse_forwarded_port(request.http)
        if get_text(pod, ("status", "phase")) != "Running":
            raise build_bad_request(f"pod {request.name} is not running")
        target = self._find_port(request.path.namespace or "", request.name, port)
        return await forward_connection(request.http, port, get_text(pod, ("status", "podIP")), target)

    async def _evict(self, request: ResourceRequest) -> web.StreamResponse:
        eviction = await read_object(request.http)
        _check_eviction(request, eviction)
        options = parse_delete_options(request.http.query, eviction.get("deleteOptions") or {})
        self._store.delete(
            PODS, *request.place, uid=options.uid, resource_version=options.resource_version, dry_run=True
        )
        if not options.dry_run:
            self._store.update(PODS, *request.place, _add_disruption, subresource="status")
            self._store.delete(PODS, *request.place, grace_seconds=options.grace_seconds)
        return build_json_response(_SUCCESS, 201)

    async def _scale(self, request: ResourceRequest) -> web.StreamResponse:
        served, options = request.served, request.parse_write_options()
        current = self._store.objects.get_shared(served.kind, *request.place)
        if request.http.method != "GET":
            if request.http.method == "PUT":
                wanted = await read_object(request.http)
            else:
                wanted = await _patch_scale(request, build_scale(served, current))
            current = resources.change_object(
                self._store, served, request.place, lambda item: with_scale(served, item, wanted), options, "scale"
            )
        return build_json_response(build_scale(served, current))


def _add_disruption(pod: JsonObject) -> JsonObject:
    """Add the condition by which controllers recognize an evicted pod."""
    why = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
    times = {"lastProbeTime": None, "lastTransitionTime": format_timestamp(datetime.now(UTC))}
    others = [item for item in pod["status"].get("conditions") or () if item["type"] != "DisruptionTarget"]
    pod["status"]["conditions"] = [*others, {"type": "DisruptionTarget", "status": "True", **why, **times}]
    return pod


def _check_eviction(request: ResourceRequest, eviction: JsonObject) -> None:
    """Reject an eviction of another kind, or of another pod than the path names."""
    kind, version = eviction.get("kind"), eviction.get("apiVersion")
    if kind not in (None, _EVICTIONS.kind) or version not in (None, _EVICTIONS.api_version):
        detail = f'{kind} in version "{version}" cannot be handled as a {_EVICTIONS.kind}: {_EVICTIONS.api_version} is'
        raise build_bad_request(f"{detail} expected")
    metadata = ensure_metadata(eviction)
    if metadata.get("name") != request.name:
        raise build_bad_request("name in URL does not match name in Eviction object")
    if metadata.get("namespace") not in (None, request.path.namespace):
        raise build_bad_request("the namespace of the provided object does not match the namespace sent on the request")


async def _patch_scale(request: ResourceRequest, scale: JsonObject) -> JsonObject:
    media_type = request.http.content_type
    patch = decode(await read_bytes(request.http), media_type)
    if media_type == resources.JSON_PATCH:
        patched: JsonObject = apply_json_patch(scale, patch)
    elif media_type in (resources.MERGE_PATCH, resources.STRATEGIC_PATCH):
        patched = apply_merge_patch(scale, patch)
    else:
        raise build_unsupported_media_type((resources.JSON_PATCH, resources.MERGE_PATCH))
    return patched


async def _send_log(request: web.Request, pieces: AsyncIterator[bytes]) -> web.StreamResponse:
    """Answer with a log as it is written; disconnect a client that reads nothing for a minute."""
    answer = web.StreamResponse(headers={"Content-Type": "text/plain", "Cache-Control": "no-cache"})
    await answer.prepare(request)
    try:
        async for piece in pieces:
            async with asyncio.timeout(_WRITE_SECONDS):
                await answer.write(piece)
        await answer.write_eof()
    except (TimeoutError, ConnectionError):
        if request.transport is not None:
            request.transport.abort()
    finally:
        close = getattr(pieces, "aclose", None)
        if close is not None:
            await close()
    return answer
