"""The answer of Kueue to the request of a resource: read from the Workload, with what has to be done next."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from ..kubernetes import pods
from ..kubernetes.json_object import JsonObject, KubernetesObject
from ..kubernetes.names import ANNOTATION_POD_SETS_HASH
from . import state
from .workload import WORKLOAD_PRIORITY_CLASS, WantedWorkload, hash_pod_sets


@dataclass(frozen=True)
class Admitted:
    """Kueue has admitted the Workload: the pods can be created."""


@dataclass(frozen=True)
class Pending:
    """The Workload waits for its admission.

    Attributes:
        message: Why it waits.
        patch: A merge patch of the Workload, because the queue or the priority of the resource has changed; None if
            nothing has changed.
    """

    message: str
    patch: JsonObject | None = None


@dataclass(frozen=True)
class Backoff:
    """Kueue has evicted the Workload before its pods were created, and queues it again at a later time.

    Attributes:
        message: Why it was evicted.
        until: The time.
    """

    message: str
    until: datetime


@dataclass(frozen=True)
class Stale:
    """The Workload cannot be used: another one must be created.

    Attributes:
        message: Why it cannot be used.
        delete: Whether it has to be deleted first. False: it is already being deleted.
    """

    message: str
    delete: bool = True


Admission: TypeAlias = Admitted | Pending | Backoff | Stale


def read_admission(workload: KubernetesObject, wanted: WantedWorkload, now: datetime) -> Admission:
    """Return what Kueue has decided about a Workload.

    Args:
        workload: The Workload as read from the API.
        wanted: The Workload that the resource needs now.
        now: The time, with an offset.
    """
    if state.is_being_deleted(workload):
        return Stale("An earlier Workload of the same name is being deleted.", delete=False)
    if not state.is_controlled_by(workload, wanted.owner.uid):
        return Stale("The Workload belongs to an earlier resource of the same name.")
    if not state.is_active(workload):
        return Pending(f"The Workload {wanted.name} is deactivated (spec.active is false).")
    eviction = state.describe_eviction(workload)
    if eviction is not None and state.holds_quota(workload):
        return _read_backoff(workload, eviction, now)
    if state.is_true(workload, state.ADMITTED):
        return Admitted()
    if not _has_pod_sets(workload, wanted):
        return Stale("The pod templates of the resource have changed since it was queued.")
    return Pending(_describe_pending(workload, wanted), _build_spec_patch(workload, wanted))


def _read_backoff(workload: KubernetesObject, eviction: str, now: datetime) -> Admission:
    until = state.read_requeue_time(workload)
    if until is not None and until > now:
        return Backoff(f"Kueue has evicted the Workload: {eviction}", until)
    return Stale(f"Kueue has evicted the Workload: {eviction}")


def _describe_pending(workload: KubernetesObject, wanted: WantedWorkload) -> str:
    cause = state.describe_waiting(workload)
    return f"Waiting for Kueue admission in queue {wanted.queue}" + (f": {cause}" if cause else ".")


def _build_spec_patch(workload: KubernetesObject, wanted: WantedWorkload) -> JsonObject | None:
    """Build the patch that gives a Workload the wanted queue and priority; None if it has them.

    Kueue permits only one change of a Workload that has quota: to another WorkloadPriorityClass.
    """
    present = pods.get_object(workload.get("spec"))
    priority: JsonObject = dict.fromkeys(("priorityClassRef", "priority"))
    if wanted.priority is not None:
        priority |= wanted.priority.to_fields()
    if not state.holds_quota(workload):
        wanted_fields = {"queueName": wanted.queue, **priority}
    elif _is_workload_priority(present.get("priorityClassRef")) and _is_workload_priority(priority["priorityClassRef"]):
        wanted_fields = priority
    else:
        return None
    changed = {key: value for key, value in wanted_fields.items() if present.get(key) != value}
    if not changed:
        return None
    version = pods.get_object(workload.get("metadata")).get("resourceVersion")
    return {"metadata": {"resourceVersion": version}, "spec": changed}


def _is_workload_priority(reference: object) -> bool:
    return pods.get_object(reference).get("kind") == WORKLOAD_PRIORITY_CLASS


def _has_pod_sets(workload: KubernetesObject, wanted: WantedWorkload) -> bool:
    """Return whether a Workload has the wanted pod sets.

    The annotation contains their hash. The Apache operator may compute another hash of the same pod sets, so the pod
    sets themselves count, too.
    """
    if _get_annotations(workload).get(ANNOTATION_POD_SETS_HASH) == wanted.pod_sets_hash:
        return True
    pod_sets = pods.list_objects(pods.get_object(workload.get("spec")).get("podSets"))
    return hash_pod_sets(pod_sets) == wanted.pod_sets_hash


def _get_annotations(workload: KubernetesObject) -> Mapping[str, object]:
    return pods.get_object(pods.get_object(workload.get("metadata")).get("annotations"))
