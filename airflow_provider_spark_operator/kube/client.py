"""The verbs of the API on plain JSON objects."""

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import UTC, datetime
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

import aiohttp

from ..core.kubernetes.json_object import JsonObject
from .call import Call
from .collection import ObjectList, Trim, WatchEvent, read_events, read_pages, split_lines
from .errors import LogUnavailable, NotFound
from .link import Links
from .resources import PODS, ResourceType
from .transport import Transport

WATCH_SECONDS = 290
# The server ends a watch after `timeoutSeconds`. A watch that is later by this time has lost its connection.
WATCH_SLACK_SECONDS = 30
LONGEST_LOG_LINE = 64 * 1024
_LOG_SECONDS = 60.0
_PORT_PROTOCOL = "v4.channel.k8s.io"
# The version of the server is no resource; messages call it "version".
_VERSION = ResourceType("", "", "version", "Version")
# If a kubelet cannot read a log, it has already answered with status 200. Its error message then replaces the log.
_UNAVAILABLE_LOG = re.compile(
    rb'unable to retrieve container logs for [\w.+-]+://\S*|failed to try resolving symlinks in path "/var/log/pods/.*'
)


class PatchType(StrEnum):
    """The format of a patch: its content type."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


class KubeClient:
    """A client of one API server, created by `kube.connection.open_client`.

    Every call ends in bounded time and raises a `kube.errors.KubeError` that describes the failed request.
    `namespace=None` means all namespaces or a cluster-scoped kind.

    Args:
        transport: The transport, which is closed with the client.
        default_namespace: The default namespace: the namespace of the connection, of the kubeconfig context or
            of the pod.
        field_manager: The name of the writer that the API records for created, replaced and patched fields. If
            None, the API derives it from the user agent.
    """

    def __init__(self, transport: Transport, default_namespace: str, *, field_manager: str | None = None) -> None:
        self._transport = transport
        self.default_namespace = default_namespace
        self._written_by = {"fieldManager": field_manager} if field_manager else {}

    @property
    def server(self) -> str:
        """The address of the API server, for messages."""
        return self._transport.server

    def get_time(self) -> datetime:
        """Return the current time by the clock of the API server, which sets the creation times of objects."""
        return self._transport.get_time()

    @property
    def links(self) -> Links:
        """The connection to the API server, which may be replaced."""
        return self._transport.links

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.close()

    async def get(self, resource: ResourceType, name: str, namespace: str | None) -> JsonObject:
        """Read one object live."""
        return await self._transport.request(Call("get", "GET", resource, namespace, name))

    async def list(
        self,
        resource: ResourceType,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        trim: Trim | None = None,
        most: int | None = None,
    ) -> ObjectList:
        """Read a whole collection live, in pages that all have the same resource version.

        Args:
            resource: The kind.
            namespace: The namespace. If None, all namespaces are included.
            label_selector: Selects objects by their labels, in the syntax of the API.
            field_selector: Selects objects by their fields, in the syntax of the API.
            trim: Called with each object as soon as its page is received, to remove what the caller does not need.
            most: The maximum number of objects. If None, there is no maximum.

        Raises:
            Gone: The collection changed so much between two pages that the API can no longer continue.
        """
        items: list[JsonObject] = []
        pages = self.list_pages(
            resource, namespace, label_selector=label_selector, field_selector=field_selector, trim=trim, most=most
        )
        async with aclosing(pages) as stream:
            async for page in stream:
                items += page.items
        return ObjectList(items, page.resource_version, page.is_complete)

    def list_pages(
        self,
        resource: ResourceType,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        trim: Trim | None = None,
        most: int | None = None,
    ) -> AsyncGenerator[ObjectList, None]:
        """Yield the pages of a collection, at least one, as soon as each is received. See `list` for the arguments.

        Raises:
            Gone: The collection changed so much between two pages that the API can no longer continue.
        """
        parameters = _build_selectors(label_selector, field_selector)
        call = Call("list", "GET", resource, namespace, parameters=parameters)
        return read_pages(self._transport, call, trim, most)

    async def create(
        self, resource: ResourceType, body: Mapping[str, Any], namespace: str | None, *, dry_run: bool = False
    ) -> JsonObject:
        """Create an object and return it as stored.

        Raises:
            AlreadyExists: An object with this name exists.
            Unreachable: No answer was received. The object may exist nevertheless.
        """
        parameters = {**self._written_by, **({"dryRun": "All"} if dry_run else {})}
        return await self._transport.request(
            Call("create", "POST", resource, namespace, parameters=parameters, body=body)
        )

    async def replace(
        self,
        resource: ResourceType,
        name: str,
        namespace: str | None,
        body: Mapping[str, Any],
        *,
        subresource: str | None = None,
    ) -> JsonObject:
        """Replace an object. A `metadata.resourceVersion` in the body is a precondition (Conflict)."""
        call = Call("update", "PUT", resource, namespace, name, subresource, self._written_by, body)
        return await self._transport.request(call)

    async def patch(
        self,
        resource: ResourceType,
        name: str,
        namespace: str | None,
        patch: object,
        *,
        patch_type: PatchType = PatchType.MERGE,
        subresource: str | None = None,
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> JsonObject:
        """Patch an object. `metadata.uid` and `metadata.resourceVersion` in a merge patch are preconditions.

        Args:
            resource: The kind.
            name: The name of the object.
            namespace: The namespace of the object.
            patch: An object for MERGE and APPLY, a list of operations for JSON.
            patch_type: The format of the patch.
            subresource: A subresource such as `status`. If None, the object itself is used.
            field_manager: Overrides the field manager of the client. APPLY requires a field manager.
            force: For APPLY: take over fields of other managers.
            dry_run: Whether the API server only checks the request, and changes nothing.

        Raises:
            Conflict: A precondition is not met.
        """
        parameters = {"fieldManager": field_manager} if field_manager else dict(self._written_by)
        if force:
            parameters["force"] = "true"
        if dry_run:
            parameters["dryRun"] = "All"
        call = Call("patch", "PATCH", resource, namespace, name, subresource, parameters, patch, patch_type)
        return await self._transport.request(call)

    async def delete(
        self,
        resource: ResourceType,
        name: str,
        namespace: str | None,
        *,
        propagation: str | None = None,
        grace_seconds: int | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Request the deletion of an object. Finalizers and grace periods may delay it.

        Args:
            resource: The kind.
            name: The name of the object.
            namespace: The namespace of the object.
            propagation: `Background`, `Foreground` or `Orphan`.
            grace_seconds: The grace period of a pod. 0 kills it immediately.
            uid: A precondition: the uid of the object.
            resource_version: A precondition: the resource version of the object.
            dry_run: Whether the API server only checks the request, and deletes nothing.

        Raises:
            NotFound: The object does not exist.
            Conflict: A precondition is not met.
        """
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options = {
            "propagationPolicy": propagation,
            "gracePeriodSeconds": grace_seconds,
            "preconditions": _drop_none(preconditions) or None,
            "dryRun": ["All"] if dry_run else None,
        }
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **_drop_none(options)}
        return await self._transport.request(Call("delete", "DELETE", resource, namespace, name, body=body))

    async def read_server_version(self) -> str:
        """Return the version of the API server, for example "v1.36.0"."""
        found = await self._transport.request(Call("get", "GET", _VERSION, None, address="/version"))
        return str(found.get("gitVersion") or "unknown")

    async def is_served(self, resource: ResourceType) -> bool:
        """Return whether the API serves the kind in exactly this version."""
        root = "/apis" if resource.group else "/api"
        served = await self._discover(resource, f"{root}/{resource.api_version}")
        return any(item.get("name") == resource.plural for item in served.get("resources") or ())

    async def list_versions(self, resource: ResourceType) -> tuple[str, ...]:
        """List the versions of the kind's group. Use `is_served` to find out whether a version contains the kind."""
        served = await self._discover(resource, f"/apis/{resource.group}")
        return tuple(str(item["version"]) for item in served.get("versions") or ())

    async def read_schema(self, resource: ResourceType) -> JsonObject:
        """Read the OpenAPI schema of the kind. Return an empty schema if the API does not describe the kind."""
        document = await self._discover(resource, f"/openapi/v3/apis/{resource.api_version}")
        schemas: Mapping[str, JsonObject] = (document.get("components") or {}).get("schemas") or {}
        described = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        key = "x-kubernetes-group-version-kind"
        return next((schema for schema in schemas.values() if described in schema.get(key, ())), {})

    async def _discover(self, resource: ResourceType, address: str) -> JsonObject:
        """Read a discovery document. Return an empty document if the API does not serve the group or version."""
        try:
            return await self._transport.request(Call("get", "GET", resource, None, address=address))
        except NotFound:
            return {}

    def open_port(
        self, namespace: str, pod: str, port: int
    ) -> AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        """Open a WebSocket to a port of a pod. `kube.port_forward` describes its messages.

        Raises:
            NotFound: The pod does not exist.
            KubeError: The API rejected the request or could not be reached.
        """
        call = Call("get", "GET", PODS, namespace, pod, "portforward", {"ports": str(port)})
        return self._transport.open_websocket(call, _PORT_PROTOCOL)

    def stream(self, call: Call, seconds: float) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Send a call, and return the answer with its body unread. See `Transport.stream`."""
        return self._transport.stream(call, total_seconds=seconds)

    def watch(
        self,
        resource: ResourceType,
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str | None = None,
        field_selector: str | None = None,
        timeout_seconds: int = WATCH_SECONDS,
        trim: Trim | None = None,
        on_open: Callable[[], None] | None = None,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yield the changes since `resource_version`, until the server ends the stream after `timeout_seconds`.

        To stop early, leave the iteration through `contextlib.aclosing`, which releases the connection.

        Args:
            resource: The kind.
            namespace: The namespace. If None, all namespaces are included.
            resource_version: The resource version from which to watch.
            label_selector: Selects objects by their labels, in the syntax of the API.
            field_selector: Selects objects by their fields, in the syntax of the API.
            timeout_seconds: The time after which the server ends the stream.
            trim: Called with each object before it is yielded, as in `list`, but not with the object of a bookmark.
            on_open: Called when the server has accepted the request, before any event.

        Raises:
            Gone: `resource_version` is too old: list again.
            Unreachable: The stream was interrupted. Continue from the resource version of the last event.
            KubeError: The API rejected the watch, or reported an error in the stream.
        """
        parameters = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
            **_build_selectors(label_selector, field_selector),
        }
        call = Call("watch", "GET", resource, namespace, parameters=parameters)
        return read_events(self._transport, call, timeout_seconds + WATCH_SLACK_SECONDS, trim, on_open)

    async def logs(
        self,
        namespace: str,
        pod: str,
        *,
        container: str | None = None,
        follow: bool = False,
        tail_lines: int | None = None,
        since_time: datetime | None = None,
        timestamps: bool = False,
        limit_bytes: int | None = None,
        previous: bool = False,
    ) -> AsyncGenerator[str, None]:
        """Yield the lines of a container's log. Lines are cut to 64 KiB.

        Args:
            namespace: The namespace of the pod.
            pod: The name of the pod.
            container: The name of the container. None if the pod has only one container.
            follow: Continue until the container ends. Otherwise the whole answer takes at most 60 s.
            tail_lines: Start this number of lines before the end.
            since_time: Start at this time, with a time zone. The API compares whole seconds.
            timestamps: Begin each line with its time (RFC 3339 with nanoseconds) and a space.
            limit_bytes: The number of bytes after which the server ends the answer, possibly inside a line.
            previous: Read the log of the container's previous run.

        Raises:
            BadRequest: The container has not started, or the pod has several containers and `container` is None.
            LogUnavailable: The node cannot read the log, for example because the container was removed.
            NotFound: The pod does not exist.
            Unreachable: The stream was interrupted.
        """
        options = {
            "container": container,
            "follow": "true" if follow else None,
            "tailLines": tail_lines,
            "sinceTime": None if since_time is None else _format_rfc3339(since_time),
            "timestamps": "true" if timestamps else None,
            "limitBytes": limit_bytes,
            "previous": "true" if previous else None,
        }
        parameters = {key: str(value) for key, value in _drop_none(options).items()}
        call = Call("get", "GET", PODS, namespace, pod, "log", parameters)
        async with (
            self._transport.stream(call, total_seconds=None if follow else _LOG_SECONDS) as response,
            aclosing(split_lines(response.content, longest=LONGEST_LOG_LINE, cut=True)) as lines,
        ):
            async for line in lines:
                if _UNAVAILABLE_LOG.fullmatch(line):
                    text = line.decode("utf-8", "replace")
                    raise LogUnavailable(200, "LogUnavailable", text, call.verb, call.rbac_resource, namespace, pod)
                yield line.decode("utf-8", "replace").rstrip("\r")


def _build_selectors(label_selector: str | None, field_selector: str | None) -> dict[str, str]:
    selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in selectors.items() if value}


def _drop_none(options: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in options.items() if value is not None}


def _format_rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
