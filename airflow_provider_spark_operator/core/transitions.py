"""Every legal move of a SparkApplication, as one table, and the one place that records a move."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from airflow_provider_spark_operator.core.models.status import (
    ApplicationStatus,
    AttemptInfo,
    AttemptSummary,
    PastRecord,
    StateRecord,
)
from airflow_provider_spark_operator.core.states import (
    FAILURE,
    RUNNING,
    STOPPING,
    TERMINATED,
    ApplicationOutcome,
    ApplicationState,
)

_State = ApplicationState
# What can happen to a driver in every state in which there is one: it ends, it goes away, it is deleted
# with its application, or the application is suspended.
_DRIVER_GOES: Final = frozenset(
    {
        _State.SUCCEEDED,
        _State.FAILED,
        _State.DRIVER_EVICTED,
        _State.RESOURCE_RELEASED,
        _State.SCHEDULED_TO_RESTART,
    }
)
_BEGINS: Final = frozenset(
    {_State.DRIVER_REQUESTED, _State.SCHEDULING_FAILURE, _State.FAILED, _State.RESOURCE_RELEASED}
)

MOVES: Final[Mapping[ApplicationState, frozenset[ApplicationState]]] = {
    _State.SUBMITTED: _BEGINS,
    _State.SCHEDULED_TO_RESTART: _BEGINS,
    _State.DRIVER_REQUESTED: _DRIVER_GOES | {_State.DRIVER_STARTED, _State.DRIVER_START_TIMED_OUT},
    _State.DRIVER_STARTED: _DRIVER_GOES | {_State.DRIVER_READY, _State.DRIVER_READY_TIMED_OUT},
    _State.DRIVER_READY: _DRIVER_GOES
    | {
        _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS,
        _State.RUNNING_HEALTHY,
        _State.RUNNING_WITH_PARTIAL_CAPACITY,
        _State.EXECUTORS_START_TIMED_OUT,
    },
    _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: _DRIVER_GOES
    | {
        _State.RUNNING_HEALTHY,
        _State.RUNNING_WITH_PARTIAL_CAPACITY,
        _State.EXECUTORS_START_TIMED_OUT,
    },
    **{state: _DRIVER_GOES | (RUNNING - {state}) for state in RUNNING},
    # Without initExecutors an application runs before it has executors.
    _State.RUNNING_HEALTHY: _DRIVER_GOES | (RUNNING - {_State.RUNNING_HEALTHY}) | {_State.EXECUTORS_START_TIMED_OUT},
    **{state: TERMINATED | {_State.SCHEDULED_TO_RESTART} for state in STOPPING},
    _State.TERMINATED_WITHOUT_RELEASE_RESOURCES: frozenset({_State.RESOURCE_RELEASED}),
    _State.RESOURCE_RELEASED: frozenset(),
}


class IllegalMove(Exception):
    """A move that the table does not have; a defect of the caller."""

    def __init__(self, origin: ApplicationState, target: ApplicationState) -> None:
        super().__init__(f"a SparkApplication cannot move from {origin} to {target}")


def initial_status(now: datetime) -> ApplicationStatus:
    """The status of an application that nobody has touched: submitted at `now`, attempt 0."""
    record = StateRecord(
        current_state_summary=ApplicationState.SUBMITTED,
        last_transition_time=now,
        message="The application was submitted.",
    )
    return ApplicationStatus(current_state=record, state_transition_history={"0": record})


def move(
    status: ApplicationStatus,
    to: ApplicationState,
    now: datetime,
    message: str,
    driver_status: Mapping[str, object] | None = None,
    *,
    reason: str | None = None,
) -> ApplicationStatus:
    """`status` after the move to `to`, which is appended to its history.

    Raises:
        IllegalMove: `MOVES` does not have it.
    """
    record = _record(status, to, now, message, driver_status, reason)
    history = {**status.state_transition_history, next_key(status.state_transition_history): record}
    changes = {"current_state": record, "state_transition_history": history, "outcome": _outcome(status, to)}
    return status.model_copy(update=changes)


def move_to_next_attempt(
    status: ApplicationStatus,
    attempt: AttemptInfo,
    now: datetime,
    message: str,
    *,
    trim: bool,
    reason: str | None = None,
) -> ApplicationStatus:
    """`status` after the move to ScheduledToRestart, with `attempt` as the current one.

    With `trim` the ended attempt's history moves into `previous_attempt_summary`; the keys go on.

    Raises:
        IllegalMove: there is no restart from the current state.
    """
    record = _record(status, ApplicationState.SCHEDULED_TO_RESTART, now, message, None, reason)
    ended = status.current_attempt_summary
    history: dict[str, PastRecord] = {next_key(status.state_transition_history): record}
    if trim:
        past = {"state_transition_history": status.state_transition_history}
        ended = ended.model_copy(update=past)
    else:
        history = {**status.state_transition_history, **history}
    return status.model_copy(
        update={
            "current_state": record,
            "state_transition_history": history,
            "current_attempt_summary": AttemptSummary(attempt_info=attempt),
            "previous_attempt_summary": ended,
        }
    )


def remark(status: ApplicationStatus, reason: str, message: str) -> ApplicationStatus:
    """`status` with another reason and message for being in its state; the history keeps the first ones."""
    record = status.current_state.model_copy(update={"reason": reason, "message": message})
    return status.model_copy(update={"current_state": record})


def explain(status: ApplicationStatus, message: str) -> ApplicationStatus:
    """`status` with another message for its latest move, in the history as well."""
    record = status.current_state.model_copy(update={"message": message})
    key = str(max(map(_position, status.state_transition_history), default=-1))
    history = {**status.state_transition_history, key: record}
    return status.model_copy(update={"current_state": record, "state_transition_history": history})


def in_order(history: Mapping[str, PastRecord] | None) -> list[StateRecord]:
    """The records of `history` that can be understood, oldest first; foreign keys that are no numbers come first."""
    return [record for record in _sorted(history or {}) if isinstance(record, StateRecord)]


def latest(history: Mapping[str, PastRecord], *, before: int = 0) -> PastRecord | None:
    """The last record of `history`, or that so many `before` it; None where it is not so long."""
    records = _sorted(history)
    return records[-1 - before] if len(records) > before else None


def next_key(history: Mapping[str, object]) -> str:
    """The key of the next record in `history`: one more than the highest, whatever is missing below."""
    return str(max((_position(key) for key in history), default=-1) + 1)


def _outcome(status: ApplicationStatus, to: ApplicationState) -> str | None:
    """How the application has ended if it moves to a terminated state; None while another attempt may follow."""
    if to not in TERMINATED:
        return None
    origin = status.current_state.current_state_summary
    if origin in TERMINATED:
        return status.outcome
    if origin is ApplicationState.SUCCEEDED:
        return ApplicationOutcome.SUCCEEDED
    return ApplicationOutcome.FAILED if origin in FAILURE else ApplicationOutcome.CANCELLED


def _record(
    status: ApplicationStatus,
    to: ApplicationState,
    now: datetime,
    message: str,
    driver_status: Mapping[str, object] | None,
    reason: str | None,
) -> StateRecord:
    origin = status.current_state.current_state_summary
    if to not in MOVES[origin]:
        raise IllegalMove(origin, to)
    return StateRecord(
        current_state_summary=to,
        last_transition_time=now,
        reason=reason,
        message=message,
        last_observed_driver_status=dict(driver_status) if driver_status is not None else None,
    )


def _sorted(history: Mapping[str, PastRecord]) -> list[PastRecord]:
    return [history[key] for key in sorted(history, key=_position)]


def _position(key: str) -> int:
    return int(key) if key.isascii() and key.isdecimal() and len(key) <= 18 else -1
