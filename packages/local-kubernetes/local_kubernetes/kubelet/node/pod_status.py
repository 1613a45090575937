"""The status of a pod, derived from the states of its containers as a kubelet does."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from ...api.kinds.documents import JsonObject, format_timestamp
from .states import ContainerRecord, Terminated, Waiting

ADDRESS = "127.0.0.1"
PENDING = "Pending"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"


@dataclass(frozen=True)
class Eviction:
    """The reason why the node ended a pod.

    Args:
        reason: The reason as one word, such as Evicted or DeadlineExceeded.
        message: The reason as a sentence.
    """

    reason: str
    message: str


def compute_pod_phase(init: Sequence[ContainerRecord], containers: Sequence[ContainerRecord]) -> str:
    """Return the phase of a pod.

    Args:
        init: Records of the init containers.
        containers: Records of the main containers.
    """
    if any(record.failed and not record.sidecar and not record.starts_again for record in init):
        return FAILED
    if not is_initialized(init):
        return PENDING
    if any(isinstance(record.state, Waiting) and record.last is None for record in containers):
        return PENDING
    if any(record.starts_again or not isinstance(record.state, Terminated) for record in containers):
        return RUNNING
    return SUCCEEDED if all(record.succeeded for record in containers) else FAILED


def is_initialized(init: Sequence[ContainerRecord]) -> bool:
    """Whether all init containers have succeeded or, if they are sidecars, have started."""
    return all(
        record.succeeded or (record.sidecar and (record.running or record.last is not None or record.failed))
        for record in init
    )


def build_pod_status(
    pod: JsonObject,
    init: Sequence[ContainerRecord],
    containers: Sequence[ContainerRecord],
    now: datetime,
    eviction: Eviction | None = None,
    *,
    volumes_made: bool = True,
) -> JsonObject:
    """Return the status of a pod that is bound to this node.

    Args:
        pod: The current pod; conditions that have not changed keep their times.
        init: Records of the init containers.
        containers: Records of the main containers.
        now: The current time.
        eviction: The reason why the node ended the pod; None if it did not.
        volumes_made: Whether the volumes exist, so that containers can start.
    """
    previous: JsonObject = pod.get("status") or {}
    phase = FAILED if eviction else compute_pod_phase(init, containers)
    conditions = _build_conditions(phase, init, containers, now, volumes_made=volumes_made)
    status: JsonObject = {
        **previous,
        "phase": phase,
        "conditions": merge_conditions(previous.get("conditions") or [], conditions),
        "hostIP": ADDRESS,
        "hostIPs": [{"ip": ADDRESS}],
        "podIP": ADDRESS,
        "podIPs": [{"ip": ADDRESS}],
        "startTime": previous.get("startTime") or format_timestamp(now),
        "containerStatuses": [_build_container_status(record) for record in sorted(containers, key=attrgetter("name"))],
    }
    if init:
        status["initContainerStatuses"] = [_init_status(record) for record in init]
    if eviction:
        status |= {"reason": eviction.reason, "message": eviction.message}
    return status


def build_unschedulable_condition(message: str, now: datetime) -> JsonObject:
    """Return the condition of a pod that cannot be bound to a node."""
    absent = {"status": "False", "reason": "Unschedulable", "message": message}
    return _build_condition("PodScheduled", absent, now)


def merge_conditions(present: Sequence[JsonObject], new: Sequence[JsonObject]) -> list[JsonObject]:
    """Replace conditions of the same type; those whose status is the same keep their time."""
    merged = {condition["type"]: condition for condition in present}
    for condition in new:
        before = merged.get(condition["type"])
        if before and before.get("status") == condition["status"]:
            condition = condition | {"lastTransitionTime": before.get("lastTransitionTime")}
        merged[condition["type"]] = condition
    return list(merged.values())


def _build_conditions(
    phase: str,
    init: Sequence[ContainerRecord],
    containers: Sequence[ContainerRecord],
    now: datetime,
    *,
    volumes_made: bool,
) -> list[JsonObject]:
    ended = {SUCCEEDED: "PodCompleted", FAILED: "PodFailed"}.get(phase)
    readiness = _build_readiness(ended, init, containers)
    new = {
        "PodReadyToStartContainers": {"status": "False"} if ended or not volumes_made else {},
        "Initialized": _build_initialization(phase, init),
        "Ready": readiness,
        "ContainersReady": readiness,
        "PodScheduled": {},
    }
    return [_build_condition(name, change, now) for name, change in new.items()]


def _build_initialization(phase: str, init: Sequence[ContainerRecord]) -> JsonObject:
    if phase == SUCCEEDED:
        return {"reason": "PodCompleted"}
    if is_initialized(init):
        return {}
    names = " ".join(record.name for record in init if not is_initialized([record]))
    message = f"containers with incomplete status: [{names}]"
    return {"status": "False", "reason": "ContainersNotInitialized", "message": message}


def _build_readiness(
    ended: str | None, init: Sequence[ContainerRecord], containers: Sequence[ContainerRecord]
) -> JsonObject:
    if ended:
        return {"status": "False", "reason": ended}
    sidecars = [record for record in init if record.sidecar]
    unready = [record.name for record in (*containers, *sidecars) if not record.ready]
    if not unready:
        return {}
    message = f"containers with unready status: [{' '.join(unready)}]"
    return {"status": "False", "reason": "ContainersNotReady", "message": message}


def _build_condition(name: str, change: JsonObject, now: datetime) -> JsonObject:
    condition: JsonObject = {"type": name, "status": "True", "lastProbeTime": None}
    return condition | {"lastTransitionTime": format_timestamp(now)} | change


def _build_container_status(record: ContainerRecord) -> JsonObject:
    status: JsonObject = {
        "name": record.name,
        "state": record.state.to_document(),
        "lastState": record.last.to_document() if record.last else {},
        "ready": record.ready,
        "restartCount": record.restarts,
        "image": record.image,
        "imageID": f"local/{record.image}" if record.container_id else "",
        "started": record.running,
    }
    if record.container_id:
        status["containerID"] = record.container_id
    return status


def _init_status(record: ContainerRecord) -> JsonObject:
    status = _build_container_status(record)
    if not record.sidecar:
        status["ready"] = record.succeeded
    return status
