"""Requests for resources: the verb, its options and its answer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from ..kinds.documents import JsonObject
from ..kinds.kinds import NAMESPACES
from ..kinds.status import (
    ApiStatusError,
    PageNotFound,
    build_expired,
    build_method_not_allowed,
    build_resource_not_found,
    build_success,
    build_verb_not_supported,
)
from ..rendering.presentation import Presentation, Presenter, build_encoded_response, build_json_response, negotiate
from ..requests.bodies import decode, read_bytes, read_object, read_required_object
from ..requests.requests import (
    DeleteOptions,
    ListOptions,
    ResourcePath,
    WriteOptions,
    check_patch_options,
    decode_continuation,
    encode_continuation,
    parse_delete_options,
    parse_list_options,
    parse_write_options,
)
from ..store.registry import ServedKind
from ..store.store import Store
from ..store.watch import Event
from . import resources
from .watch_stream import Watch, send_as_lines, send_as_messages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


VERBS = {"DELETE": "delete", "PATCH": "patch", "POST": "create", "PUT": "update"}


@dataclass(frozen=True)
class ResourceRequest:
    """A request for a resource, with its path and headers parsed.

    Args:
        http: The request.
        path: The parsed path.
        served: The kind, in the requested version.
        presentation: The format of the answer.
    """

    http: web.Request
    path: ResourcePath
    served: ServedKind
    presentation: Presentation

    @property
    def presenter(self) -> Presenter:
        """The presenter of the answer."""
        return Presenter(self.served, self.presentation)

    @property
    def name(self) -> str:
        """The name in the path."""
        return self.path.name or ""

    @property
    def place(self) -> tuple[str | None, str]:
        """The namespace and name in the path."""
        return self.path.namespace, self.name

    def build_answer(self, document: JsonObject, status: int = 200, warnings: tuple[str, ...] = ()) -> web.Response:
        """Return an answer with an object of the kind, and warnings for the client."""
        answer = build_json_response(self.presenter.present_one(document), status)
        for warning in warnings:
            quoted = warning.replace("\\", "\\\\").replace('"', '\\"')
            answer.headers.add("Warning", f'299 - "{quoted}"')
        return answer

    def build_list_answer(self, events: list[Event], metadata: JsonObject) -> web.Response:
        """Return an answer with the last changes of objects as a list with this metadata."""
        if self.presenter.plain:
            return build_encoded_response(self.presenter.encode_list(events, metadata))
        return build_json_response(self.presenter.present_list([event.current for event in events], metadata))

    def parse_write_options(self) -> WriteOptions:
        """Return the options of a write."""
        kind = {"POST": "CreateOptions", "PUT": "UpdateOptions"}.get(self.http.method, "PatchOptions")
        return parse_write_options(self.http.query, self.http.headers.get("User-Agent", ""), kind)


def parse(http: web.Request, path: ResourcePath, served: ServedKind) -> ResourceRequest:
    """Check a request against its kind, and read the format of the answer.

    Raises:
        ApiStatusError: 404 for a namespace of a cluster-scoped kind, 405 for a creation without a namespace, 406.
    """
    if not served.kind.namespaced and path.namespace is not None:
        raise PageNotFound if served.kind.custom else build_resource_not_found()
    if served.kind.namespaced and path.namespace is None and path.name is not None:
        raise build_resource_not_found()
    if served.kind.namespaced and path.namespace is None and http.method != "GET":
        raise build_method_not_allowed()
    presentation = negotiate(http.headers.get("Accept", ""), http.query.get("includeObject"))
    return ResourceRequest(http, path, served, presentation)


class ResourceHandlers:
    """The verbs of resources.

    Args:
        store: The cluster's objects.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watches: set[Watch] = set()

    async def handle(self, request: ResourceRequest) -> web.StreamResponse:
        """Answer a request for a collection, an object, or its status.

        Raises:
            ApiStatusError: The request is refused.
        """
        method = request.http.method
        if request.path.name is None:
            verbs: dict[str, Callable[[ResourceRequest], Awaitable[web.StreamResponse]]] = {
                "GET": self._list,
                "POST": self._create,
                "DELETE": self._delete_collection,
            }
        else:
            verbs = {"GET": self._get, "PUT": self._replace, "PATCH": self._patch}
            if request.path.subresource is None:
                verbs["DELETE"] = self._delete
        verb = verbs.get(method)
        if verb is None and request.path.subresource and request.served.kind.custom:
            raise build_verb_not_supported(request.served.kind, VERBS.get(method, method.lower()))
        if verb is None:
            raise build_method_not_allowed()
        return await verb(request)

    def close(self) -> None:
        """End all watches."""
        for watch in list(self._watches):
            watch.close()

    async def _get(self, request: ResourceRequest) -> web.StreamResponse:
        event = self._store.objects.get_event(request.served.kind, *request.place)
        if request.presenter.plain:
            return build_encoded_response(event.encode(request.served.api_version))
        return request.build_answer(event.current)

    async def _create(self, request: ResourceRequest) -> web.StreamResponse:
        options = request.parse_write_options()
        body = await read_required_object(request.http)
        created = resources.create(self._store, request.served, request.path.namespace, body, options)
        return request.build_answer(created, 201, tuple(options.warnings))

    async def _replace(self, request: ResourceRequest) -> web.StreamResponse:
        options = request.parse_write_options()
        body = await read_required_object(request.http)
        subresource = request.path.subresource
        existed = self._store.objects.exists(request.served.kind, *request.place)
        replaced = resources.replace(self._store, request.served, request.place, body, options, subresource)
        return request.build_answer(replaced, 200 if existed else 201, tuple(options.warnings))

    async def _patch(self, request: ResourceRequest) -> web.StreamResponse:
        options = request.parse_write_options()
        media_type = request.http.content_type
        check_patch_options(request.http.query, applies=media_type == resources.APPLY_PATCH)
        content = (media_type, decode(await read_bytes(request.http), media_type))
        patched, created = resources.patch(
            self._store, request.served, request.place, content, options, request.path.subresource
        )
        return request.build_answer(patched, 201 if created else 200, tuple(options.warnings))

    async def _delete(self, request: ResourceRequest) -> web.StreamResponse:
        options = parse_delete_options(request.http.query, await read_object(request.http))
        kind = request.served.kind
        deleted = self._delete_one(request.served, request.path.namespace, request.name, options)
        if kind.returns_deleted or "deletionTimestamp" in deleted["metadata"]:
            return request.build_answer(deleted)
        return build_json_response(build_success(kind, request.name, deleted["metadata"]["uid"]))

    async def _delete_collection(self, request: ResourceRequest) -> web.StreamResponse:
        kind = request.served.kind
        if kind.key == NAMESPACES.key:
            raise build_method_not_allowed()
        selection = parse_list_options(request.http.query, kind)
        options = parse_delete_options(request.http.query, await read_object(request.http))
        version = self._store.objects.version
        events = list(self._store.objects.list_events(kind, request.path.namespace, selection.labels, selection.fields))
        for event in events:
            place = (event.current["metadata"].get("namespace"), event.current["metadata"]["name"])
            if self._store.objects.exists(kind, *place):  # the deletion of another object may have deleted it
                self._delete_one(request.served, *place, options)
        metadata = {"resourceVersion": str(version)} | ({"continue": ""} if kind.custom else {})
        return request.build_list_answer(events, metadata)

    def _delete_one(self, served: ServedKind, namespace: str | None, name: str, options: DeleteOptions) -> JsonObject:
        return self._store.delete(
            served.kind,
            namespace,
            name,
            grace_seconds=options.grace_seconds,
            propagation=options.propagation,
            uid=options.uid,
            resource_version=options.resource_version,
            dry_run=options.dry_run,
        )

    async def _list(self, request: ResourceRequest) -> web.StreamResponse:
        options = parse_list_options(request.http.query, request.served.kind)
        if options.watch:
            return await self._watch(request, options)
        return request.build_list_answer(*self._list_page(request.served, request.path.namespace, options))

    def _list_page(
        self, served: ServedKind, namespace: str | None, options: ListOptions
    ) -> tuple[list[Event], JsonObject]:
        """Return the last changes of the objects in one page of a list, and the list's metadata.

        All pages have the version of the first one, so that a watch from that version misses nothing.
        """
        version = self._store.objects.version
        items = list(self._store.objects.list_events(served.kind, namespace, options.labels, options.fields))
        _check_version(options, version)
        if options.continuation:
            version, after = decode_continuation(options.continuation)
            items = [item for item in items if _get_place(item.current) > after]
        metadata: JsonObject = {"resourceVersion": str(version)}
        if served.kind.custom:
            metadata["continue"] = ""
        rest = len(items) - options.limit
        if options.limit > 0 and rest > 0:
            items = items[: options.limit]
            metadata["continue"] = encode_continuation(version, _get_place(items[-1].current))
            if options.labels is None and options.fields is None:
                metadata["remainingItemCount"] = rest
        return items, metadata

    async def _watch(self, request: ResourceRequest, options: ListOptions) -> web.StreamResponse:
        watch = Watch(self._store, request.presenter, request.path.namespace, options)
        self._watches.add(watch)
        try:
            if request.http.headers.get("Upgrade", "").lower() == "websocket":
                return await send_as_messages(request.http, watch)
            return await send_as_lines(request.http, watch)
        finally:
            self._watches.discard(watch)


def _check_version(options: ListOptions, version: int) -> None:
    wanted = int(options.resource_version or 0)
    if wanted > version:
        message = f"Too large resource version: {wanted}, current: {version}"
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        raise ApiStatusError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})
    if options.version_match == "Exact" and wanted != version:
        raise build_expired(
            f"The provided resource version {wanted} is not available: omit resourceVersion to get the current list"
        )


def _get_place(document: JsonObject) -> tuple[str, str]:
    metadata = document["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
