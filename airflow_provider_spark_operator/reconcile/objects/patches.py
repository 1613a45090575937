"""Merge patches that fail if the resource has changed since it was read."""

from collections.abc import Mapping
from typing import Any

from ...core.kubernetes.json_object import JsonObject


def build_merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> JsonObject:
    """Build the JSON merge patch (RFC 7386) from `old` to `new`; empty if they are equal.

    Lists are replaced as a whole. `new` must not contain None, which a merge patch cannot set.
    """
    patch: JsonObject = dict.fromkeys(key for key in old if key not in new)
    for key, value in new.items():
        known = old.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            inner = build_merge_patch(known, value)
            if inner:
                patch[key] = inner
        elif key not in old or known != value:
            patch[key] = value
    return patch


def build_status_patch(resource: JsonObject, status: JsonObject) -> JsonObject | None:
    """Build the patch that changes the status subresource to `status`; None if nothing has changed.

    The write fails if the resource has changed since it was read.
    """
    patch = build_merge_patch(resource.get("status") or {}, status)
    return {"metadata": build_precondition(resource), "status": patch} if patch else None


def build_finalizers_patch(resource: JsonObject, finalizers: list[str]) -> JsonObject:
    """Build the patch that sets the finalizers, with the same precondition."""
    return {"metadata": {**build_precondition(resource), "finalizers": finalizers}}


def build_precondition(resource: JsonObject) -> JsonObject:
    """Build the metadata of a patch that must fail if the resource has changed since it was read."""
    metadata = resource["metadata"]
    return {name: metadata[name] for name in ("uid", "resourceVersion") if name in metadata}
