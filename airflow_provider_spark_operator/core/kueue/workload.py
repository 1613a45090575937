"""The Workload: the object by which a resource asks Kueue for quota, with its pod sets and its priority."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..driver.pod.pod import merge
from ..kubernetes import pods
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import (
    ANNOTATION_POD_SETS_HASH,
    ANNOTATION_READY_EXECUTORS,
    LABEL_APPLICATION_NAME,
    LABEL_CLUSTER_NAME,
    LABEL_PRIORITY_CLASS,
    LABEL_QUEUE_NAME,
    ROLE_EXECUTOR,
)
from ..models.base import Resource


@dataclass(frozen=True)
class PodSet:
    """Pods of one role.

    Attributes:
        role: The role of the pods, for example "driver". It is the name of the pod set.
        count: The number of pods for which quota is reserved.
        template: The pod template with `metadata` and `spec`.
        ready_count: The number of ready pods from which the pod set counts as ready. None: `count`.
    """

    role: str
    count: int
    template: JsonObject
    ready_count: int | None = None

    def to_document(self) -> JsonObject:
        """Return the entry of `spec.podSets`."""
        return {"name": self.role, "count": self.count, "template": self.template}


def build_template(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> JsonObject:
    """Build the pod template of a pod set. Only the labels and annotations of `metadata` are kept."""
    kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    return {"metadata": kept, "spec": dict(spec)} if kept else {"spec": dict(spec)}


def set_requests(container: Mapping[str, Any], resources: Mapping[str, Any]) -> JsonObject:
    """Return the container with `resources`, which take precedence over its own.

    Kueue counts requests only. The API server copies the limits of devices to their requests when it creates a pod.
    """
    merged = merge(container.get("resources") or {}, resources)
    limits = merged.get("limits") or {}
    devices = {key: value for key, value in limits.items() if "/" in key}
    return {**container, "resources": merge(merged, {"requests": devices})}


WORKLOAD_PRIORITY_CLASS: Final = "WorkloadPriorityClass"
POD_PRIORITY_CLASS: Final = "PriorityClass"
_GROUPS: Final[Mapping[str, str]] = {WORKLOAD_PRIORITY_CLASS: "kueue.x-k8s.io", POD_PRIORITY_CLASS: "scheduling.k8s.io"}


@dataclass(frozen=True)
class PriorityClassName:
    """The class that determines a priority.

    Attributes:
        kind: WORKLOAD_PRIORITY_CLASS or POD_PRIORITY_CLASS.
        name: The name of the class.
    """

    kind: str
    name: str


@dataclass(frozen=True)
class Priority:
    """The priority of a Workload: the class and its value."""

    source: PriorityClassName
    value: int

    def to_fields(self) -> JsonObject:
        """Return the fields of the specification of the Workload."""
        reference = {"group": _GROUPS[self.source.kind], "kind": self.source.kind, "name": self.source.name}
        return {"priorityClassRef": reference, "priority": self.value}


def find_priority_class(resource: Resource, pod_sets: Iterable[PodSet]) -> PriorityClassName | None:
    """Return the class that determines the priority of a resource; None if only the default class of pods does.

    The label of the resource takes precedence over `priorityClassName` of the pod templates, of which the first counts.
    """
    label = pods.get_text(pods.get_object(resource.metadata.get("labels")).get(LABEL_PRIORITY_CLASS))
    if label:
        return PriorityClassName(WORKLOAD_PRIORITY_CLASS, label)
    names = (pods.get_text(pod_set.template["spec"].get("priorityClassName")) for pod_set in pod_sets)
    name = next(filter(None, names), None)
    return PriorityClassName(POD_PRIORITY_CLASS, name) if name else None


def read_priority(priority_class: Mapping[str, object], kind: str) -> Priority:
    """Return the priority that a WorkloadPriorityClass or a PriorityClass sets.

    Args:
        priority_class: The class as read from the API.
        kind: WORKLOAD_PRIORITY_CLASS or POD_PRIORITY_CLASS.
    """
    value = priority_class.get("value")
    name = pods.get_text(pods.get_object(priority_class.get("metadata")).get("name"))
    return Priority(PriorityClassName(kind, name), value if isinstance(value, int) else 0)


def find_default_priority(priority_classes: Iterable[Mapping[str, object]]) -> Priority | None:
    """Return the priority of the PriorityClass with `globalDefault`; None if there is no such class.

    Of several such classes, Kubernetes uses the one with the lowest value.
    """
    defaults = [each for each in priority_classes if each.get("globalDefault") is True]
    return min(
        (read_priority(each, POD_PRIORITY_CLASS) for each in defaults), key=lambda each: each.value, default=None
    )


WORKLOAD_API_VERSION: Final = "kueue.x-k8s.io/v1beta2"
_APPLICATION_KIND: Final = "SparkApplication"


@dataclass(frozen=True)
class WantedWorkload:
    """The Workload that a resource needs.

    Attributes:
        owner: The resource.
        queue: The name of the LocalQueue.
        pod_sets: The pods of the resource.
        priority: The priority; None for the default of Kueue.
    """

    owner: Resource
    queue: str
    pod_sets: tuple[PodSet, ...]
    priority: Priority | None = None

    @property
    def name(self) -> str:
        """The name of the Workload, the same for each attempt."""
        return build_workload_name(self.owner.kind, self.owner.name)

    @property
    def pod_sets_hash(self) -> str:
        """The hash that shows whether an existing Workload has these pod sets."""
        return hash_pod_sets([pod_set.to_document() for pod_set in self.pod_sets])

    def to_document(self) -> JsonObject:
        """Build the Workload to create."""
        spec: JsonObject = {
            "active": True,
            "queueName": self.queue,
            "podSets": [pod_set.to_document() for pod_set in self.pod_sets],
        }
        if self.priority is not None:
            spec |= self.priority.to_fields()
        return {
            "apiVersion": WORKLOAD_API_VERSION,
            "kind": "Workload",
            "metadata": {
                "name": self.name,
                "namespace": self.owner.namespace,
                "labels": self._build_labels(),
                "annotations": self._build_annotations(),
                "ownerReferences": [_build_owner_reference(self.owner)],
            },
            "spec": spec,
        }

    def _build_labels(self) -> dict[str, str]:
        name = LABEL_APPLICATION_NAME if self.owner.kind == _APPLICATION_KIND else LABEL_CLUSTER_NAME
        return {**_read_labels(self.owner), name: self.owner.name}

    def _build_annotations(self) -> dict[str, str]:
        annotations = {ANNOTATION_POD_SETS_HASH: self.pod_sets_hash}
        for pod_set in self.pod_sets:
            if pod_set.role == ROLE_EXECUTOR and pod_set.ready_count is not None:
                annotations[ANNOTATION_READY_EXECUTORS] = str(pod_set.ready_count)
        return annotations


def build_workload_name(kind: str, name: str) -> str:
    """Build the name of the Workload of a resource: `sparkapplication-pi`."""
    return f"{kind.lower()}-{name}"


def hash_pod_sets(pod_sets: Sequence[Mapping[str, object]]) -> str:
    """Return the SHA-256 of the JSON of `spec.podSets`, with sorted keys, as hexadecimal digits."""
    text = json.dumps(pod_sets, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def get_queue_name(resource: Resource) -> str | None:
    """Return the queue that the labels of a resource name; None if they name none."""
    return _read_labels(resource).get(LABEL_QUEUE_NAME) or None


def _read_labels(resource: Resource) -> dict[str, str]:
    labels = resource.metadata.get("labels")
    return {str(key): str(value) for key, value in labels.items()} if isinstance(labels, Mapping) else {}


def _build_owner_reference(owner: Resource) -> JsonObject:
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
