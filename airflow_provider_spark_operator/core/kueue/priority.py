"""The priority of a Workload."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ..kubernetes import pods
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import LABEL_PRIORITY_CLASS
from ..models.resource import Resource
from .pod_sets import PodSet

WORKLOAD_PRIORITY_CLASS: Final = "WorkloadPriorityClass"
POD_PRIORITY_CLASS: Final = "PriorityClass"
_GROUPS: Final[Mapping[str, str]] = {
    WORKLOAD_PRIORITY_CLASS: "kueue.x-k8s.io",
    POD_PRIORITY_CLASS: "scheduling.k8s.io",
}


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
