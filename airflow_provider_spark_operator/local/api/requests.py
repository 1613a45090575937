"""What a request asks for: its path and its options."""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import unquote

from airflow_provider_spark_operator.local.api.documents import JsonObject
from airflow_provider_spark_operator.local.api.kinds import Kind
from airflow_provider_spark_operator.local.api.selectors import (
    FieldSelector,
    LabelSelector,
    parse_field_selector,
    parse_label_selector,
)
from airflow_provider_spark_operator.local.api.status import ApiStatusError, bad_request

Query = Mapping[str, str]
_Value = TypeVar("_Value")

_OF_NAMESPACES = frozenset({"status", "finalize"})
_PROPAGATIONS = ("Background", "Foreground", "Orphan")
_FIELD_VALIDATIONS = ("", "Ignore", "Warn", "Strict")


@dataclass(frozen=True)
class ResourcePath:
    """A path below `/api/v1` or `/apis/GROUP/VERSION`: a collection, an object, or a subresource of one."""

    group: str
    version: str
    plural: str
    namespace: str | None = None
    name: str | None = None
    subresource: str | None = None


def parse_path(path: str) -> ResourcePath | None:
    """Read an (encoded) URL path; None where it names no resource."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = None
    if rest[0] == "namespaces" and len(rest) > 2 and not (len(rest) == 3 and rest[2] in _OF_NAMESPACES):
        namespace, rest = rest[1], rest[2:]
    if not all(rest):
        return None
    name = rest[1] if len(rest) > 1 else None
    subresource = "/".join(rest[2:]) or None
    return ResourcePath(group, version, rest[0], namespace, name, subresource)


@dataclass(frozen=True)
class WriteOptions:
    """How to write.

    Args:
        dry_run: judge and answer, store nothing.
        manager: who writes, for `metadata.managedFields`.
        force: take over fields that another manager owns (server-side apply).
        field_validation: what to do about unknown fields: Ignore, Warn or Strict.
        warnings: what the client should be told besides the answer; filled on the way.
    """

    dry_run: bool = False
    manager: str = "unknown"
    force: bool = False
    field_validation: str = "Warn"
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class DeleteOptions:
    """How to delete; the fields are those of Kubernetes' DeleteOptions."""

    grace_seconds: int | None = None
    propagation: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class ListOptions:
    """What to list or watch; the fields are those of Kubernetes' ListOptions."""

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


def write_options(query: Query, user_agent: str) -> WriteOptions:
    """Read the options of a create, update or patch request.

    Raises:
        ApiStatusError: 400 for values that Kubernetes does not know.
    """
    validation = query.get("fieldValidation", "")
    if validation not in _FIELD_VALIDATIONS:
        raise bad_request(f"fieldValidation: Unsupported value: {validation!r}: use Ignore, Warn or Strict")
    manager = query.get("fieldManager") or user_agent.split("/")[0][:128] or "unknown"
    return WriteOptions(_dry_run(query.get("dryRun")), manager, _flag(query, "force"), validation or "Warn")


def delete_options(query: Query, body: JsonObject) -> DeleteOptions:
    """Read the options of a deletion, from its body where that has them, else from the query.

    Raises:
        ApiStatusError: 400 for values that Kubernetes does not know.
    """
    if body.get("kind") not in (None, "DeleteOptions"):
        raise bad_request(f"the body of a deletion must be DeleteOptions, not {body['kind']}")
    grace = body.get("gracePeriodSeconds")
    if grace is None:
        grace = _number(query, "gracePeriodSeconds")
    if isinstance(grace, bool) or not isinstance(grace, int | None):
        raise bad_request("gracePeriodSeconds: an integer is expected")
    propagation = body.get("propagationPolicy") or query.get("propagationPolicy") or None
    if propagation is None and (body.get("orphanDependents") or _flag(query, "orphanDependents")):
        propagation = "Orphan"
    if propagation not in (None, *_PROPAGATIONS):
        raise _invalid_option(
            "DeleteOptions", f'propagationPolicy: Unsupported value: "{propagation}": use one of {_PROPAGATIONS}'
        )
    preconditions = body.get("preconditions") or {}
    if not isinstance(preconditions, dict):
        raise bad_request("preconditions: an object is expected")
    dry_run = body.get("dryRun") or query.get("dryRun")
    return DeleteOptions(
        grace_seconds=grace,
        propagation=propagation,
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=_dry_run(dry_run[0] if isinstance(dry_run, list) else dry_run),
    )


def list_options(query: Query, kind: Kind) -> ListOptions:
    """Read the options of a list or watch request.

    Raises:
        ApiStatusError: 400 for bad selectors, numbers and versions; 422 for options that exclude each other.
    """
    version = query.get("resourceVersion", "")
    if version and not version.isdigit():
        raise bad_request(f'resourceVersion: Invalid value: "{version}": must be a whole number')
    options = ListOptions(
        labels=_given(query.get("labelSelector"), parse_label_selector),
        fields=_given(query.get("fieldSelector"), lambda text: parse_field_selector(text, kind)),
        limit=_number(query, "limit") or 0,
        continuation=query.get("continue", ""),
        resource_version=version,
        version_match=query.get("resourceVersionMatch", ""),
        watch=_flag(query, "watch"),
        bookmarks=_flag(query, "allowWatchBookmarks"),
        initial_events=_flag(query, "sendInitialEvents"),
        timeout_seconds=_number(query, "timeoutSeconds"),
    )
    _check_list_options(options)
    return options


def encode_continuation(version: int, start: tuple[str, str]) -> str:
    """The token with which a client asks for the rest of a list."""
    text = json.dumps({"v": "local/v1", "rv": version, "start": list(start)})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_continuation(token: str) -> tuple[int, tuple[str, str]]:
    """The version and the last place of the part of a list that the client has.

    Raises:
        ApiStatusError: 400 for a token of somebody else's.
    """
    try:
        content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, name = content["start"]
        return int(content["rv"]), (str(namespace), str(name))
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise bad_request(f"continue key is not valid: {error}") from error


def _check_list_options(options: ListOptions) -> None:
    match = options.version_match
    if match not in ("", "Exact", "NotOlderThan"):
        raise _invalid_option("ListOptions", f'resourceVersionMatch: Unsupported value: "{match}"')
    if options.initial_events and not (options.watch and match == "NotOlderThan"):
        raise _invalid_option(
            "ListOptions",
            "sendInitialEvents: Forbidden: sendInitialEvents requires watch and resourceVersionMatch=NotOlderThan",
        )
    if options.watch and match and not options.initial_events:
        raise _invalid_option(
            "ListOptions", "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch"
        )
    if not options.watch and match and not options.resource_version:
        raise _invalid_option(
            "ListOptions",
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        )


def _invalid_option(what: str, why: str) -> ApiStatusError:
    return ApiStatusError(422, "Invalid", f'{what}.meta.k8s.io "" is invalid: {why}')


def _dry_run(value: str | None) -> bool:
    if value in (None, ""):
        return False
    if value != "All":
        raise bad_request(f'dryRun: Unsupported value: "{value}": supported values: "All"')
    return True


def _flag(query: Query, key: str) -> bool:
    return query.get(key, "").lower() in ("1", "t", "true")


def _number(query: Query, key: str) -> int | None:
    text = query.get(key)
    if not text:
        return None
    try:
        return int(text)
    except ValueError as error:
        raise bad_request(f'{key}: Invalid value: "{text}": must be a whole number') from error


def _given(text: str | None, parse: Callable[[str], _Value]) -> _Value | None:
    return parse(text) if text else None
