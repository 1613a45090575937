"""The `scale` subresource: the number of replicas at the path that the kind names."""

from collections.abc import Mapping
from typing import Any

from ..kinds.documents import JsonObject, copy_json
from ..kinds.kinds import Kind
from ..kinds.status import Cause, build_bad_request, build_invalid, build_resource_not_found
from ..store.registry import ServedKind

_SCALES = Kind("autoscaling", "scales", "Scale")


def build_scale(served: ServedKind, document: Mapping[str, Any]) -> JsonObject:
    """Return the Scale of an object.

    Raises:
        ApiStatusError: 404 for a kind without the subresource.
    """
    paths = served.scale
    if paths is None:
        raise build_resource_not_found()
    metadata = document["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: JsonObject = {"replicas": _get_value(document, paths.status_replicas) or 0}
    selector = _get_selector(served, document)
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": {"replicas": replicas} if (replicas := _get_value(document, paths.replicas)) else {},
        "status": status,
    }


def with_scale(served: ServedKind, document: JsonObject, scale: Mapping[str, Any]) -> JsonObject:
    """Return an object with the number of replicas, and the preconditions, of a Scale.

    Raises:
        ApiStatusError: 404 for a kind without the subresource, 400 for an invalid number.
    """
    if served.scale is None:
        raise build_resource_not_found()
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if isinstance(replicas, bool) or not isinstance(replicas, int):
        raise build_bad_request(f"spec.replicas: Invalid value: {replicas!r}: must be a whole number")
    if replicas < 0 and not served.kind.custom:  # the schema of a custom resource checks this
        detail = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise build_invalid(_SCALES, document["metadata"]["name"], [Cause("spec.replicas", detail)])
    result = copy_json(document)
    *parents, last = served.scale.replicas.strip(".").split(".")
    node = result
    for key in parents:
        node = node.setdefault(key, {})
    node[last] = replicas
    version = (scale.get("metadata") or {}).get("resourceVersion")
    if version:
        result["metadata"]["resourceVersion"] = version
    return result


def _get_selector(served: ServedKind, document: Mapping[str, Any]) -> str:
    if served.kind.custom:
        path = served.scale.selector if served.scale else None
        return str(_get_value(document, path) or "") if path else ""
    labels = ((document.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _get_value(document: Mapping[str, Any], path: str) -> Any:
    value: Any = document
    for key in path.strip(".").split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value
