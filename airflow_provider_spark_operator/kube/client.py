"""The API's verbs on plain JSON objects."""

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

from airflow_provider_spark_operator.kube.bounded_json import read_json
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.errors import LogUnavailable, NotFound
from airflow_provider_spark_operator.kube.lines import LineTooLong, split_lines
from airflow_provider_spark_operator.kube.link import Links
from airflow_provider_spark_operator.kube.resources import PODS, ResourceType
from airflow_provider_spark_operator.kube.transport import JsonObject, Transport

PAGE_SIZE = 500
WATCH_SECONDS = 290
# The server ends a watch itself after `timeoutSeconds`; one that is this much late has lost its connection.
WATCH_SLACK_SECONDS = 30
# etcd takes objects up to 1.5 MiB; an event carries one of them, written as JSON.
LONGEST_EVENT = 16 * 1024 * 1024
LONGEST_LOG_LINE = 64 * 1024
_LOG_SECONDS = 60.0
# A kubelet has already answered 200 when it finds that it cannot read a log. Its error then stands in the log's place.
_UNAVAILABLE_LOG = re.compile(
    rb'unable to retrieve container logs for [\w.+-]+://\S*|failed to try resolving symlinks in path "/var/log/pods/.*'
)


class PatchType(StrEnum):
    """How the API is to read a patch: its content type."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True)
class ObjectList:
    """A collection as it was at `resource_version`."""

    items: list[JsonObject]
    resource_version: str


@dataclass(frozen=True)
class WatchEvent:
    """One event of a watch; `type` is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: JsonObject


class KubeClient:
    """A connection to one API server; `kube.connection.open_client` makes one.

    Every call takes a bounded time and raises a `kube.errors.KubeError` naming what failed.
    `namespace=None` means all namespaces, or that the kind has none.

    Args:
        transport: Closed with the client.
        default_namespace: Where to act if nobody says: that of the connection, kubeconfig context or pod.
        field_manager: Whom the API notes as the writer of what is created, replaced and patched; None leaves it
            to the API, which goes by the user agent.
    """

    def __init__(self, transport: Transport, default_namespace: str, *, field_manager: str | None = None) -> None:
        self._transport = transport
        self.default_namespace = default_namespace
        self._written_by = {"fieldManager": field_manager} if field_manager else {}

    @property
    def server(self) -> str:
        """The address of the API server, for messages."""
        return self._transport.server

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
        """One object, read live."""
        return await self._transport.request(Call("get", "GET", resource, namespace, name))

    async def list(
        self,
        resource: ResourceType,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        trim: Callable[[JsonObject], object] | None = None,
    ) -> ObjectList:
        """A whole collection, read live in pages; all of them show the same resource version.

        Args:
            resource: The kind.
            namespace: None for all of them.
            label_selector: Of the API's syntax; so is `field_selector`.
            field_selector: See there.
            trim: Called with each object as soon as its page is here: what it takes out of an object need not be kept
                until the last page has come.

        Raises:
            Gone: The collection changed so much while it was paged that the API lost its place.
        """
        selectors = _build_selectors(label_selector, field_selector)
        items: list[JsonObject] = []
        continuation = ""
        while True:
            parameters = {"limit": str(PAGE_SIZE), **selectors}
            if continuation:
                parameters["continue"] = continuation
            page = await self._transport.request(Call("list", "GET", resource, namespace, parameters=parameters))
            items += [_complete_item(item, resource, trim) for item in page.get("items") or ()]
            metadata = page.get("metadata") or {}
            continuation = metadata.get("continue") or ""
            if not continuation:
                return ObjectList(items, str(metadata.get("resourceVersion", "")))

    async def create(
        self, resource: ResourceType, body: Mapping[str, Any], namespace: str | None, *, dry_run: bool = False
    ) -> JsonObject:
        """Create an object and return it as stored.

        Raises:
            AlreadyExists: The name is taken.
            Unreachable: No answer came; the object may exist none the less.
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
        """Replace an object; a `metadata.resourceVersion` in the body is a precondition (Conflict)."""
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
    ) -> JsonObject:
        """Patch an object; `metadata.uid` and `resourceVersion` in a merge patch are preconditions.

        Args:
            resource: The kind.
            name: Of the object.
            namespace: Of the object.
            patch: An object for MERGE and APPLY, a list of operations for JSON.
            patch_type: How to read it.
            subresource: `status`, or None for the object itself.
            field_manager: Other than the client's; APPLY requires one.
            force: APPLY only: take over fields of other managers.

        Raises:
            Conflict: A precondition does not hold.
        """
        parameters = {"fieldManager": field_manager} if field_manager else dict(self._written_by)
        if force:
            parameters["force"] = "true"
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
    ) -> JsonObject:
        """Ask for an object's deletion; finalizers and grace periods may keep it for a while.

        Args:
            resource: The kind.
            name: Of the object.
            namespace: Of the object.
            propagation: `Background`, `Foreground` or `Orphan`.
            grace_seconds: For pods; 0 kills.
            uid: Precondition: only this very object.
            resource_version: Precondition: only as it was read.

        Raises:
            NotFound: It is not there (any more).
            Conflict: A precondition does not hold.
        """
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options = {
            "propagationPolicy": propagation,
            "gracePeriodSeconds": grace_seconds,
            "preconditions": _drop_none(preconditions) or None,
        }
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **_drop_none(options)}
        return await self._transport.request(Call("delete", "DELETE", resource, namespace, name, body=body))

    async def is_served(self, resource: ResourceType) -> bool:
        """Whether the API serves the kind, in that very version."""
        served = await self._discover(resource, f"/apis/{resource.api_version}")
        return any(item.get("name") == resource.plural for item in served.get("resources") or ())

    async def list_versions(self, resource: ResourceType) -> tuple[str, ...]:
        """The versions in which the API serves kinds of this group; which kinds, `is_served` tells of each."""
        served = await self._discover(resource, f"/apis/{resource.group}")
        return tuple(str(item["version"]) for item in served.get("versions") or ())

    async def _discover(self, resource: ResourceType, address: str) -> JsonObject:
        """What the API says of itself at `address`; nothing where it knows no such group or version."""
        try:
            return await self._transport.request(Call("get", "GET", resource, None, address=address))
        except NotFound:
            return {}

    async def watch(
        self,
        resource: ResourceType,
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str | None = None,
        field_selector: str | None = None,
        timeout_seconds: int = WATCH_SECONDS,
        trim: Callable[[JsonObject], object] | None = None,
        on_open: Callable[[], None] | None = None,
    ) -> AsyncGenerator[WatchEvent, None]:
        """The changes since `resource_version`, until the server ends the stream after `timeout_seconds`.

        `trim` is called with each object first, as by `list`; with the near-empty one of a bookmark it is not.
        `on_open` is called when the server has accepted the request, before any event.

        Leave it early only through `contextlib.aclosing`, which gives the connection back.

        Raises:
            Gone: `resource_version` is too old: list again.
            Unreachable: The stream was cut; go on from the last event's resource version.
            KubeError: The API refused to watch, or reported an error in the stream.
        """
        parameters = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
            **_build_selectors(label_selector, field_selector),
        }
        call = Call("watch", "GET", resource, namespace, parameters=parameters)
        limit = float(timeout_seconds + WATCH_SLACK_SECONDS)
        async with self._transport.stream(call, total_seconds=limit) as response:
            if on_open is not None:
                on_open()
            try:
                async with aclosing(split_lines(response.content, longest=LONGEST_EVENT)) as lines:
                    async for line in lines:
                        if line.strip():
                            yield _parse_event(call, line, trim)
            except LineTooLong as error:
                raise call.build_error(502, {"reason": "EventTooLarge", "message": str(error)}) from error

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
        """The lines of a container's log, each cut to 64 KiB.

        Args:
            namespace: Of the pod.
            pod: Its name.
            container: May be left out where the pod has only one.
            follow: Stay on until the container ends; without it the whole answer takes at most 60 s.
            tail_lines: Begin that many lines before the end.
            since_time: With its zone; the API looks at whole seconds only.
            timestamps: Begin each line with its time (RFC 3339, nanoseconds) and a space.
            limit_bytes: The server ends the answer there, which may be inside a line.
            previous: Of the container's previous run.

        Raises:
            BadRequest: The container has not started, or the pod has several and none is named.
            LogUnavailable: The node cannot read the log, for example because the container was removed.
            NotFound: The pod is gone.
            Unreachable: The stream was cut.
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


def _parse_event(call: Call, line: bytes, trim: Callable[[JsonObject], object] | None) -> WatchEvent:
    try:
        event = read_json(line)
        kind, item = event["type"], event["object"]
    except (ValueError, KeyError, TypeError) as error:
        # A cut in the middle of a line looks like this too, where a proxy ends the stream politely.
        raise call.build_unreachable("the watch returned an incomplete event") from error
    if kind == "ERROR":
        raise call.build_error(int(item.get("code") or 500), item)
    return WatchEvent(kind, _complete_item(item, call.resource, None if kind == "BOOKMARK" else trim))


def _complete_item(item: JsonObject, resource: ResourceType, trim: Callable[[JsonObject], object] | None) -> JsonObject:
    # The items of a list of built-in kinds come without apiVersion and kind.
    item.setdefault("apiVersion", resource.api_version)
    item.setdefault("kind", resource.kind)
    if trim is not None:
        trim(item)
    return item


def _build_selectors(label_selector: str | None, field_selector: str | None) -> dict[str, str]:
    selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in selectors.items() if value}


def _drop_none(options: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in options.items() if value is not None}


def _format_rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
