"""Pod sets: the pods for which Kueue reserves quota, as a Workload describes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..driver.pod.pod import merge
from ..kubernetes.json_object import JsonObject


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

    @property
    def required_ready(self) -> int:
        """The number of ready pods from which the pod set counts as ready."""
        return self.count if self.ready_count is None else self.ready_count

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
