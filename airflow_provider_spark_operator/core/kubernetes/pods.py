"""Read pods. No function here raises on a malformed document."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from .times import read_time

_EMPTY: Final[Mapping[str, object]] = {}
# The check for a dict is faster than the one for any mapping.
_OBJECTS: Final = (dict, Mapping)
# Reasons of a waiting container that does not start without a change.
PULL_FAILURES: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
CREATION_FAILURES: Final = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
# Reasons of a pod that its node terminates, because of a shutdown or for other pods.
_INTERRUPTIONS: Final = frozenset({"NodeLost", "NodeShutdown", "Terminated", "Preempting", "Shutdown", "NodeAffinity"})
# These numbers are the same on every system. An exit code above 128 is 128 plus the number of a signal.
_SIGNALS: Final[Mapping[int, str]] = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    6: "SIGABRT",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    15: "SIGTERM",
}

# Reasons of a waiting container that is about to start.
_REGULAR_WAITS: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
# Spark ends a driver or an executor with this code after an OutOfMemoryError (org.apache.spark.util.SparkExitCode).
HEAP_FULL: Final = 52
# Finds the end of a pod that ran out of memory in the words of `describe_exit`.
OUT_OF_MEMORY: Final = re.compile(rf"\bOOMKilled\b|\bexit code {HEAP_FULL}\b")


@dataclass(frozen=True)
class ContainerStatus:
    """The status of one container.

    Attributes:
        name: Name of the container.
        ready: Whether the container is ready.
        restart_count: Number of restarts.
        waiting: Whether the container waits.
        exit_code: Exit code. None until the container has terminated.
        reason: Reason of the current state, for example `ImagePullBackOff` or `OOMKilled`.
        message: Message of the current state.
        image: Image as the pod names it.
        finished: When the container terminated. None if unknown.
        started: When the container started. None if unknown.
        previous: The container before its last restart. None if it was not restarted.
    """

    name: str
    ready: bool
    restart_count: int
    waiting: bool
    exit_code: int | None
    reason: str
    message: str
    image: str = ""
    finished: datetime | None = None
    started: datetime | None = None
    previous: "ContainerStatus | None" = None

    @property
    def is_blocked(self) -> bool:
        """Whether the container waits for something else than its regular start."""
        return self.waiting and self.reason not in _REGULAR_WAITS


def get_object(value: object) -> Mapping[str, object]:
    """Return `value` if it is an object, else an empty object."""
    return value if isinstance(value, _OBJECTS) else _EMPTY


def get_text(value: object) -> str:
    """Return `value` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def get_number(value: object) -> float | None:
    """Return `value` if it is a number from 0 on that each reader of JSON reads exactly, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < 2**53 else None


def list_objects(value: object) -> list[Mapping[str, object]]:
    """Return the objects in `value` if it is a list, else an empty list."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def get_status(pod: Mapping[str, object]) -> Mapping[str, object]:
    """Return the status of the pod; empty if it has none."""
    return get_object(pod.get("status"))


def get_uid(pod: Mapping[str, object]) -> str:
    """Return the uid of the pod; empty if it has none."""
    return get_text(get_object(pod.get("metadata")).get("uid"))


def read_phase(status: Mapping[str, object]) -> str:
    """Return the phase in lower case, because phases are compared case-insensitively."""
    return get_text(status.get("phase")).lower()


def is_pending(status: Mapping[str, object]) -> bool:
    """Return whether a pod with this status has not started yet."""
    return read_phase(status) in ("", "pending")


def list_containers(status: Mapping[str, object], field: str = "containerStatuses") -> list[ContainerStatus]:
    """Return the containers in `status[field]`, for example `initContainerStatuses`."""
    return [_read_container(entry) for entry in list_objects(status.get(field))]


def list_all_containers(status: Mapping[str, object]) -> list[ContainerStatus]:
    """Return the main containers, followed by the init containers."""
    return [*list_containers(status), *list_containers(status, "initContainerStatuses")]


def describe_exit(container: ContainerStatus) -> str:
    """Describe how a container terminated: `exit code 137 (Error, killed by SIGKILL)`."""
    signal = _SIGNALS.get((container.exit_code or 0) - 128)
    # The reason OOMKilled already implies SIGKILL.
    killed = f"killed by {signal}" if signal and container.reason != "OOMKilled" else ""
    details = ", ".join(part for part in (container.reason, killed) if part)
    return f"exit code {container.exit_code}" + (f" ({details})" if details else "")


def find_condition(status: Mapping[str, object], kind: str) -> Mapping[str, object]:
    """Return the condition of type `kind`; empty if there is none."""
    for entry in list_objects(status.get("conditions")):
        if get_text(entry.get("type")).lower() == kind.lower():
            return entry
    return _EMPTY


def is_ready(pod: Mapping[str, object]) -> bool:
    """Return whether the pod runs and its condition `Ready` is true."""
    status = get_status(pod)
    ready = find_condition(status, "Ready").get("status")
    return read_phase(status) == "running" and get_text(ready).lower() == "true"


def shows_annotation(pod: Mapping[str, object], name: str) -> bool:
    """Return whether a downward API volume of a pod contains an annotation in a file."""
    volumes = list_objects(get_object(pod.get("spec")).get("volumes"))
    projected = [list_objects(get_object(volume.get("projected")).get("sources")) for volume in volumes]
    parts = [*volumes, *(part for sources in projected for part in sources)]
    items = [item for part in parts for item in list_objects(get_object(part.get("downwardAPI")).get("items"))]
    fields = {get_object(item.get("fieldRef")).get("fieldPath") for item in items}
    return not fields.isdisjoint({"metadata.annotations", f"metadata.annotations['{name}']"})


def list_sidecar_names(pod: Mapping[str, object]) -> frozenset[str]:
    """Return the names of the sidecars: init containers with `restartPolicy: Always`."""
    declared = list_objects(get_object(pod.get("spec")).get("initContainers"))
    return frozenset(get_text(entry.get("name")) for entry in declared if entry.get("restartPolicy") == "Always")


def read_deletion_deadline(pod: Mapping[str, object]) -> datetime | None:
    """Return when the grace period of the pod's deletion expires; None if the pod is not being deleted."""
    return read_time(get_object(pod.get("metadata")).get("deletionTimestamp"))


def find_deletion_start(pod: Mapping[str, object]) -> datetime | None:
    """Return when the deletion of the pod was requested; None if the pod is not being deleted.

    The API server sets `deletionTimestamp` to the *end* of the grace period.
    """
    metadata = get_object(pod.get("metadata"))
    ends = read_deletion_deadline(pod)
    if ends is None:
        return None
    grace = metadata.get("deletionGracePeriodSeconds")
    if isinstance(grace, bool) or not isinstance(grace, int) or not 0 < grace < _MAX_GRACE_SECONDS:
        return ends
    try:
        return ends - timedelta(seconds=grace)
    except OverflowError:
        return ends


def describe_disruption(status: Mapping[str, object]) -> str | None:
    """Return the reason and message of the condition DisruptionTarget; None if the pod is not disrupted."""
    target = find_condition(status, "DisruptionTarget")
    if get_text(target.get("status")).lower() != "true":
        return None
    return ": ".join(word for word in (get_text(target.get("reason")), get_text(target.get("message"))) if word)


def is_taken_away(status: Mapping[str, object]) -> bool:
    """Return whether the control plane or the node terminates the pod, so that its failure is not its own."""
    return describe_disruption(status) is not None or get_text(status.get("reason")) in _INTERRUPTIONS


def find_node_loss(status: Mapping[str, object]) -> datetime | None:
    """Return when the pod lost its node; None if the status does not report a lost node and its time.

    The phase Unknown reports a lost node, and in old clusters the reason NodeLost. A pod that is not ready may only
    have a failed probe.
    """
    if read_phase(status) != "unknown" and get_text(status.get("reason")) != "NodeLost":
        return None
    return read_time(find_condition(status, "Ready").get("lastTransitionTime"))


def was_deleted_before_end(pod: Mapping[str, object]) -> bool:
    """Return whether a failed pod was deleted before its containers failed, so that the deletion caused the failure."""
    began = find_deletion_start(pod)
    if began is None:
        return False
    failed = [container for container in list_all_containers(get_status(pod)) if container.exit_code]
    return not any(container.finished and container.finished < began for container in failed)


def list_ended_containers(status: Mapping[str, object]) -> list[ContainerStatus]:
    """Return the main containers that have terminated."""
    return [container for container in list_containers(status) if container.exit_code is not None]


def has_ended(pod: Mapping[str, object]) -> bool:
    """Return whether all containers of a pod have ended, by its phase."""
    return read_phase(get_status(pod)) in ("succeeded", "failed")


def has_ended_before(pod: Mapping[str, object], time: datetime) -> bool:
    """Return whether containers of the pod have terminated, all of them before `time`."""
    ended = [
        container.finished for container in list_all_containers(get_status(pod)) if container.exit_code is not None
    ]
    return bool(ended) and all(finished is not None and finished < time for finished in ended)


_MAX_GRACE_SECONDS: Final = 10 * 365 * 24 * 3600


def _read_container(entry: Mapping[str, object]) -> ContainerStatus:
    state = get_object(entry.get("state"))
    terminated = get_object(state.get("terminated"))
    waiting = get_object(state.get("waiting"))
    state_details = terminated or waiting
    last = get_object(entry.get("lastState"))
    return ContainerStatus(
        name=get_text(entry.get("name")),
        ready=entry.get("ready") is True,
        restart_count=_read_integer(entry.get("restartCount")) or 0,
        waiting="waiting" in state,
        exit_code=_read_integer(terminated.get("exitCode")) if terminated else None,
        reason=get_text(state_details.get("reason")),
        message=get_text(state_details.get("message")),
        image=get_text(entry.get("image")),
        finished=read_time(terminated.get("finishedAt")),
        started=read_time((terminated or get_object(state.get("running"))).get("startedAt")),
        previous=_read_container({**entry, "state": last, "lastState": None})
        if get_object(last.get("terminated"))
        else None,
    )


def _read_integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
