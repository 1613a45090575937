"""The status, written as a merge patch of what changed."""

from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.reconcile.cache import JsonObject


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> JsonObject:
    """The JSON merge patch (RFC 7386) that makes `new` out of `old`; empty if they are equal.

    Lists are replaced whole. `new` must not hold None, which a merge patch cannot set.
    """
    patch: JsonObject = dict.fromkeys(key for key in old if key not in new)
    for key, value in new.items():
        known = old.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            inner = merge_patch(known, value)
            if inner:
                patch[key] = inner
        elif key not in old or known != value:
            patch[key] = value
    return patch


def status_patch(resource: JsonObject, status: JsonObject) -> JsonObject | None:
    """The patch of the status subresource that leads to `status`, None if nothing changed.

    Its resource version makes the write fail where anybody has changed the resource since it was read.
    """
    patch = merge_patch(resource.get("status") or {}, status)
    return {"metadata": precondition(resource), "status": patch} if patch else None


def finalizers_patch(resource: JsonObject, finalizers: list[str]) -> JsonObject:
    """The patch that sets the finalizers, under the same precondition."""
    return {"metadata": {**precondition(resource), "finalizers": finalizers}}


def precondition(resource: JsonObject) -> JsonObject:
    """The part of a merge patch's metadata that binds it to the resource as it was read."""
    metadata = resource["metadata"]
    return {name: metadata[name] for name in ("uid", "resourceVersion") if name in metadata}
