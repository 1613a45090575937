"""Reading pods, of whatever shape they arrive in: nothing here raises on a malformed document."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from airflow_provider_spark_operator.core.times import read_time

_EMPTY: Final[Mapping[str, object]] = {}
# The reasons of a container that waits and will not start by waiting longer.
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
# The reasons of a pod that its node takes away, by shutdown or for others.
_INTERRUPTIONS: Final = frozenset({"NodeLost", "NodeShutdown", "Terminated", "Preempting", "Shutdown", "NodeAffinity"})
# The numbers that are the same on every system; an exit code over 128 is 128 and the number of a signal.
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


@dataclass(frozen=True)
class Container:
    """What a pod's status says about one container.

    `exit_code` is None while it has not terminated; `reason` and `message` are those of its current
    state: of waiting (`ImagePullBackOff`) or of termination (`OOMKilled`); `image` is as its pod names it;
    `started` and `finished` are when it started and terminated, where that is known; `previous` is what it was
    before its last restart.
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
    previous: "Container | None" = None


def mapping(value: object) -> Mapping[str, object]:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else _EMPTY


def text(value: object) -> str:
    """`value` where it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def entries(value: object) -> list[Mapping[str, object]]:
    """The objects in `value` where it is a list, else none."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def status_of(pod: Mapping[str, object]) -> Mapping[str, object]:
    """The pod's `status`, empty where it has none."""
    return mapping(pod.get("status"))


def phase(status: Mapping[str, object]) -> str:
    """The phase in lower case: the word is compared without regard to case."""
    return text(status.get("phase")).lower()


def containers(status: Mapping[str, object], field: str = "containerStatuses") -> list[Container]:
    """The containers in `status[field]`: `containerStatuses` or `initContainerStatuses`."""
    return [_container(entry) for entry in entries(status.get(field))]


def all_containers(status: Mapping[str, object]) -> list[Container]:
    """The main containers, then the init containers."""
    return [*containers(status), *containers(status, "initContainerStatuses")]


def exit_words(container: Container) -> str:
    """How a container has ended, in a few words: `exit code 137 (Error, killed by SIGKILL)`."""
    signal = _SIGNALS.get((container.exit_code or 0) - 128)
    # Whoever ran out of memory was killed for that; the signal says no more.
    killed = f"killed by {signal}" if signal and container.reason != "OOMKilled" else ""
    said = ", ".join(part for part in (container.reason, killed) if part)
    return f"exit code {container.exit_code}" + (f" ({said})" if said else "")


def condition(status: Mapping[str, object], kind: str) -> Mapping[str, object]:
    """The condition of type `kind`, empty where there is none."""
    for entry in entries(status.get("conditions")):
        if text(entry.get("type")).lower() == kind.lower():
            return entry
    return _EMPTY


def is_ready(pod: Mapping[str, object]) -> bool:
    """Whether the pod runs and its condition `Ready` is true."""
    status = status_of(pod)
    ready = condition(status, "Ready").get("status")
    return phase(status) == "running" and text(ready).lower() == "true"


def sidecar_names(pod: Mapping[str, object]) -> frozenset[str]:
    """The names of init containers that run beside the main ones (`restartPolicy: Always`)."""
    declared = entries(mapping(pod.get("spec")).get("initContainers"))
    return frozenset(text(entry.get("name")) for entry in declared if entry.get("restartPolicy") == "Always")


def deletion_ends(pod: Mapping[str, object]) -> datetime | None:
    """When the grace period of the pod's deletion is over; None where no deletion was asked for."""
    return read_time(mapping(pod.get("metadata")).get("deletionTimestamp"))


def deletion_began(pod: Mapping[str, object]) -> datetime | None:
    """When the deletion of the pod was asked for; None where it was not.

    The API server sets `deletionTimestamp` to the *end* of the grace period.
    """
    metadata = mapping(pod.get("metadata"))
    ends = deletion_ends(pod)
    if ends is None:
        return None
    grace = metadata.get("deletionGracePeriodSeconds")
    if isinstance(grace, bool) or not isinstance(grace, int) or not 0 < grace < _MAX_GRACE_SECONDS:
        return ends
    try:
        return ends - timedelta(seconds=grace)
    except OverflowError:
        return ends


def disruption(status: Mapping[str, object]) -> str | None:
    """Why the control plane takes the pod away, in its words; empty where it has none, None where it does not."""
    target = condition(status, "DisruptionTarget")
    if text(target.get("status")).lower() != "true":
        return None
    return ": ".join(word for word in (text(target.get("reason")), text(target.get("message"))) if word)


def is_taken_away(status: Mapping[str, object]) -> bool:
    """Whether the control plane or the node takes the pod away, so that its end is none of its own."""
    return disruption(status) is not None or text(status.get("reason")) in _INTERRUPTIONS


def node_lost_since(status: Mapping[str, object]) -> datetime | None:
    """When the pod's node was lost, where its status says that it was, and when.

    That is its phase Unknown, or the reason NodeLost that clusters of old give. A pod that is merely not ready
    says nothing: it is so, too, where a probe fails.
    """
    if phase(status) != "unknown" and text(status.get("reason")) != "NodeLost":
        return None
    return read_time(condition(status, "Ready").get("lastTransitionTime"))


def was_deleted_before_end(pod: Mapping[str, object]) -> bool:
    """Whether the deletion of a pod that has failed came first, so that its failure says nothing about it."""
    began = deletion_began(pod)
    if began is None:
        return False
    failed = [container for container in all_containers(status_of(pod)) if container.exit_code]
    return not any(container.finished and container.finished < began for container in failed)


def has_ended_before(pod: Mapping[str, object], time: datetime) -> bool:
    """Whether containers of the pod have terminated, and all of these before `time`, as far as the pod says when."""
    ended = [container.finished for container in all_containers(status_of(pod)) if container.exit_code is not None]
    return bool(ended) and all(finished is not None and finished < time for finished in ended)


_MAX_GRACE_SECONDS: Final = 10 * 365 * 24 * 3600


def _container(entry: Mapping[str, object]) -> Container:
    state = mapping(entry.get("state"))
    terminated = mapping(state.get("terminated"))
    waiting = mapping(state.get("waiting"))
    said = terminated or waiting
    last = mapping(entry.get("lastState"))
    return Container(
        name=text(entry.get("name")),
        ready=entry.get("ready") is True,
        restart_count=_integer(entry.get("restartCount")) or 0,
        waiting="waiting" in state,
        exit_code=_integer(terminated.get("exitCode")) if terminated else None,
        reason=text(said.get("reason")),
        message=text(said.get("message")),
        image=text(entry.get("image")),
        finished=read_time(terminated.get("finishedAt")),
        started=read_time((terminated or mapping(state.get("running"))).get("startedAt")),
        previous=_container({**entry, "state": last, "lastState": None}) if mapping(last.get("terminated")) else None,
    )


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
