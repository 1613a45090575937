"""Validation of references to a pod's own fields and resources, with the messages of the API server."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .rules import build_invalid_cause, build_required_cause, find_choice_causes, find_qualified_causes

Reference = Mapping[str, Any]

_IN_VARIABLES = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_IN_VOLUMES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_KNOWN = frozenset({*_IN_VARIABLES, *_IN_VOLUMES, "spec.restartPolicy", "spec.schedulerName", "status.phase"})
_FIELD_OF_MAP = re.compile(r"metadata\.(annotations|labels)\['([^']*)'\]")
_RESOURCES = tuple(
    f"{part}.{name}" for part in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)


def find_field_causes(reference: Reference, place: str, *, in_volume: bool = False) -> Iterator[Cause]:
    """Return the errors in a reference to a field of the pod."""
    path = reference.get("fieldPath") or ""
    version = reference.get("apiVersion") or "v1"
    one = _FIELD_OF_MAP.fullmatch(path)
    if not path:
        yield build_required_cause(f"{place}.fieldPath")
    elif version != "v1":
        yield build_invalid_cause(
            f"{place}.fieldPath", path, f"error converting fieldPath: unsupported pod version: {version}"
        )
    elif one is not None:
        yield from find_qualified_causes(one[2].lower() if one[1] == "annotations" else one[2], place)
    elif path not in _KNOWN:
        yield build_invalid_cause(
            f"{place}.fieldPath", path, f"error converting fieldPath: field label not supported: {path}"
        )
    else:
        yield from find_choice_causes(path, _IN_VOLUMES if in_volume else _IN_VARIABLES, f"{place}.fieldPath")


def find_resource_causes(reference: Reference, place: str, *, in_volume: bool = False) -> Iterator[Cause]:
    """Return the errors in a reference to a resource of a container."""
    resource = reference.get("resource") or ""
    if in_volume and not reference.get("containerName"):
        yield build_required_cause(f"{place}.containerName")
    elif not resource:
        yield build_required_cause(f"{place}.resource")
    elif not resource.partition(".")[2].startswith("hugepages-"):
        yield from find_choice_causes(resource, _RESOURCES, f"{place}.resource")
