"""The Workload: the object by which a resource asks Kueue for quota."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import (
    ANNOTATION_POD_SETS_HASH,
    ANNOTATION_READY_EXECUTORS,
    LABEL_APPLICATION_NAME,
    LABEL_CLUSTER_NAME,
    LABEL_QUEUE_NAME,
    ROLE_EXECUTOR,
)
from ..models.resource import Resource
from .pod_sets import PodSet
from .priority import Priority

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
