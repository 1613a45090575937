"""Paths and options of requests."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from ..kinds.documents import JsonObject, parse_whole_number
from ..kinds.kinds import Kind
from ..kinds.selectors import FieldSelector, LabelSelector, parse_field_selector, parse_label_selector
from ..kinds.status import ApiStatusError, Cause, build_bad_request, build_invalid_options, build_not_implemented

Query = Mapping[str, str]

_OF_NAMESPACES = frozenset({"status", "finalize"})
_PROPAGATIONS = ("Background", "Foreground", "Orphan")
_FIELD_VALIDATIONS = ("", "Ignore", "Warn", "Strict")
_MANAGER_BYTES = 128


@dataclass(frozen=True)
class ResourcePath:
    """A path below `/api/v1` or `/apis/GROUP/VERSION`: a collection, an object, or a subresource of an object."""

    group: str
    version: str
    plural: str
    namespace: str | None = None
    name: str | None = None
    subresource: str | None = None


def parse_path(path: str) -> ResourcePath | None:
    """Parse an encoded URL path; return None if it does not name a resource.

    Raises:
        ApiStatusError: 501 for the deprecated paths of watches.
    """
    parts = unquote(path).replace("/namespaces//", "/").split("/")  # no namespace means all namespaces
    parts = [part for part in parts if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if rest[:1] == ["watch"]:
        raise build_not_implemented("paths below /watch are not part of the local cluster: use ?watch=true")
    namespace = None
    if rest[0] == "namespaces" and len(rest) > 2 and not (len(rest) == 3 and rest[2] in _OF_NAMESPACES):
        namespace, rest = rest[1], rest[2:]
    name = rest[1] if len(rest) > 1 else None
    subresource = "/".join(rest[2:]) or None
    return ResourcePath(group, version, rest[0], namespace, name, subresource)


@dataclass(frozen=True)
class WriteOptions:
    """Options of a write.

    Args:
        dry_run: Whether to validate and answer without storing anything.
        manager: Name of the field manager, for `metadata.managedFields`.
        force: Whether to take over fields of another manager (server-side apply).
        field_validation: Treatment of unknown fields: Ignore, Warn or Strict.
        warnings: Warnings for the client, which the processing adds.
    """

    dry_run: bool = False
    manager: str = "unknown"
    force: bool = False
    field_validation: str = "Warn"
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class DeleteOptions:
    """Options of a deletion; the fields are those of Kubernetes' DeleteOptions."""

    grace_seconds: int | None = None
    propagation: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class ListOptions:
    """Options of a list or watch; the fields are those of Kubernetes' ListOptions."""

    labels: LabelSelector | None = None
    fields: FieldSelector | None = None
    limit: int = 0
    continuation: str = ""
    resource_version: str = ""
    version_match: str = ""
    watch: bool = False
    bookmarks: bool = False
    initial_events: bool = False
    timeout_seconds: int | None = None


def parse_write_options(query: Query, user_agent: str, kind: str = "CreateOptions") -> WriteOptions:
    """Read the options of a create, update or patch request.

    Args:
        query: Query of the URL.
        user_agent: User agent, from which the field manager is derived if the query names none.
        kind: `CreateOptions`, `UpdateOptions` or `PatchOptions`, for messages.

    Raises:
        ApiStatusError: 422 for values that Kubernetes does not know.
    """
    causes = []
    validation = query.get("fieldValidation", "")
    if validation not in _FIELD_VALIDATIONS:
        supported = ", ".join(f'"{item}"' for item in sorted(_FIELD_VALIDATIONS))
        detail = f'Unsupported value: "{validation}": supported values: {supported}'
        causes.append(Cause("fieldValidation", detail, "FieldValueNotSupported"))
    manager = query.get("fieldManager") or user_agent.split("/")[0][:_MANAGER_BYTES] or "unknown"
    if len(manager.encode()) > _MANAGER_BYTES:
        detail = f"Too long: may not be more than {_MANAGER_BYTES} bytes"
        causes.append(Cause("fieldManager", detail, "FieldValueTooLong"))
    dry_run = query.get("dryRun")
    causes += _find_dry_run_causes(dry_run)
    if causes:
        raise build_invalid_options(kind, causes)
    return WriteOptions(bool(dry_run), manager, parse_flag(query, "force"), validation or "Warn")


def check_patch_options(query: Query, *, applies: bool) -> None:
    """Reject options that only server-side apply, or only the other patches, support.

    Raises:
        ApiStatusError: 422.
    """
    if applies and not query.get("fieldManager"):
        detail = "Required value: is required for apply patch"
        raise build_invalid_options("PatchOptions", [Cause("fieldManager", detail, "FieldValueRequired")])
    if not applies and "force" in query:
        detail = "Forbidden: may not be specified for non-apply patch"
        raise build_invalid_options("PatchOptions", [Cause("force", detail, "FieldValueForbidden")])


def parse_delete_options(query: Query, body: JsonObject) -> DeleteOptions:
    """Read the options of a deletion from its body or, if that has none, from the query.

    Raises:
        ApiStatusError: 400 for a body that is not DeleteOptions; 400 or 422 for invalid values.
    """
    if body.get("kind") not in (None, "DeleteOptions"):
        raise build_bad_request(f"the body of a deletion must be DeleteOptions, not {body['kind']}")
    grace = body.get("gracePeriodSeconds")
    if grace is None:
        grace = parse_number(query, "gracePeriodSeconds")
    if isinstance(grace, bool) or not isinstance(grace, int | None) or abs(grace or 0) >= 2**63:
        raise build_bad_request("gracePeriodSeconds: an integer of 64 bits is expected")
    preconditions = body.get("preconditions") or {}
    if not isinstance(preconditions, dict):
        raise build_bad_request("preconditions: an object is expected")
    dry_run = body.get("dryRun") or query.get("dryRun")
    dry_run = dry_run[0] if isinstance(dry_run, list) else dry_run
    propagation, causes = _parse_propagation(query, body)
    causes += _find_dry_run_causes(dry_run)
    if causes:
        raise build_invalid_options("DeleteOptions", causes)
    return DeleteOptions(
        grace_seconds=grace,
        propagation=propagation,
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=bool(dry_run),
    )


def _parse_propagation(query: Query, body: JsonObject) -> tuple[str | None, list[Cause]]:
    """Return the propagation policy, and the errors in it."""
    policy = body.get("propagationPolicy") or query.get("propagationPolicy") or None
    orphan = body.get("orphanDependents") or parse_flag(query, "orphanDependents")
    if policy is not None and orphan:
        detail = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        return policy, [Cause("propagationPolicy", detail)]
    if policy not in (None, *_PROPAGATIONS):
        detail = f'Unsupported value: "{policy}": supported values: "Foreground", "Background", "Orphan", "nil"'
        return policy, [Cause("propagationPolicy", detail, "FieldValueNotSupported")]
    return ("Orphan" if orphan else policy), []


def parse_list_options(query: Query, kind: Kind) -> ListOptions:
    """Read the options of a list or watch request.

    Raises:
        ApiStatusError: 400 for invalid selectors, numbers and versions.
    """
    version = query.get("resourceVersion", "")
    if version and not _is_version(version):
        detail = f'resourceVersion: Invalid value: "{version}": must be a whole number'
        raise ApiStatusError(500, "", detail) if parse_flag(query, "watch") else build_bad_request(detail)
    return ListOptions(
        labels=parse_label_selector(labels) if (labels := query.get("labelSelector")) else None,
        fields=parse_field_selector(fields, kind) if (fields := query.get("fieldSelector")) else None,
        limit=parse_number(query, "limit") or 0,
        continuation=query.get("continue", ""),
        resource_version=version,
        version_match=query.get("resourceVersionMatch", ""),
        watch=parse_flag(query, "watch"),
        bookmarks=parse_flag(query, "allowWatchBookmarks"),
        initial_events=parse_flag(query, "sendInitialEvents"),
        timeout_seconds=parse_number(query, "timeoutSeconds"),
    )


def encode_continuation(version: int, start: tuple[str, str]) -> str:
    """Return the token with which a client requests the next page of a list."""
    text = json.dumps({"v": "local/v1", "rv": version, "start": list(start)})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_continuation(token: str) -> tuple[int, tuple[str, str]]:
    """Return the version and the last place of the pages that the client has.

    Raises:
        ApiStatusError: 400 for a token that this server did not issue.
    """
    try:
        content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, name = content["start"]
        return int(content["rv"]), (str(namespace), str(name))
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise build_bad_request(f"continue key is not valid: {error}") from error


def _find_dry_run_causes(value: str | None) -> list[Cause]:
    if value in (None, "", "All"):
        return []
    detail = f'Unsupported value: ["{value}"]: supported values: "All"'
    return [Cause("dryRun", detail, "FieldValueNotSupported")]


def parse_flag(query: Query, key: str) -> bool:
    """Return a flag of a query. As in Kubernetes, a flag without a value is true: `?watch`."""
    return key in query and query[key].lower() not in ("0", "false")


def parse_number(query: Query, key: str) -> int | None:
    """Return a number of a query, None if it is missing; raises ApiStatusError 400 if it is not an integer."""
    text = query.get(key)
    if text is None:
        return None
    try:
        return parse_whole_number(text)
    except ValueError as error:
        raise build_bad_request(f'{key}: Invalid value: "{text}": must be a whole number') from error


def _is_version(text: str) -> bool:
    """Whether a text is a valid resource version: an unsigned 64-bit number."""
    return text.isascii() and text.isdecimal() and int(text[:21]) < 2**64
