"""Whether all pods of a Workload are ready, so that its condition PodsReady becomes true."""

from collections.abc import Iterable, Mapping
from typing import Final

from ..kubernetes import pods
from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.names import ANNOTATION_READY_EXECUTORS, ROLE_EXECUTOR
from . import state

# More digits than any number of executors has. Python rejects the conversion of very long numbers.
_MAX_DIGITS: Final = 10


def needs_ready_condition(workload: KubernetesObject, pods_by_role: Mapping[str, Iterable[KubernetesObject]]) -> bool:
    """Return whether the condition PodsReady must be written: all pods are ready for the first time.

    Args:
        workload: The Workload of the resource.
        pods_by_role: The pods of the resource by the name of their pod set.
    """
    if not state.is_true(workload, state.ADMITTED) or state.is_true(workload, state.PODS_READY):
        return False
    ready = {role: sum(1 for pod in members if pods.is_ready(pod)) for role, members in pods_by_role.items()}
    return all(ready.get(role, 0) >= count for role, count in _read_required(workload).items())


def _read_required(workload: KubernetesObject) -> dict[str, int]:
    """Return the number of ready pods that each pod set needs."""
    pod_sets = pods.list_objects(pods.get_object(workload.get("spec")).get("podSets"))
    counts = {pods.get_text(each.get("name")): each.get("count", 1) for each in pod_sets}
    required = {role: count for role, count in counts.items() if isinstance(count, int)}
    annotations = pods.get_object(pods.get_object(workload.get("metadata")).get("annotations"))
    smaller = pods.get_text(annotations.get(ANNOTATION_READY_EXECUTORS))
    is_number = smaller.isascii() and smaller.isdecimal() and len(smaller) <= _MAX_DIGITS
    if ROLE_EXECUTOR in required and is_number:
        required[ROLE_EXECUTOR] = min(required[ROLE_EXECUTOR], int(smaller))
    return required
