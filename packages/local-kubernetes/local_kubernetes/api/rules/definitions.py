"""CustomResourceDefinitions: the kinds that they define, and their validation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..kinds.documents import JsonObject, format_timestamp
from ..kinds.kinds import CUSTOM_RESOURCE_DEFINITIONS, Kind
from ..kinds.status import Cause, build_invalid
from .rules import build_invalid_cause, build_required_cause, find_choice_causes
from .structural import find_schema_causes


@dataclass(frozen=True)
class ScalePaths:
    """The paths of the numbers of a `scale` subresource, with dots."""

    replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str | None = None


def build_kind(definition: Mapping[str, Any]) -> Kind:
    """Return the kind of a valid definition with its served versions, the stored one first."""
    spec = definition["spec"]
    names = spec["names"]
    served = [version for version in spec["versions"] if version.get("served")]
    served.sort(key=lambda version: (not version.get("storage"), version["name"]))
    subresources: JsonObject = {}
    for version in served:
        subresources |= version.get("subresources") or {}
    fields = {item["jsonPath"].lstrip(".") for version in served for item in version.get("selectableFields") or []}
    return Kind(
        group=spec["group"],
        versions=tuple(version["name"] for version in served),
        plural=names["plural"],
        kind=names["kind"],
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        status="status" in subresources,
        scale="scale" in subresources,
        generation=True,
        custom=True,
        fields=tuple(sorted(fields)),
        list_kind=names.get("listKind") or f"{names['kind']}List",
    )


def get_version(definition: Mapping[str, Any], version: str) -> Mapping[str, Any]:
    """Return the entry of a definition for one of its served versions."""
    found: Mapping[str, Any] = next(item for item in definition["spec"]["versions"] if item["name"] == version)
    return found


def get_schema(definition: Mapping[str, Any], version: str) -> Mapping[str, Any]:
    """Return the schema of one version; without a schema every field is kept."""
    schema = (get_version(definition, version).get("schema") or {}).get("openAPIV3Schema")
    return schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def list_columns(definition: Mapping[str, Any], version: str) -> tuple[Mapping[str, Any], ...]:
    """Return the columns after the name in `kubectl get`; the age if the definition names none."""
    return tuple(
        get_version(definition, version).get("additionalPrinterColumns")
        or [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]
    )


def get_scale_paths(definition: Mapping[str, Any], version: str) -> ScalePaths | None:
    """Return the paths of the `scale` subresource of one version; None if it has none."""
    scale = (get_version(definition, version).get("subresources") or {}).get("scale")
    if scale is None:
        return None
    return ScalePaths(
        scale.get("specReplicasPath") or ScalePaths.replicas,
        scale.get("statusReplicasPath") or ScalePaths.status_replicas,
        scale.get("labelSelectorPath"),
    )


def complete(definition: JsonObject) -> None:
    """Fill in the defaults of a definition, in place, and reject it if it is not valid.

    Raises:
        ApiStatusError: 422 with all errors.
    """
    spec = definition.get("spec") or {}
    name = str((definition.get("metadata") or {}).get("name") or "")
    causes = list(_find_missing_fields(spec)) or list(_find_content_causes(spec, name))
    if causes:
        raise build_invalid(CUSTOM_RESOURCE_DEFINITIONS, name, causes)
    names = spec["names"]
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})


def build_established_status(definition: JsonObject, now: datetime) -> JsonObject:
    """Return the status of a definition whose kind is served."""
    spec = definition["spec"]
    moment = format_timestamp(now)
    reasons = (
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    )
    conditions = [
        {"type": name, "status": "True", "lastTransitionTime": moment, "reason": reason, "message": message}
        for name, reason, message in reasons
    ]
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    return {"conditions": conditions, "acceptedNames": dict(spec["names"]), "storedVersions": stored}


def _find_missing_fields(spec: Mapping[str, Any]) -> Iterator[Cause]:
    for key in ("group", "scope", "versions", "names"):
        if not spec.get(key):
            yield build_required_cause(f"spec.{key}")
    for key in ("plural", "kind"):
        if spec.get("names") and not spec["names"].get(key):
            yield build_required_cause(f"spec.names.{key}")


def _find_content_causes(spec: Mapping[str, Any], name: str) -> Iterator[Cause]:
    if name != f"{spec['names']['plural']}.{spec['group']}":
        yield build_invalid_cause("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from find_choice_causes(spec["scope"], ("Cluster", "Namespaced"), "spec.scope")
    if sum(bool(version.get("storage")) for version in spec["versions"]) != 1:
        yield Cause("spec.versions", "Invalid value: must have exactly one version marked as storage version")
    for index, version in enumerate(spec["versions"]):
        place = f"spec.versions[{index}]"
        if not version.get("name"):
            yield build_required_cause(f"{place}.name")
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema:
            yield from find_schema_causes(schema, f"{place}.schema.openAPIV3Schema")
        else:
            yield build_required_cause(f"{place}.schema.openAPIV3Schema")
    if (spec.get("conversion") or {}).get("strategy", "None") != "None":
        message = 'Unsupported value: the local cluster converts by "None" only'
        yield Cause("spec.conversion.strategy", message, "FieldValueNotSupported")
