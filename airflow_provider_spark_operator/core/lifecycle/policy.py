"""The arithmetic of restarts, timeouts and retention.

Durations are integers in milliseconds in the spec. A limit of 0 or less is switched off unless its function says
otherwise. The functions only compare durations, so a clock that is set back cannot break them.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from ..kubernetes.times import to_duration
from ..models import application
from ..models.base import INT64_MAX
from ..models.status import ApplicationStatus, AttemptInfo, StateRecord
from ..states import states
from ..states.states import choose_backoff_millis
from .transitions import find_latest, sort_records

_State = states.ApplicationState
_ZERO: Final = timedelta(0)
_SHORTEST_WAIT: Final = timedelta(seconds=1)

_RESTARTED: Final[Mapping[application.RestartCondition, frozenset[states.ApplicationState]]] = {
    application.RestartCondition.ALWAYS: states.STOPPING,
    application.RestartCondition.ON_FAILURE: states.FAILURE,
    application.RestartCondition.ON_INFRASTRUCTURE_FAILURE: states.INFRASTRUCTURE_FAILURE,
    application.RestartCondition.NEVER: frozenset(),
}
# A retained driver that has not ended could run the application while another attempt or application does.
_RETAINED: Final[Mapping[application.ResourceRetainPolicy, frozenset[states.ApplicationState]]] = {
    application.ResourceRetainPolicy.ALWAYS: states.STOPPING - states.STILL_RUNNABLE,
    application.ResourceRetainPolicy.ON_FAILURE: states.FAILURE - states.STILL_RUNNABLE,
    application.ResourceRetainPolicy.NEVER: frozenset(),
}
TIMED_OUT: Final[Mapping[states.ApplicationState, states.ApplicationState]] = {
    _State.DRIVER_REQUESTED: _State.DRIVER_START_TIMED_OUT,
    _State.DRIVER_STARTED: _State.DRIVER_READY_TIMED_OUT,
    _State.DRIVER_READY: _State.EXECUTORS_START_TIMED_OUT,
    _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: _State.EXECUTORS_START_TIMED_OUT,
}


def measure_elapsed(since: datetime, now: datetime) -> timedelta:
    """Return the time since `since`, or 0 if the clock was set back."""
    return max(now - since, _ZERO)


def measure_remaining(limit: timedelta, since: datetime, now: datetime) -> timedelta:
    """Return the rest of `limit`, which started at `since`; 0 or less if it has expired.

    If the clock was set back, the result is the whole limit and at least a second. So a caller that waits for the
    rest does not loop until the clock has caught up.
    """
    remaining = limit - measure_elapsed(since, now)
    return max(remaining, _SHORTEST_WAIT) if now < since and remaining > _ZERO else remaining


def get_timeout(config: application.ApplicationTimeoutConfig, state: states.ApplicationState) -> timedelta | None:
    """Return how long `state` may last, or None if it has no limit."""
    millis = {
        _State.DRIVER_REQUESTED: config.driver_start_timeout_millis,
        _State.DRIVER_STARTED: config.driver_ready_timeout_millis,
        _State.DRIVER_READY: config.executor_start_timeout_millis,
        _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: config.executor_start_timeout_millis,
    }.get(state, 0)
    return to_duration(millis) if millis > 0 else None


def get_executor_start_limit(config: application.ApplicationTimeoutConfig) -> timedelta | None:
    """Return how long executors may take to start, or None if there is no limit."""
    millis = config.executor_start_timeout_millis
    return to_duration(millis) if millis > 0 else None


def choose_executor_state(
    config: application.InstanceConfig, state: states.ApplicationState, ready: int, *, dynamic_allocation: bool
) -> states.ApplicationState:
    """Return the state of an application with a ready driver, from its number of `ready` executors.

    Without `initExecutors` the number does not matter. `minExecutors` counts once the application runs.
    """
    if config.init_executors <= 0:
        return _State.RUNNING_HEALTHY
    starting = state in states.STARTING
    if not starting and config.min_executors <= 0:
        return _State.RUNNING_HEALTHY
    if ready >= (config.init_executors if starting else config.min_executors):
        partial = not dynamic_allocation and ready < config.max_executors
        return _State.RUNNING_WITH_PARTIAL_CAPACITY if partial else _State.RUNNING_HEALTHY
    if not starting:
        return _State.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS
    return _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS if ready > 0 else state


def wants_restart(spec: application.SparkApplicationSpec, ended_in: states.ApplicationState) -> bool:
    """Whether the restart policy requires another attempt after the stopping state `ended_in`.

    Client mode is never supported, so a restart would not help.
    """
    if spec.deployment_mode is application.DeploymentMode.CLIENT_MODE:
        return False
    return ended_in in _RESTARTED[spec.application_tolerations.restart_config.restart_policy]


def count_next_attempt(config: application.RestartConfig, status: ApplicationStatus) -> AttemptInfo:
    """Return the id and the counters of the attempt that would follow the stopped attempt in `status`.

    A success resets the failure counters. An attempt that ran for at least `restartCounterResetMillis`, if greater
    than 0, resets all counters and does not count as a failure.
    """
    info = status.current_attempt_summary.attempt_info
    ended_in = status.current_state.current_state_summary
    restarts, failures, scheduling_failures = increment(info.restart_counter), 0, 0
    if config.restart_counter_reset_millis > 0 and measure_attempt(status) >= to_duration(
        config.restart_counter_reset_millis
    ):
        restarts = 1
    elif ended_in in states.FAILURE:
        failures = increment(info.failure_restart_counter)
        if ended_in is _State.SCHEDULING_FAILURE:
            scheduling_failures = increment(info.scheduling_failure_restart_counter)
    return AttemptInfo(
        id=increment(info.id),
        restart_counter=restarts,
        failure_restart_counter=failures,
        scheduling_failure_restart_counter=scheduling_failures,
    )


def count_resumed_attempt(status: ApplicationStatus) -> AttemptInfo:
    """Return the id and the counters of the attempt that follows a suspension, which does not count as a restart.

    The suspended attempt had a driver, so the next scheduling failure is the first of its series.
    """
    info = status.current_attempt_summary.attempt_info
    return info.model_copy(update={"id": increment(info.id), "scheduling_failure_restart_counter": 0})


def increment(number: int) -> int:
    """Return `number` + 1, at most the greatest number that a status can hold."""
    return min(number + 1, INT64_MAX)


def measure_attempt(status: ApplicationStatus) -> timedelta:
    """Return the time from the first state after the latest initializing one, or from the first, to the current state.

    The time in a backoff, in a queue or in a suspension does not count.
    """
    began = None
    for record in sort_records(status.state_transition_history):
        if record.current_state_summary in states.INITIALIZING:
            began = None
        elif began is None:
            began = record.last_transition_time
    ended = status.current_state.last_transition_time
    return measure_elapsed(ended if began is None else began, ended)


def find_attempt_start(status: ApplicationStatus) -> datetime | None:
    """Return when the current attempt was submitted or scheduled, or None if the history does not contain it."""
    records = sort_records(status.state_transition_history)
    begins = [record.last_transition_time for record in records if record.current_state_summary in states.INITIALIZING]
    return begins[-1] if begins else None


def describe_exceeded_limit(
    config: application.RestartConfig, ended_in: states.ApplicationState, following: AttemptInfo
) -> str | None:
    """Return a sentence about the limit that the attempt `following` would exceed, or None if it is allowed."""
    if following.restart_counter > config.max_restart_attempts:
        return f"The maximum number of restart attempts ({config.max_restart_attempts}) has been exceeded."
    limit = config.max_restart_on_scheduling_failure
    if ended_in is _State.SCHEDULING_FAILURE and limit is not None:
        if following.scheduling_failure_restart_counter > limit:
            return f"The maximum number of restarts on scheduling failure ({limit}) has been exceeded."
        return None
    limit = config.max_restart_on_failure
    if ended_in in states.FAILURE and limit is not None and following.failure_restart_counter > limit:
        return f"The maximum number of restarts on failure ({limit}) has been exceeded."
    return None


def get_backoff(config: application.RestartConfig, status: ApplicationStatus) -> timedelta:
    """Return how long an application waits in ScheduledToRestart.

    The time depends on how the previous attempt stopped, if that is known. After a suspension there is no wait.
    """
    if status.previous_attempt_summary is None:
        return _ZERO
    ended_in = _find_previous_end(status)
    if ended_in is not None and ended_in not in states.STOPPING:
        return _ZERO
    millis = choose_backoff_millis(
        general=config.restart_backoff_millis,
        failure=config.restart_backoff_millis_for_failure,
        scheduling_failure=config.restart_backoff_millis_for_scheduling_failure,
        failed=ended_in in states.FAILURE,
        failed_to_schedule=ended_in is _State.SCHEDULING_FAILURE,
    )
    return to_duration(millis or 0)


def _find_previous_end(status: ApplicationStatus) -> states.ApplicationState | None:
    previous = status.previous_attempt_summary
    trimmed = previous.state_transition_history if previous else None
    last = find_latest(trimmed) if trimmed else find_latest(status.state_transition_history, before=1)
    return last.current_state_summary if isinstance(last, StateRecord) else None


def find_last_stop(status: ApplicationStatus) -> StateRecord | None:
    """Return the history entry with which the current attempt stopped, or None if it was cancelled before."""
    for record in reversed(sort_records(status.state_transition_history)):
        if record.current_state_summary in states.STOPPING:
            return record
        if record.current_state_summary in states.INITIALIZING:
            return None
    return None


def retains_driver(tolerations: application.ApplicationTolerations, ended_in: states.ApplicationState) -> bool:
    """Whether the driver is retained after the stopping state `ended_in`, if no restart follows."""
    return ended_in in _RETAINED[tolerations.resource_retain_policy]


def get_retention(tolerations: application.ApplicationTolerations) -> timedelta | None:
    """Return how long a retained driver stays, or None for as long as the application. 0 is a duration here."""
    limits = (tolerations.resource_retain_duration_millis, tolerations.ttl_after_stop_millis)
    given = [to_duration(millis) for millis in limits if millis >= 0]
    return min(given, default=None)


def get_time_to_live(tolerations: application.ApplicationTolerations) -> timedelta | None:
    """Return how long an application stays after it stopped, or None for no limit. 0 is a duration here."""
    millis = tolerations.ttl_after_stop_millis
    return to_duration(millis) if millis >= 0 else None
