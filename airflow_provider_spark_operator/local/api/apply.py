"""Managers of fields: `metadata.managedFields`, and server-side apply, which goes by it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_spark_operator.local.api import fields
from airflow_provider_spark_operator.local.api.documents import JsonObject, timestamp
from airflow_provider_spark_operator.local.api.status import ApiStatusError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_provider_spark_operator.local.api.registry import ServedKind
    from airflow_provider_spark_operator.local.api.requests import WriteOptions

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
        """Whether two entries are of one manager; what it applied is one whatever the version."""
        mine = (self.name, self.operation, self.subresource)
        theirs = (other.name, other.operation, other.subresource)
        return mine == theirs and (self.operation == "Apply" or self.api_version == other.api_version)


def record_update(
    served: ServedKind, current: JsonObject | None, document: JsonObject, manager: str, subresource: str | None
) -> None:
    """Note in a document, in place, who made it differ from the object as it is (None: it is new)."""
    before = _owned(served, current or {}, subresource)
    after = _owned(served, document, subresource)
    changed = frozenset(path for path, value in after.items() if path not in before or before[path] != value)
    gone = before.keys() - after.keys()
    managers = _managers(current or {})
    if changed or gone:
        writer = _entry(served, manager, "Update", subresource, changed)
        managers = [
            replace(item, paths=item.paths | changed, time=writer.time)
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
    """Note in a new document, in place, that a manager has applied `config` to make it."""
    paths = frozenset(_owned(served, config, subresource))
    _write(document, [_entry(served, manager, "Apply", subresource, paths)])


def applied(
    served: ServedKind,
    current: JsonObject,
    config: JsonObject,
    options: WriteOptions,
    subresource: str | None,
) -> JsonObject:
    """An object with a configuration applied by a manager.

    Fields that the manager has applied before and now leaves out go, unless somebody else owns them too.

    Args:
        served: the kind, in the version of `current` and `config`.
        current: the object as it is.
        config: what the manager wants; fields that it leaves out are not touched.
        options: whose configuration it is, and whether it takes over what others own.
        subresource: `status` to apply the status only.

    Raises:
        ApiStatusError: 409 where another manager owns a field with another value, and `force` is not set.
    """
    wanted = _owned(served, config, subresource)
    present = _owned(served, current, subresource)
    writer = _entry(served, options.manager, "Apply", subresource, frozenset(wanted))
    managers = _managers(current)
    others = [item for item in managers if not item.is_same(writer)]
    previous = [item for item in managers if item.is_same(writer)]
    differing = {path for path, value in wanted.items() if path not in present or present[path] != value}
    conflicts = [(item, path) for item in others for path in sorted(item.paths & differing)]
    if conflicts and not options.force:
        raise _conflict(conflicts)
    given_up = frozenset().union(*(item.paths for item in previous)) - writer.paths
    orphaned = given_up.difference(*(item.paths for item in others))
    result: JsonObject = fields.merged(current, _without_identity(config), served.schema)
    result = fields.removed(result, orphaned)
    others = [replace(item, paths=item.paths - differing) for item in others]
    if previous and previous[0].paths == writer.paths and not differing and not orphaned:
        writer = previous[0]
    _write(result, [*others, writer])
    return result


def _owned(served: ServedKind, document: JsonObject, subresource: str | None) -> dict[fields.Path, Any]:
    """The fields of a document that a request to a subresource can own."""
    if subresource == "status":
        document = {key: value for key, value in document.items() if key == "status"}
    elif served.kind.status:
        document = {key: value for key, value in document.items() if key != "status"}
    owned = dict(fields.leaves(document, served.schema)) if document else {}
    return {path: value for path, value in owned.items() if path[:2] not in _UNOWNED}


def _entry(
    served: ServedKind, manager: str, operation: str, subresource: str | None, paths: frozenset[fields.Path]
) -> _Manager:
    now = timestamp(datetime.now(UTC))
    return _Manager(manager, operation, served.api_version, subresource or "", now, paths)


def _managers(document: Mapping[str, Any]) -> list[_Manager]:
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
    for manager in managers:
        if not manager.paths:
            continue
        entry: JsonObject = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": manager.api_version,
            "time": manager.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields.encode(manager.paths),
        }
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    document["metadata"].pop("managedFields", None)
    if entries:
        document["metadata"]["managedFields"] = entries


def _without_identity(config: JsonObject) -> JsonObject:
    """A configuration without what only says which object is meant."""
    return {key: value for key, value in config.items() if key not in ("apiVersion", "kind")}


def _conflict(conflicts: list[tuple[_Manager, fields.Path]]) -> ApiStatusError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{manager.name}" using {manager.api_version}',
            "field": fields.readable(path),
        }
        for manager, path in conflicts
    ]
    noun = "conflict" if len(causes) == 1 else "conflicts"
    told = ", ".join(f"{cause['message']}: {cause['field']}" for cause in causes)
    message = f"Apply failed with {len(causes)} {noun}: {told}"
    return ApiStatusError(409, "Conflict", message, {"causes": causes})
