"""Field managers: `metadata.managedFields`, and server-side apply, which depends on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..kinds import kinds
from ..kinds.documents import JsonObject, format_timestamp
from ..kinds.status import ApiStatusError
from . import fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..requests.requests import WriteOptions
    from ..store.registry import ServedKind

_UNOWNED = frozenset(
    ("f:metadata", f"f:{key}")
    for key in (
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    )
) | {("f:apiVersion",), ("f:kind",)}


@dataclass(frozen=True)
class _Manager:
    """An entry of `metadata.managedFields`."""

    name: str
    operation: str
    api_version: str
    subresource: str
    time: str
    paths: frozenset[fields.Path]

    def is_same(self, other: _Manager) -> bool:
        """Whether two entries belong to one manager; entries of Apply match whatever their version is."""
        mine = (self.name, self.operation, self.subresource)
        theirs = (other.name, other.operation, other.subresource)
        return mine == theirs and (self.operation == "Apply" or self.api_version == other.api_version)


def record_update(
    served: ServedKind, current: JsonObject | None, document: JsonObject, manager: str, subresource: str | None
) -> None:
    """Record in a document, in place, who changed it from the current object (None: it is new).

    An update owns the fields that it sets, and the objects and keyed lists that it creates for them.
    """
    metadata = document["metadata"]
    if metadata.get("managedFields") in ([], [{}]) and current is not None:
        metadata.pop("managedFields")  # this is how a client resets them
        return
    current = current or _list_unwritten_fields(served)
    before, made_before = _find_owned_fields(served, current, subresource), _list_branches(served, current, subresource)
    after, made = _find_owned_fields(served, document, subresource), _list_branches(served, document, subresource)
    known = before.keys() | made_before
    changed = frozenset(
        path for path, value in after.items() if path not in known or (path in before and before[path] != value)
    ) | (made - known)
    gone = known - after.keys() - made
    managers = _get_managers(current)
    if changed or gone:
        writer = _build_entry(served, manager, "Update", subresource, changed)
        managers = [
            replace(item, paths=item.paths | changed, time=writer.time if changed else item.time)
            if item.is_same(writer)
            else replace(item, paths=item.paths - changed)
            for item in managers
        ]
        if changed and not any(item.is_same(writer) for item in managers):
            managers.append(writer)
        managers = [replace(item, paths=item.paths - gone) for item in managers]
    _write(document, managers)


def record_apply(
    served: ServedKind, document: JsonObject, config: JsonObject, manager: str, subresource: str | None
) -> None:
    """Record in a new document, in place, that a manager created it by applying `config`."""
    paths = frozenset(_find_owned_fields(served, config, subresource))
    _write(document, [_build_entry(served, manager, "Apply", subresource, paths)])


def apply_configuration(
    served: ServedKind, current: JsonObject, config: JsonObject, options: WriteOptions, subresource: str | None
) -> JsonObject:
    """Return an object with a manager's configuration applied.

    Fields that the manager applied before and now omits are removed, unless another manager owns them too.

    Args:
        served: The kind, in the version of `current` and `config`.
        current: The current object.
        config: The configuration; fields that it omits are not changed.
        options: The name of the manager, and whether it takes over fields of others.
        subresource: `status` to apply the status only.

    Raises:
        ApiStatusError: 409 if another manager owns a field with another value, and `force` is not set.
    """
    wanted = _find_owned_fields(served, config, subresource)
    present = _find_owned_fields(served, current, subresource)
    writer = _build_entry(served, options.manager, "Apply", subresource, frozenset(wanted))
    managers = _get_managers(current)
    others = [item for item in managers if not item.is_same(writer)]
    previous = [item for item in managers if item.is_same(writer)]
    differing = {path for path, value in wanted.items() if path not in present or present[path] != value}
    conflicts = [(item, path) for item in others for path in sorted(item.paths & differing)]
    if conflicts and not options.force:
        raise _build_conflict(conflicts)
    given_up = frozenset().union(*(item.paths for item in previous)) - writer.paths
    orphaned = given_up.difference(*(item.paths for item in others))
    result: JsonObject = fields.merge(current, _remove_identity(config), served.declared)
    result = fields.remove(result, orphaned)
    others = [replace(item, paths=item.paths - differing) for item in others]
    if not _are_different(result, current):
        writer = replace(writer, time=previous[0].time if previous else "")
    _write(result, [*others, writer])
    return result


def _are_different(document: JsonObject, other: JsonObject) -> bool:
    """Whether two states of an object differ in anything but their managers."""

    def drop_managers(item: JsonObject) -> JsonObject:
        metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
        return {**item, "metadata": metadata}

    return drop_managers(document) != drop_managers(other)


# Parts of a new built-in document that its Go type always has.
_ALWAYS_THERE: Mapping[tuple[str, str], JsonObject] = {
    kinds.PODS.key: {"spec": {"containers": None}},
    kinds.STATEFUL_SETS.key: {
        "spec": {"updateStrategy": {}, "template": {"metadata": {}, "spec": {"containers": None}}}
    },
    kinds.PERSISTENT_VOLUME_CLAIMS.key: {"spec": {"resources": {}}},
    kinds.EVENTS.key: {
        "source": {},
        **dict.fromkeys(("eventTime", "firstTimestamp", "lastTimestamp")),
        **dict.fromkeys(("reportingComponent", "reportingInstance"), ""),
    },
}


def _list_unwritten_fields(served: ServedKind) -> JsonObject:
    if served.kind.custom:
        return {"metadata": {}}
    return {"metadata": {}, "spec": {}, "status": {}, **_ALWAYS_THERE.get(served.kind.key, {})}


def _list_branches(served: ServedKind, document: JsonObject, subresource: str | None) -> frozenset[fields.Path]:
    """Return the objects and keyed lists of a document that a request to a subresource can own.

    A part that exists before the first write counts as created, even if it is empty.
    """
    part = _copy_writable_part(served, document, subresource)
    made = set(fields.list_branches(part, served.declared))
    if not served.kind.custom:
        made |= set(fields.list_branches(_with_something(_list_unwritten_fields(served)), served.declared))
    return frozenset(path for path in made if path[:2] not in _UNOWNED and path != ("f:metadata",))


def _with_something(document: JsonObject) -> JsonObject:
    """Return the document with a field in every empty part, so that these count as parts."""
    return {key: _with_something(value) if isinstance(value, dict) else value for key, value in document.items()} or {
        "": None
    }


def _copy_writable_part(served: ServedKind, document: JsonObject, subresource: str | None) -> JsonObject:
    """Return the part of a document that a request to a subresource can write."""
    if subresource == "status" and served.kind.custom:
        return {"status": document["status"]} if "status" in document else {}
    if subresource == "status":
        return {key: value for key, value in document.items() if key in ("metadata", "status")}
    if served.kind.status:
        return {key: value for key, value in document.items() if key != "status"}
    return document


def _find_owned_fields(served: ServedKind, document: JsonObject, subresource: str | None) -> dict[fields.Path, Any]:
    """Return the fields of a document that a request to a subresource can own."""
    part = _copy_writable_part(served, document, subresource)
    owned = dict(fields.list_leaves(part, served.declared)) if part else {}
    return {path: value for path, value in owned.items() if path[:2] not in _UNOWNED and path != ("f:metadata",)}


def _build_entry(
    served: ServedKind, manager: str, operation: str, subresource: str | None, paths: frozenset[fields.Path]
) -> _Manager:
    now = "" if subresource == "scale" else format_timestamp(datetime.now(UTC))
    return _Manager(manager, operation, served.api_version, subresource or "", now, paths)


def _get_managers(document: Mapping[str, Any]) -> list[_Manager]:
    entries = (document.get("metadata") or {}).get("managedFields") or []
    return [
        _Manager(
            name=entry.get("manager", ""),
            operation=entry.get("operation", "Update"),
            api_version=entry.get("apiVersion", ""),
            subresource=entry.get("subresource", ""),
            time=entry.get("time", ""),
            paths=frozenset(fields.decode(entry.get("fieldsV1") or {})),
        )
        for entry in entries
    ]


def _write(document: JsonObject, managers: list[_Manager]) -> None:
    entries = []
    for manager in sorted(managers, key=_place_in_order):
        if not manager.paths:
            continue
        entry: JsonObject = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": manager.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields.encode(manager.paths),
        }
        if manager.time:
            entry["time"] = manager.time
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    document["metadata"].pop("managedFields", None)
    if entries:
        document["metadata"]["managedFields"] = entries


def _place_in_order(manager: _Manager) -> tuple[str, ...]:
    """Sort managers of Apply first, then by time, as the API server does."""
    return (manager.operation, manager.time, manager.name, manager.api_version, manager.subresource)


def _remove_identity(config: JsonObject) -> JsonObject:
    """Return a configuration without the fields that only identify the object."""
    return {key: value for key, value in config.items() if key not in ("apiVersion", "kind")}


def _build_conflict(conflicts: list[tuple[_Manager, fields.Path]]) -> ApiStatusError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_describe_manager(manager)}",
            "field": fields.format_path(path),
        }
        for manager, path in conflicts
    ]
    if len(conflicts) == 1:
        detail = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        parts = []
        for name in sorted({_describe_manager(manager) for manager, _ in conflicts}):
            paths = [fields.format_path(path) for manager, path in conflicts if _describe_manager(manager) == name]
            parts.append("\n".join([f"conflicts with {name}:", *(f"- {path}" for path in paths)]))
        detail = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(parts)
    return ApiStatusError(409, "Conflict", detail, {"causes": causes})


def _describe_manager(manager: _Manager) -> str:
    name = f'"{manager.name}"'
    if manager.subresource:
        name += f' with subresource "{manager.subresource}"'
    return f"{name} using {manager.api_version}" if manager.operation == "Update" else name
