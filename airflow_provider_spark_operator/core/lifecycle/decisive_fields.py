"""The part of a pod that decisions read, of limited size."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic_core import to_json

from ..kubernetes.names import LABEL_EXECUTOR_ID, LABEL_ROLE, RESERVED_LABELS, ROLE_EXECUTOR
from ..kubernetes.pods import get_object, list_objects

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
