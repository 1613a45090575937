"""The state of a Workload, as Kueue and the owner of the Workload record it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from ..kubernetes import pods
from ..kubernetes.json_object import JsonObject, KubernetesObject
from ..kubernetes.names import ANNOTATION_READY_EXECUTORS, ROLE_EXECUTOR
from ..kubernetes.problems import cut_middle
from ..kubernetes.times import read_time, to_utc

QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
EVICTED: Final = "Evicted"
PODS_READY: Final = "PodsReady"
FINISHED: Final = "Finished"
_READY_MESSAGE: Final = "All pods reached readiness and the workload is running"
# The text becomes part of the status of the resource and of its Events.
_LONGEST_MESSAGE: Final = 1024
_TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"


def is_true(workload: KubernetesObject, condition: str) -> bool:
    """Return whether a condition of the Workload is True."""
    return _find_condition(workload, condition).get("status") == "True"


def is_active(workload: KubernetesObject) -> bool:
    """Return whether the Workload may run: `spec.active` is not false."""
    return pods.get_object(workload.get("spec")).get("active") is not False


def holds_quota(workload: KubernetesObject) -> bool:
    """Return whether quota is reserved for the Workload."""
    return is_true(workload, QUOTA_RESERVED) or is_true(workload, ADMITTED)


def describe_eviction(workload: KubernetesObject) -> str | None:
    """Return the reason and the message of the eviction, up to 1024 characters; None if there is no eviction."""
    if not is_true(workload, EVICTED):
        return None
    return cut_middle(_join(_find_condition(workload, EVICTED)) or EVICTED, _LONGEST_MESSAGE)


def describe_waiting(workload: KubernetesObject) -> str:
    """Return why the Workload is not admitted, in the words of Kueue; empty if Kueue has not said so."""
    reserved = _find_condition(workload, QUOTA_RESERVED)
    condition = _find_condition(workload, ADMITTED) if reserved.get("status") == "True" else reserved
    return pods.get_text(condition.get("message"))


def read_requeue_time(workload: KubernetesObject) -> datetime | None:
    """Return when Kueue queues the evicted Workload again; None if no time is set."""
    state = pods.get_object(pods.get_object(workload.get("status")).get("requeueState"))
    return read_time(state.get("requeueAt"))


def find_last_change(workload: KubernetesObject) -> datetime | None:
    """Return when the Workload was created or a condition of it changed last; None if it contains no time."""
    created = read_time(pods.get_object(workload.get("metadata")).get("creationTimestamp"))
    changes = [read_time(each.get("lastTransitionTime")) for each in _list_conditions(workload)]
    return max(filter(None, (created, *changes)), default=None)


def is_being_deleted(workload: KubernetesObject) -> bool:
    """Return whether the deletion of the Workload was requested."""
    return bool(pods.get_object(workload.get("metadata")).get("deletionTimestamp"))


def is_controlled_by(workload: KubernetesObject, uid: str) -> bool:
    """Return whether the resource with `uid` is the controller of the Workload."""
    references = pods.list_objects(pods.get_object(workload.get("metadata")).get("ownerReferences"))
    return any(each.get("controller") is True and each.get("uid") == uid for each in references)


def build_ready_patch(workload: KubernetesObject, now: datetime) -> JsonObject:
    """Build the patch of the status that records that all pods are ready."""
    return _build_patch(workload, [_build_condition(workload, PODS_READY, "Started", _READY_MESSAGE, now)])


def build_finished_patch(workload: KubernetesObject, *, succeeded: bool, message: str, now: datetime) -> JsonObject:
    """Build the patch of the status that records the end of the pods, so that Kueue releases the quota."""
    reason = "Succeeded" if succeeded else "Failed"
    return _build_patch(workload, [_build_condition(workload, FINISHED, reason, message, now)])


def build_release_patch(workload: KubernetesObject, now: datetime) -> JsonObject:
    """Build the patch of the status that returns the quota of an evicted Workload that is kept.

    Kueue itself does so only for the kinds of jobs that it manages.
    """
    message = "The pods of the SparkApplication or SparkCluster have been stopped"
    patch = _build_patch(
        workload,
        [
            _build_condition(workload, QUOTA_RESERVED, "Pending", message, now, status="False"),
            _build_condition(workload, ADMITTED, "NoReservation", message, now, status="False"),
        ],
    )
    patch["status"]["admission"] = None
    return patch


def _build_patch(workload: KubernetesObject, changed: list[JsonObject]) -> JsonObject:
    """Build a merge patch, which replaces the list of conditions of exactly this revision of the Workload."""
    types = {each["type"] for each in changed}
    kept = [dict(each) for each in _list_conditions(workload) if each.get("type") not in types]
    version = pods.get_object(workload.get("metadata")).get("resourceVersion")
    return {"metadata": {"resourceVersion": version}, "status": {"conditions": [*kept, *changed]}}


def _build_condition(
    workload: KubernetesObject, kind: str, reason: str, message: str, now: datetime, *, status: str = "True"
) -> JsonObject:
    condition: JsonObject = {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": to_utc(now).strftime(_TIME_FORMAT),
    }
    generation = pods.get_object(workload.get("metadata")).get("generation")
    return condition | ({"observedGeneration": generation} if isinstance(generation, int) else {})


def _list_conditions(workload: KubernetesObject) -> list[KubernetesObject]:
    return pods.list_objects(pods.get_object(workload.get("status")).get("conditions"))


def _find_condition(workload: KubernetesObject, kind: str) -> KubernetesObject:
    return next((each for each in _list_conditions(workload) if each.get("type") == kind), {})


def _join(condition: KubernetesObject) -> str:
    return ": ".join(filter(None, (pods.get_text(condition.get("reason")), pods.get_text(condition.get("message")))))


# More digits than any number of executors has. Python rejects the conversion of very long numbers.
_MAX_DIGITS: Final = 10


def needs_ready_condition(workload: KubernetesObject, pods_by_role: Mapping[str, Iterable[KubernetesObject]]) -> bool:
    """Return whether the condition PodsReady must be written: all pods are ready for the first time.

    Args:
        workload: The Workload of the resource.
        pods_by_role: The pods of the resource by the name of their pod set.
    """
    if not is_true(workload, ADMITTED) or is_true(workload, PODS_READY):
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
