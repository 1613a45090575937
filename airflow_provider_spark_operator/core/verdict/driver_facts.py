"""Read from the driver pod and the kubelet's Events what the status of a failed application lacks."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from ..dialects.dialect import dialect_of
from ..dialects.progress import Phase, Progress, StateEntry, find_last_stop, with_driver_deleted, with_driver_status
from ..kubernetes import pods
from ..kubernetes.times import read_time
from ..lifecycle.driver_end import DriverEnd, find_driver_end, get_driver_container
from ..states.reasons import DRIVER_FAILED, OUT_OF_MEMORY
from ..states.states import ApplicationState
from .verdict import judge_progress

# The exit codes of a container that was stopped from outside: by SIGTERM, or by SIGKILL after its grace period.
_STOPPED: Final = frozenset({143, 137})
# The maximum time between the start of a stop and the end of the driver, if the start of the driver is unknown.
_LONGEST_STOP: Final = timedelta(minutes=2)
# Events have whole seconds.
_CLOCK: Final = timedelta(seconds=1)


def has_more_facts(seen: Progress) -> bool:
    """Return whether the driver pod or Events may show another cause of a failure than the status does."""
    stop = find_last_stop(seen.history)
    if seen.phase is not Phase.ENDED or stop is None or stop.apache_state != ApplicationState.FAILED:
        return False
    return seen.driver_kept or (judge_progress(seen).reason == DRIVER_FAILED and may_be_stopped(None, seen))


def add_driver_facts(
    seen: Progress,
    resource: Mapping[str, object],
    drivers: Iterable[Mapping[str, object]],
    events: Iterable[Mapping[str, object]],
) -> Progress:
    """Return the progress of a failed application with the facts that its status lacks.

    Args:
        seen: The progress according to the status. Returned unchanged unless `has_more_facts`.
        resource: The application.
        drivers: Driver pods of the application.
        events: Events, among them those of the kubelet about the driver pod.
    """
    if not has_more_facts(seen):
        return seen
    # A pod that is older than the application belongs to an earlier application with this name.
    own = [
        pod
        for pod in drivers
        if read_creation(pod) >= read_creation(resource) and seen.driver_name in (None, read_name(pod))
    ]
    pod = max(own, key=read_creation, default=None)
    if pod is not None and seen.driver_kept:
        seen = with_driver_status(seen, pods.get_status(pod))
    is_deleted = judge_progress(seen).reason == DRIVER_FAILED and was_deleted(pod, seen, events)
    return with_driver_deleted(seen) if is_deleted else seen


def may_be_stopped(pod: Mapping[str, object] | None, seen: Progress | None) -> bool:
    """Return whether the driver may have failed because it was stopped from outside.

    Args:
        pod: The driver pod; None if it does not exist.
        seen: The progress of the application; None if it is unknown.
    """
    status = _select_status(pod, seen)
    container = find_container(status, pod, seen)
    if container is None or container.exit_code not in _STOPPED or container.reason == OUT_OF_MEMORY:
        return False
    return not status.get("reason")  # otherwise, the node reports itself why it stopped the pod


def was_deleted(
    pod: Mapping[str, object] | None, seen: Progress | None, events: Iterable[Mapping[str, object]]
) -> bool:
    """Return whether the driver pod was deleted while the driver ran, according to the pod or the kubelet's Events.

    Args:
        pod: The driver pod; None if it does not exist.
        seen: The progress of the application; None if it is unknown.
        events: Events, among them those of the kubelet about the driver pod.
    """
    container = find_container(_select_status(pod, seen), pod, seen)
    if container is None or not may_be_stopped(pod, seen):
        return False
    if pod is not None and pods.find_deletion_start(pod) is not None:
        return pods.was_deleted_before_end(pod)
    name = read_name(pod) if pod is not None else (seen.driver_name if seen else None)
    end = container.finished or (seen.since if seen else None)
    if not name or end is None:
        return False
    begin = container.started or end - _LONGEST_STOP
    times = [read_time(read_event_time(event)) for event in events if _is_stop_of(event, name)]
    # An earlier pod with the same name ended before `begin`.
    return any(time is not None and begin <= time <= end + _CLOCK for time in times)


def find_container(
    status: Mapping[str, object], pod: Mapping[str, object] | None, seen: Progress | None
) -> pods.ContainerStatus | None:
    """Return the driver's container in the status of its pod. If its name is unknown, return one that failed.

    Args:
        status: The status.
        pod: The pod; None if only its status is known.
        seen: The progress of the application; None if it is unknown.
    """
    present = pods.list_containers(status)
    name = get_driver_container({**(pod or {}), "status": status}, seen.main_container if seen else None)
    named = [container for container in present if container.name == name]
    failed = [container for container in present if container.exit_code]
    return next(iter(named or failed or present), None)


def read_event_time(event: Mapping[str, object]) -> str:
    """Return the text of the time when an Event happened last; empty if the Event contains no time."""
    return str(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp") or "")


def read_creation(document: Mapping[str, object]) -> str:
    """Return the text of the time when an object was created; empty if it contains no time."""
    return pods.get_text(pods.get_object(document.get("metadata")).get("creationTimestamp"))


def read_name(document: Mapping[str, object]) -> str:
    """Return the name of an object; empty if it has none."""
    return pods.get_text(pods.get_object(document.get("metadata")).get("name"))


def _select_status(pod: Mapping[str, object] | None, seen: Progress | None) -> Mapping[str, object]:
    return pods.get_status(pod) if pod is not None else (seen and seen.driver_status) or {}


def _is_stop_of(event: Mapping[str, object], name: str) -> bool:
    """Return whether the kubelet reports that it stopped a container of the pod."""
    about = pods.get_object(event.get("involvedObject"))
    # Without a name, the API server has selected the Events of the pod.
    return about.get("name", name) == name and pods.get_text(event.get("message")).startswith("Stopping ")


def confirm_end(
    seen: Progress, resource: Mapping[str, object], drivers: Iterable[Mapping[str, object]], *, was_alive: bool = False
) -> Progress:
    """Return the progress of an application according to its driver pods.

    A live driver means that the application runs. If the driver of the latest attempt has ended, its end counts.
    Without a driver pod, the report of the operator counts.

    Args:
        seen: The progress according to the status. Returned unchanged unless `has_unread_end`.
        resource: The application.
        drivers: All driver pods of the application.
        was_alive: Whether a driver ran before. If its pod no longer exists, the driver is lost.
    """
    if not seen.has_unread_end:
        return seen
    # A pod that is older than the application belongs to an earlier application with this name.
    own = [pod for pod in drivers if read_creation(pod) >= read_creation(resource)]
    ends: list[StateEntry] = []
    for pod in sorted(own, key=read_creation):
        end = find_driver_end(pod, seen.main_container)
        if end is None:
            return _continue(seen, resource, pod)
        if seen.driver_name in (None, read_name(pod)):
            ends.append(_describe_end(seen, resource, pod, end))
    if ends:
        return _end(seen, ends[-1])
    if was_alive:
        return _end(seen, StateEntry(_name_failure(seen, resource), seen.since, equivalent=ApplicationState.FAILED))
    return replace(seen, driver_read=True)


def _continue(seen: Progress, resource: Mapping[str, object], pod: Mapping[str, object]) -> Progress:
    """Return `seen` with a driver that still runs in place of the end that the operator reported."""
    stop = find_last_stop(seen.history)
    reported = (stop and stop.message) or seen.message
    claim = f"The operator reports {seen.state}" + (f" ({reported})" if reported else "")
    running = StateEntry(
        dialect_of(resource.get("apiVersion")).running,
        read_time(read_creation(pod)),
        f"{claim}, but a driver pod exists",
        equivalent=ApplicationState.RUNNING_HEALTHY,
    )
    before = seen.history[: seen.history.index(stop) if stop else -1]
    return replace(
        seen,
        state=running.state,
        phase=Phase.RUNNING,
        since=running.time,
        message=running.message,
        history=(*before, running),
        driver_read=True,
    )


def _describe_end(
    seen: Progress, resource: Mapping[str, object], pod: Mapping[str, object], end: DriverEnd
) -> StateEntry:
    succeeded = end.state is ApplicationState.SUCCEEDED
    status = pods.get_status(pod)
    times = [container.finished for container in pods.list_containers(status) if container.finished]
    return StateEntry(
        dialect_of(resource.get("apiVersion")).success if succeeded else _name_failure(seen, resource, end.state),
        max(times, default=seen.since),
        None if succeeded else end.message,
        driver_status=status,
        reason=end.reason,
        equivalent=end.state,
    )


def _name_failure(
    seen: Progress, resource: Mapping[str, object], state: ApplicationState = ApplicationState.FAILED
) -> str:
    """Return the word of the dialect for a failure."""
    return state if state in dialect_of(resource.get("apiVersion")).states else seen.state


def _end(seen: Progress, end: StateEntry) -> Progress:
    """Return `seen` with this end in place of the end that the operator reported."""
    stop = find_last_stop(seen.history)
    history = tuple(end if entry is stop else entry for entry in seen.history) if stop else (*seen.history, end)
    return replace(seen, state=end.state, history=history, driver_status=end.driver_status, driver_read=True)
