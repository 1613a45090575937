"""The state of containers that a restarted node finds in the status of their pods."""

from datetime import datetime

from ...api.kinds.documents import JsonObject
from ..node.states import ContainerRecord, Terminated, Waiting

# The exit code and reason that a kubelet reports for containers that were running when the machine stopped.
_LOST_CODE = 255
_LOST_REASON = "Unknown"
_UNKNOWN_CODE = 137
_UNKNOWN_REASON = "ContainerStatusUnknown"
_UNKNOWN_MESSAGE = "The container could not be located when the pod was terminated"


def restore(record: ContainerRecord, status: JsonObject, now: datetime) -> None:
    """Copy the state of a container from its pod's status into a new record; a running container counts as lost."""
    record.restarts = int(status.get("restartCount") or 0)
    record.container_id = str(status.get("containerID") or "")
    last = (status.get("lastState") or {}).get("terminated")
    if last:
        record.last = _parse_terminated(last, now)
    state = status.get("state") or {}
    if "terminated" in state:
        record.state = _parse_terminated(state["terminated"], now)
    elif "running" in state:
        started = _parse_time(state["running"].get("startedAt"), now)
        record.state = Terminated(_LOST_CODE, _LOST_REASON, started, now, "", record.container_id)


def has_begun(record: ContainerRecord) -> bool:
    """Whether the container has been started at least once."""
    return isinstance(record.state, Terminated) or record.last is not None


def give_up(record: ContainerRecord, now: datetime) -> None:
    """Restore a container that is not started again. If the container had not terminated, its result is unknown."""
    if not isinstance(record.state, Terminated):
        record.state = Terminated(_UNKNOWN_CODE, _UNKNOWN_REASON, now, now, _UNKNOWN_MESSAGE)


def begin_anew(record: ContainerRecord) -> None:
    """Restore a container that is started again. Its last run becomes its `lastState`."""
    if isinstance(record.state, Terminated):
        record.last = record.state
        record.restarts += 1
        record.state = Waiting("PodInitializing")


def _parse_terminated(details: JsonObject, now: datetime) -> Terminated:
    return Terminated(
        int(details.get("exitCode") or 0),
        str(details.get("reason") or ""),
        _parse_time(details.get("startedAt"), now),
        _parse_time(details.get("finishedAt"), now),
        str(details.get("message") or ""),
        str(details.get("containerID") or ""),
    )


def _parse_time(text: object, otherwise: datetime) -> datetime:
    return datetime.fromisoformat(text) if isinstance(text, str) else otherwise
