"""The parts of objects that the controller keeps, of limited size."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic_core import to_json

from ..kubernetes.names import (
    ANNOTATION_CLAIM,
    ANNOTATION_READY_EXECUTORS,
    LABEL_APPLICATION_NAME,
    LABEL_CLUSTER_NAME,
    LABEL_EXECUTOR_ID,
    LABEL_ROLE,
    RESERVED_LABELS,
    ROLE_EXECUTOR,
)
from ..kubernetes.pods import get_object, get_text, list_objects

# What decisions read, in the order of its importance: if a part exceeds its limit, the rest is dropped.
_METADATA: Final = (
    *("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"),
    *("deletionGracePeriodSeconds", "ownerReferences"),
)
_STATUS: Final = ("phase", "reason", "message", "containerStatuses", "conditions", "initContainerStatuses")
_EXECUTOR_LISTS: Final = {
    "conditions": ("type", "status", "reason", "message"),
    "containerStatuses": ("name", "image", "ready", "state"),
    "initContainerStatuses": ("name", "image", "ready", "state"),
}
# The kubelet limits the messages of all containers of a pod to 12 KiB, and one message to 4 KiB.
_MAX_TEXT: Final = 4096
_MAX_SIZES: Final = {"metadata": 4_000, "spec": 8_000, "status": 16_000}
# A driver can have hundreds of executors.
_MAX_EXECUTOR_TEXT: Final = 512
_MAX_EXECUTOR_SIZES: Final = {"metadata": 3_000, "status": 5_000}
# A value uses this part of the limit in addition to its text.
_OVERHEAD: Final = 64

# An application with a pod template and a few restarts has about half of this size. It is counted as the limits above.
_MAX_WHOLE: Final = 32_000
_MAX_VALUE: Final = 1_000
_RESOURCE_METADATA: Final = (*_METADATA, "generation", "finalizers", "managedFields")
_SHORTENED: Final = "isShortened"
_YES: Final = ()
"""A value that no JSON contains."""


def select_decisive_fields(pod: Mapping[str, object]) -> dict[str, object]:
    """Return a pod with the fields that decisions read, and the rest of a driver's status as far as the limit permits.

    Annotations, variables and messages can have a megabyte, and a controller keeps thousands of pods.
    """
    metadata, spec, status = (get_object(pod.get(part)) for part in ("metadata", "spec", "status"))
    labels = get_object(metadata.get("labels"))
    parts = {"metadata": {"labels": _select(labels, RESERVED_LABELS), **_select(metadata, _METADATA)}}
    # A driver whose role was changed by a user remains a driver. Only executors have an id.
    if labels.get(LABEL_ROLE) == ROLE_EXECUTOR and LABEL_EXECUTOR_ID in labels:
        parts |= {"status": _select_executor_status(status)}
        sizes, longest = _MAX_EXECUTOR_SIZES, _MAX_EXECUTOR_TEXT
    else:
        parts |= {"spec": _select_spec(spec), "status": {**_select(status, _STATUS), **status}}
        sizes, longest = _MAX_SIZES, _MAX_TEXT
    reduced = {name: _limit(part, sizes[name], longest) for name, part in parts.items()}
    return {**_select(pod, ("apiVersion", "kind")), **reduced}


def is_large(document: Mapping[str, object]) -> bool:
    """Whether only a part of an application, a cluster or a Workload may be kept."""
    text = to_json(document)
    return len(text) + _OVERHEAD * sum(map(text.count, (b",", b"[", b"{"))) > _MAX_WHOLE


def is_shortened(resource: Mapping[str, object]) -> bool:
    """Whether a resource is the result of `shorten_resource`, so that it must be read before decisions."""
    return resource.get(_SHORTENED) == _YES


def shorten_resource(resource: dict[str, object]) -> None:
    """Reduce a large application or cluster to what is read without a reconcile of it.

    An identity, a claim, a state and a time to live remain. Large values of the spec can still be compared.
    """
    if not is_large(resource):
        return
    metadata, spec, status = (get_object(resource.get(part)) for part in ("metadata", "spec", "status"))
    claim = _select(get_object(metadata.get("annotations")), (ANNOTATION_CLAIM,))
    selected = {**_select(metadata, _RESOURCE_METADATA), "annotations": claim}
    current = _select(get_object(status.get("currentState")), ("currentStateSummary", "message"))
    short = {
        **_select(resource, ("apiVersion", "kind")),
        # A part of the finalizers must not be taken for all of them.
        "metadata": {name: value for name, value in selected.items() if digest_value(value) is value},
        "spec": {name: digest_value(value) for name, value in spec.items()},
        "status": {"currentState": {name: digest_value(value) for name, value in current.items()}} if current else {},
        _SHORTENED: _YES,
    }
    resource.clear()
    resource.update(short)


def digest_value(value: object) -> object:
    """Return a JSON value itself, or its SHA-256 if it is large. The digest of a digest is the same."""
    text = to_json(value)
    return value if len(text) <= _MAX_VALUE else hashlib.sha256(text).hexdigest()


def shorten_workload(workload: dict[str, object]) -> None:
    """Remove what decisions do not read from a large Workload of Kueue. Its templates are read from the API."""
    if not is_large(workload):
        return
    metadata, spec, status = (get_object(workload.get(part)) for part in ("metadata", "spec", "status"))
    labels, annotations = (get_object(metadata.get(name)) for name in ("labels", "annotations"))
    parts: dict[str, Mapping[str, object]] = {
        "metadata": {
            **_select(metadata, (*_METADATA, "generation")),
            "labels": _select(labels, (LABEL_APPLICATION_NAME, LABEL_CLUSTER_NAME)),
            "annotations": _select(annotations, (ANNOTATION_READY_EXECUTORS,)),
        },
        "spec": {
            **_select(spec, ("active",)),
            "podSets": [_select(each, ("name", "count")) for each in list_objects(spec.get("podSets"))],
        },
        "status": {
            **_select(status, ("requeueState",)),
            # A long message of one condition must not displace another condition.
            "conditions": [
                {**each, "message": get_text(each.get("message"))[:_MAX_VALUE]}
                for each in list_objects(status.get("conditions"))
            ],
        },
    }
    short = {name: _limit(part, _MAX_SIZES[name], _MAX_TEXT) for name, part in parts.items()}
    workload |= short


def _select_spec(spec: Mapping[str, object]) -> dict[str, object]:
    containers = [
        {"name": entry.get("name"), "args": arguments[:1] if isinstance(arguments := entry.get("args"), list) else None}
        for entry in list_objects(spec.get("containers"))
    ]
    init_containers = [_select(entry, ("name", "restartPolicy")) for entry in list_objects(spec.get("initContainers"))]
    return {**_select(spec, ("nodeName",)), "containers": containers, "initContainers": init_containers}


def _select_executor_status(status: Mapping[str, object]) -> dict[str, object]:
    """Select the fields that count an executor and describe its obstacles."""
    lists = {
        name: [_select(entry, fields) for entry in list_objects(status.get(name))]
        for name, fields in _EXECUTOR_LISTS.items()
    }
    return {**_select(status, ("phase",)), **lists}


def _select(source: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    return {name: source[name] for name in names if name in source}


def _limit(part: Mapping[str, object], size: int, longest: int) -> object:
    return part if len(to_json(part)) <= size else _Allowance(size, longest).copy(part)


@dataclass
class _Allowance:
    """The rest of a limit on the size of a copy, and the limit of each text in it."""

    left: int
    longest: int

    def copy(self, value: object) -> object:
        """Return a copy of a JSON value. What exceeds the limit is missing."""
        self.left -= _OVERHEAD
        if isinstance(value, str):
            text = value[: max(0, min(self.longest, self.left))]
            self.left -= len(text)
            return text
        if isinstance(value, Mapping):
            copied = {}
            for name, inner in value.items():
                self.left -= len(name)
                if self.left <= 0:
                    break
                copied[name] = self.copy(inner)
            return copied
        if isinstance(value, list | tuple):
            entries = []
            for inner in value:
                if self.left <= 0:
                    break
                entries.append(self.copy(inner))
            return entries
        return value
