"""Decide the end of an application from its driver pods, if its operator did not read the end from a driver."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..dialects.dialect import dialect_of
from ..dialects.progress import Phase, Progress, StateEntry, find_last_stop
from ..kubernetes import pods
from ..kubernetes.json_object import read_time
from ..lifecycle.driver_end import DriverEnd, find_driver_end
from ..states.states import ApplicationState
from .driver_facts import read_creation, read_name


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
