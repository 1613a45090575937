"""Arithmetic of restarts, timeouts and retention; of durations only, so that no clock can break it.

Durations are whole milliseconds in the spec. Where a limit is given at all, 0 and less switch it off,
unless its function says otherwise.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from airflow_provider_spark_operator.core.models.application import (
    ApplicationTimeoutConfig,
    ApplicationTolerations,
    DeploymentMode,
    InstanceConfig,
    ResourceRetainPolicy,
    RestartConfig,
    RestartPolicy,
    SparkApplicationSpec,
)
from airflow_provider_spark_operator.core.models.base import INT64_MAX, LONGEST_MILLIS
from airflow_provider_spark_operator.core.models.status import ApplicationStatus, AttemptInfo, StateRecord
from airflow_provider_spark_operator.core.states import (
    FAILURE,
    INFRASTRUCTURE_FAILURE,
    INITIALIZING,
    STARTING,
    STOPPING,
    ApplicationState,
)
from airflow_provider_spark_operator.core.transitions import in_order, latest

_State = ApplicationState
_ZERO: Final = timedelta(0)
_SHORTEST_LOOK: Final = timedelta(seconds=1)

_RESTARTED: Final[Mapping[RestartPolicy, frozenset[ApplicationState]]] = {
    RestartPolicy.ALWAYS: STOPPING,
    RestartPolicy.ON_FAILURE: FAILURE,
    RestartPolicy.ON_INFRASTRUCTURE_FAILURE: INFRASTRUCTURE_FAILURE,
    RestartPolicy.NEVER: frozenset(),
}
_RETAINED: Final[Mapping[ResourceRetainPolicy, frozenset[ApplicationState]]] = {
    ResourceRetainPolicy.ALWAYS: STOPPING,
    ResourceRetainPolicy.ON_FAILURE: FAILURE,
    ResourceRetainPolicy.NEVER: frozenset(),
}
TIMED_OUT: Final[Mapping[ApplicationState, ApplicationState]] = {
    _State.DRIVER_REQUESTED: _State.DRIVER_START_TIMED_OUT,
    _State.DRIVER_STARTED: _State.DRIVER_READY_TIMED_OUT,
    _State.DRIVER_READY: _State.EXECUTORS_START_TIMED_OUT,
    _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: _State.EXECUTORS_START_TIMED_OUT,
}


def duration(millis: int) -> timedelta:
    """`millis` as a duration between 0 and a hundred years."""
    return timedelta(milliseconds=min(max(millis, 0), LONGEST_MILLIS))


def elapsed(since: datetime, now: datetime) -> timedelta:
    """The time since `since`; 0 where the clock ran backwards."""
    return max(now - since, _ZERO)


def remaining(limit: timedelta, since: datetime, now: datetime) -> timedelta:
    """What is left of `limit`, which began at `since`; 0 or less when it is over.

    Where the clock ran backwards nothing of it has passed, and it is at least a second: whoever looks
    again after what is left shall not do so without end until the clock has caught up.
    """
    left = limit - elapsed(since, now)
    return max(left, _SHORTEST_LOOK) if now < since and left > _ZERO else left


def timeout(config: ApplicationTimeoutConfig, state: ApplicationState) -> timedelta | None:
    """How long `state` may last, counted from when it was entered; None where nothing limits it."""
    millis = {
        _State.DRIVER_REQUESTED: config.driver_start_timeout_millis,
        _State.DRIVER_STARTED: config.driver_ready_timeout_millis,
        _State.DRIVER_READY: config.executor_start_timeout_millis,
        _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: config.executor_start_timeout_millis,
    }.get(state, 0)
    return duration(millis) if millis > 0 else None


def executor_start_limit(config: ApplicationTimeoutConfig) -> timedelta | None:
    """How long executors may take to start; None where nothing limits it."""
    millis = config.executor_start_timeout_millis
    return duration(millis) if millis > 0 else None


def executor_state(
    config: InstanceConfig, state: ApplicationState, ready: int, *, dynamic_allocation: bool
) -> ApplicationState:
    """The state that an application with a ready driver belongs in, from its number of `ready` executors.

    Without `initExecutors`, no number matters; `minExecutors` counts once the application runs.
    """
    if config.init_executors <= 0:
        return _State.RUNNING_HEALTHY
    starting = state in STARTING
    if not starting and config.min_executors <= 0:
        return _State.RUNNING_HEALTHY
    if ready >= (config.init_executors if starting else config.min_executors):
        partial = not dynamic_allocation and ready < config.max_executors
        return _State.RUNNING_WITH_PARTIAL_CAPACITY if partial else _State.RUNNING_HEALTHY
    if not starting:
        return _State.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS
    return _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS if ready > 0 else state


def dynamic_allocation(spark_conf: Mapping[str, str]) -> bool:
    """Whether Spark itself chooses the number of executors."""
    return spark_conf.get("spark.dynamicAllocation.enabled", "").strip().lower() == "true"


def restart_wanted(spec: SparkApplicationSpec, ended_in: ApplicationState) -> bool:
    """Whether the restart policy asks for another attempt after `ended_in`, a stopping state.

    Client mode is refused whatever the policy: a restart cannot change that.
    """
    if spec.deployment_mode is DeploymentMode.CLIENT_MODE:
        return False
    return ended_in in _RESTARTED[spec.application_tolerations.restart_config.restart_policy]


def next_attempt(config: RestartConfig, status: ApplicationStatus) -> AttemptInfo:
    """The number and the counters of the attempt that would follow the one that `status` shows ended.

    A success forgets failures; an attempt of at least `restartCounterResetMillis` (where that is over 0)
    forgets the attempts before it, and itself as a failure.
    """
    info = status.current_attempt_summary.attempt_info
    ended_in = status.current_state.current_state_summary
    restarts, failures, scheduling_failures = one_more(info.restart_counter), 0, 0
    if config.restart_counter_reset_millis > 0 and attempt_duration(status) >= duration(
        config.restart_counter_reset_millis
    ):
        restarts = 1
    elif ended_in in FAILURE:
        failures = one_more(info.failure_restart_counter)
        if ended_in is _State.SCHEDULING_FAILURE:
            scheduling_failures = one_more(info.scheduling_failure_restart_counter)
    return AttemptInfo(
        id=one_more(info.id),
        restart_counter=restarts,
        failure_restart_counter=failures,
        scheduling_failure_restart_counter=scheduling_failures,
    )


def one_more(number: int) -> int:
    """The number after `number`; the greatest that a status can hold is followed by itself."""
    return min(number + 1, INT64_MAX)


def attempt_duration(status: ApplicationStatus) -> timedelta:
    """The time from the latest initializing entry of the history (or its first) to the current state."""
    first = (in_order(status.state_transition_history) or [status.current_state])[0]
    began = attempt_began(status) or first.last_transition_time
    return elapsed(began, status.current_state.last_transition_time)


def attempt_began(status: ApplicationStatus) -> datetime | None:
    """When the current attempt was submitted or scheduled; None where the history does not say."""
    records = in_order(status.state_transition_history)
    begins = [record.last_transition_time for record in records if record.current_state_summary in INITIALIZING]
    return begins[-1] if begins else None


def exceeded_limit(config: RestartConfig, ended_in: ApplicationState, following: AttemptInfo) -> str | None:
    """The sentence on the limit that the attempt `following` would exceed; None if it may be made."""
    if following.restart_counter > config.max_restart_attempts:
        return f"The maximum number of restart attempts ({config.max_restart_attempts}) has been exceeded."
    limit = config.max_restart_on_scheduling_failure
    if ended_in is _State.SCHEDULING_FAILURE and limit is not None:
        if following.scheduling_failure_restart_counter > limit:
            return f"The maximum number of restarts on scheduling failure ({limit}) has been exceeded."
        return None
    limit = config.max_restart_on_failure
    if ended_in in FAILURE and limit is not None and following.failure_restart_counter > limit:
        return f"The maximum number of restarts on failure ({limit}) has been exceeded."
    return None


def backoff(config: RestartConfig, status: ApplicationStatus) -> timedelta:
    """How long an application that is scheduled to restart waits, counted from when it was scheduled.

    It depends on how the attempt before ended, as far as that can be understood; after one that was suspended there
    is nothing to wait for.
    """
    if status.previous_attempt_summary is None:
        return _ZERO
    ended_in = _previous_end(status)
    if ended_in is not None and ended_in not in STOPPING:
        return _ZERO
    millis: int | None = None
    if ended_in is _State.SCHEDULING_FAILURE:
        millis = config.restart_backoff_millis_for_scheduling_failure
    if millis is None and ended_in in FAILURE:
        millis = config.restart_backoff_millis_for_failure
    return duration(config.restart_backoff_millis if millis is None else millis)


def _previous_end(status: ApplicationStatus) -> ApplicationState | None:
    previous = status.previous_attempt_summary
    trimmed = previous.state_transition_history if previous else None
    last = latest(trimmed) if trimmed else latest(status.state_transition_history, before=1)
    return last.current_state_summary if isinstance(last, StateRecord) else None


def last_stop(status: ApplicationStatus) -> StateRecord | None:
    """The entry with which the current attempt stopped; None if it never did (it was cancelled)."""
    for record in reversed(in_order(status.state_transition_history)):
        if record.current_state_summary in STOPPING:
            return record
        if record.current_state_summary in INITIALIZING:
            return None
    return None


def retained(tolerations: ApplicationTolerations, ended_in: ApplicationState) -> bool:
    """Whether the driver is kept after `ended_in`, a stopping state that no restart follows."""
    return ended_in in _RETAINED[tolerations.resource_retain_policy]


def retention(tolerations: ApplicationTolerations) -> timedelta | None:
    """How long a kept driver stays; None: for as long as the application. 0 is a duration here."""
    limits = (tolerations.resource_retain_duration_millis, tolerations.ttl_after_stop_millis)
    given = [duration(millis) for millis in limits if millis >= 0]
    return min(given, default=None)


def time_to_live(tolerations: ApplicationTolerations) -> timedelta | None:
    """How long an ended application stays, counted from its stop; None: for ever. 0 is a duration here."""
    millis = tolerations.ttl_after_stop_millis
    return duration(millis) if millis >= 0 else None
