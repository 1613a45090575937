"""Merge pod templates, and add to the container of Spark in a template."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..kubernetes.json_object import JsonObject, copy_list, copy_object
from ..kubernetes.pods import get_object, list_objects

# Lists whose entries are objects with parts of their own. The entries of other lists are replaced as a whole.
_CONTAINERS: Final = frozenset({"containers", "initContainers"})
# What identifies an entry of a list, the most specific key first.
_KEYS: Final = ("mountPath", "containerPort", "ip", "name")


def merge_templates(base: Mapping[str, Any], top: Mapping[str, Any]) -> JsonObject:
    """Return a pod template with the content of both. Where they differ, `top` wins.

    Objects are merged by key, containers by name. In other lists, an entry of `top` replaces the entry with the same
    name, or the mount with the same path. Entries without a name are added. Lists of texts are replaced.

    Args:
        base: A pod template, or a part of one. It stays unchanged.
        top: The template that wins. It stays unchanged.
    """
    merged = dict(base)
    for key, value in top.items():
        below = base.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[key] = merge_templates(below, value)
        elif isinstance(value, list) and isinstance(below, list):
            merged[key] = _merge_lists(below, value, deep=key in _CONTAINERS)
        else:
            merged[key] = value
    return merged


def extend_template(
    template: Mapping[str, Any], path: str, container_name: str, *, pod: Mapping[str, Any], container: Mapping[str, Any]
) -> JsonObject:
    """Return a pod template with additions to its pod and to the container of Spark.

    Args:
        template: The template. It stays unchanged.
        path: The path of the template in the document, for messages.
        container_name: Name of the container of Spark. If no container has it, Spark uses the first one.
        pod: Fields to merge into the specification of the pod.
        container: Fields to merge into the container of Spark.

    Raises:
        InvalidResource: A part of the template that must be extended is not an object or list.
    """
    own_spec = copy_object(template, "spec", f"{path}.spec")
    spec = merge_templates(own_spec, pod)
    if "affinity" in pod:
        spec["affinity"] = _require_both(get_object(own_spec.get("affinity")), pod["affinity"])
    containers = copy_list(spec, "containers", f"{path}.spec.containers") or [{"name": container_name}]
    names = [one.get("name") if isinstance(one, Mapping) else None for one in containers]
    position = names.index(container_name) if container_name in names else 0
    own = copy_object({"container": containers[position]}, "container", f"{path}.spec.containers[{position}]")
    containers[position] = merge_templates(own, container)
    return {**template, "spec": spec | {"containers": containers}}


def _require_both(base: Mapping[str, Any], top: Mapping[str, Any]) -> JsonObject:
    """Return an affinity with the requirement of `top` in each alternative of the node affinity of `base`."""
    kind, terms = "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
    own = get_object(base.get("nodeAffinity"))
    added = top["nodeAffinity"][kind][terms][0]["matchExpressions"]
    alternatives = list_objects(get_object(own.get(kind)).get(terms)) or [{}]
    required = [
        {**each, "matchExpressions": [*list_objects(each.get("matchExpressions")), *added]} for each in alternatives
    ]
    return {**base, "nodeAffinity": {**own, kind: {terms: required}}}


def _merge_lists(base: Sequence[Any], top: Sequence[Any], *, deep: bool) -> list[Any]:
    entries = [*base, *top]
    if not all(isinstance(entry, Mapping) for entry in entries):
        return list(top)
    key = next((key for key in _KEYS if all(key in entry for entry in entries)), None)
    if key is None:
        return [*base, *(entry for entry in top if entry not in base)]
    merged = {entry[key]: entry for entry in base}
    for entry in top:
        below = merged.get(entry[key])
        merged[entry[key]] = merge_templates(below, entry) if deep and below is not None else entry
    return list(merged.values())
