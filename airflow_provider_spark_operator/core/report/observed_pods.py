"""The pods of an application as far as a process has seen them while it waits for the application.

Spark deletes the pods of executors, so their times must be kept. A triggerer keeps them for each of thousands of tasks,
so they are reduced to what a timeline needs, and compressed.
"""

import json
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from ..kubernetes import pods
from ..kubernetes.json_object import JsonObject, KubernetesObject, change_texts
from ..kubernetes.names import LABEL_APPLICATION_SELECTOR, LABEL_EXECUTOR_ID, LABEL_ROLE, ROLE_DRIVER

MAX_PODS: Final = 1000
"""The number of pods that are kept: the drivers, and the latest executors."""

_LONGEST_TEXT: Final = 1000
_METADATA: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_LABELS: Final = (LABEL_ROLE, LABEL_APPLICATION_SELECTOR, LABEL_EXECUTOR_ID)
_SPEC: Final = ("nodeName", "nodeSelector", "overhead")
_CONTAINER: Final = ("name", "resources", "restartPolicy")
_STATUS: Final = ("phase", "reason", "conditions")
_STATE: Final = ("name", "ready", "state")


@dataclass(frozen=True)
class Absence:
    """The deletion of a pod, as far as it is known.

    Attributes:
        seen: When the pod was last seen.
        missed: When it was first found to be deleted.
    """

    seen: datetime
    missed: datetime


@dataclass(frozen=True)
class ObservedPods:
    """The pods that were seen, and those of them that no longer exist.

    Attributes:
        packed: The pods, compressed.
        seen: When all pods were last read, or the first one was. None if no pods were read.
        absences: The deletions, by the uids of the pods.
        versions: A hash of the versions of all pods. None if not all of them were read last.
    """

    packed: bytes = b""
    seen: datetime | None = None
    absences: Mapping[str, Absence] = field(default_factory=dict)
    versions: int | None = None

    def add(
        self,
        found: Collection[KubernetesObject],
        now: datetime,
        *,
        label: str,
        is_complete: bool,
        hide: Callable[[str], str] = str,
    ) -> "ObservedPods":
        """Return the pods after another observation.

        Args:
            found: The pods that were read. Those of the same uid replace earlier ones.
            now: The time of the observation.
            label: The label with the name of the application.
            is_complete: Whether all pods of the application were read, so that the other ones were deleted.
            hide: Removes secrets from texts.
        """
        versions = _hash_versions(found) if is_complete else None
        if versions is not None and versions == self.versions:
            return replace(self, seen=now)
        known = {pods.get_uid(pod): pod for pod in self.unpack()}
        kept = {
            pods.get_uid(pod): change_texts(reduce_pod(pod, (label,)), lambda text: hide(text)[:_LONGEST_TEXT])
            for pod in found
        }
        absences = {uid: Absence(self.seen or now, now) for uid in known if is_complete} | dict(self.absences)
        latest = dict(sorted((known | kept).items(), key=_is_driver)[-MAX_PODS:])
        packed = zlib.compress(json.dumps([*latest.values()], separators=(",", ":")).encode())
        return ObservedPods(
            packed,
            now if is_complete else self.seen or now,
            # The answer to an earlier request can arrive last, so a pod that is missing can be seen again.
            {uid: absence for uid, absence in absences.items() if uid in latest and uid not in kept},
            versions,
        )

    def unpack(self) -> list[JsonObject]:
        """Return the pods, also those that no longer exist."""
        unpacked: list[JsonObject] = json.loads(zlib.decompress(self.packed)) if self.packed else []
        return unpacked

    def is_equal_to(self, other: "ObservedPods") -> bool:
        """Return whether the other observation shows the same, apart from its time."""
        return replace(self, seen=None, versions=None) == replace(other, seen=None, versions=None)


def _hash_versions(found: Iterable[KubernetesObject]) -> int | None:
    known = [(pods.get_uid(pod), pods.get_object(pod.get("metadata")).get("resourceVersion")) for pod in found]
    return hash(frozenset(known)) if known and all(isinstance(version, str) for _, version in known) else None


def _is_driver(entry: tuple[str, JsonObject]) -> bool:
    return bool(entry[1]["metadata"]["labels"].get(LABEL_ROLE) == ROLE_DRIVER)


def reduce_pod(pod: KubernetesObject, labels: Iterable[str]) -> JsonObject:
    """Return the parts of a pod that a timeline needs.

    Args:
        pod: The pod.
        labels: The labels that contain the name of the application in one of the dialects.
    """
    metadata, spec, status = (pods.get_object(pod.get(part)) for part in ("metadata", "spec", "status"))
    containers = {
        key: [_select(entry, _CONTAINER) for entry in pods.list_objects(spec.get(key))]
        for key in ("containers", "initContainers")
    }
    statuses = {
        key: [_select(entry, _STATE) for entry in pods.list_objects(status.get(key))]
        for key in ("containerStatuses", "initContainerStatuses")
    }
    return {
        "metadata": _select(metadata, _METADATA)
        | {"labels": _select(pods.get_object(metadata.get("labels")), (*labels, *_LABELS))},
        "spec": _select(spec, _SPEC) | {key: entries for key, entries in containers.items() if entries},
        "status": _select(status, _STATUS) | {key: entries for key, entries in statuses.items() if entries},
    }


def _select(values: Mapping[str, object], names: Iterable[str]) -> JsonObject:
    return {name: values[name] for name in names if name in values}
