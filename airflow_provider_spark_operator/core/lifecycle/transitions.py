"""The transitions of a SparkApplication: a table of all legal moves, and the functions that record a move."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from ..kubernetes.names import APPLICATION_IDENTITY
from ..models.status import ApplicationStatus, AttemptInfo, AttemptSummary, PastRecord, StateRecord
from ..states.states import FAILURE, RUNNING, STOPPING, TERMINATED, ApplicationOutcome, ApplicationState, SuspendReason

_State = ApplicationState
# In every state with a driver, the driver can end, disappear, or be deleted with its application, and the application
# can be suspended.
_DRIVER_ENDS: Final = frozenset(
    {
        _State.SUCCEEDED,
        _State.FAILED,
        _State.DRIVER_EVICTED,
        _State.RESOURCE_RELEASED,
        _State.SUSPENDED,
    }
)
_STARTS: Final = frozenset(
    {_State.DRIVER_REQUESTED, _State.SCHEDULING_FAILURE, _State.FAILED, _State.RESOURCE_RELEASED}
)

MOVES: Final[Mapping[ApplicationState, frozenset[ApplicationState]]] = {
    _State.SUBMITTED: _STARTS,
    _State.SCHEDULED_TO_RESTART: _STARTS,
    _State.DRIVER_REQUESTED: _DRIVER_ENDS | {_State.DRIVER_STARTED, _State.DRIVER_START_TIMED_OUT},
    _State.DRIVER_STARTED: _DRIVER_ENDS | {_State.DRIVER_READY, _State.DRIVER_READY_TIMED_OUT},
    _State.DRIVER_READY: _DRIVER_ENDS
    | {
        _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS,
        _State.RUNNING_HEALTHY,
        _State.RUNNING_WITH_PARTIAL_CAPACITY,
        _State.EXECUTORS_START_TIMED_OUT,
    },
    _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: _DRIVER_ENDS
    | {
        _State.RUNNING_HEALTHY,
        _State.RUNNING_WITH_PARTIAL_CAPACITY,
        _State.EXECUTORS_START_TIMED_OUT,
    },
    **{state: _DRIVER_ENDS | (RUNNING - {state}) for state in RUNNING},
    # Without initExecutors an application runs before it has executors.
    _State.RUNNING_HEALTHY: _DRIVER_ENDS | (RUNNING - {_State.RUNNING_HEALTHY}) | {_State.EXECUTORS_START_TIMED_OUT},
    **{state: TERMINATED | {_State.SCHEDULED_TO_RESTART} for state in STOPPING},
    _State.TERMINATED_WITHOUT_RELEASE_RESOURCES: frozenset({_State.RESOURCE_RELEASED}),
    _State.RESOURCE_RELEASED: frozenset(),
    # The second entry names another cause.
    _State.SUSPENDED: frozenset({_State.SUBMITTED, _State.SUSPENDED, _State.RESOURCE_RELEASED}),
}


class IllegalMove(Exception):
    """The table does not contain the move: a defect of the caller."""

    def __init__(self, kind: str, origin: str, target: str) -> None:
        super().__init__(f"a {kind} cannot move from {origin} to {target}")


def create_status(now: datetime) -> ApplicationStatus:
    """Create the status of a new application: submitted at `now`, attempt 0."""
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
    suspend_reason: SuspendReason | None = None,
) -> ApplicationStatus:
    """Return `status` after the move to `to`, with the new record in its history.

    Raises:
        IllegalMove: `MOVES` does not contain the move.
    """
    record = _create_record(status, to, now, message, driver_status, reason, suspend_reason)
    history = {**status.state_transition_history, get_next_key(status.state_transition_history): record}
    changes = {"current_state": record, "state_transition_history": history, "outcome": _derive_outcome(status, to)}
    return status.model_copy(update=changes)


def move_to_next_attempt(
    status: ApplicationStatus,
    attempt: AttemptInfo,
    now: datetime,
    message: str,
    *,
    trim: bool,
    reason: str | None = None,
    to: ApplicationState = ApplicationState.SCHEDULED_TO_RESTART,
) -> ApplicationStatus:
    """Return `status` after the move to the first state of the next attempt, with `attempt` as the current attempt.

    With `trim` the history of the previous attempt moves to `previous_attempt_summary`; the keys continue.

    Raises:
        IllegalMove: The current state does not allow the move to `to`.
    """
    record = _create_record(status, to, now, message, None, reason)
    ended = status.current_attempt_summary
    history: dict[str, PastRecord] = {get_next_key(status.state_transition_history): record}
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


def replace_message(status: ApplicationStatus, message: str) -> ApplicationStatus:
    """Return `status` with another message for its latest move, here and in the history."""
    record = status.current_state.model_copy(update={"message": message})
    key = str(max(map(_read_position, status.state_transition_history), default=-1))
    history = {**status.state_transition_history, key: record}
    return status.model_copy(update={"current_state": record, "state_transition_history": history})


def sort_records(history: Mapping[str, PastRecord] | None) -> list[StateRecord]:
    """Return the known records of `history`, oldest first; records whose keys are not numbers come first."""
    return [record for record in _sort(history or {}) if isinstance(record, StateRecord)]


def find_latest(history: Mapping[str, PastRecord], *, before: int = 0) -> PastRecord | None:
    """Return the last record of `history`, or the record `before` places earlier; None if there is none."""
    records = _sort(history)
    return records[-1 - before] if len(records) > before else None


def get_next_key(history: Mapping[str, object]) -> str:
    """Return the key of the next record in `history`: the highest key plus 1."""
    return str(max((_read_position(key) for key in history), default=-1) + 1)


def _derive_outcome(status: ApplicationStatus, to: ApplicationState) -> str | None:
    """Return the outcome of an application that moves to a terminated state; None while another attempt may follow."""
    if to not in TERMINATED:
        return None
    origin = status.current_state.current_state_summary
    if origin in TERMINATED:
        return status.outcome
    if origin is ApplicationState.SUCCEEDED:
        return ApplicationOutcome.SUCCEEDED
    return ApplicationOutcome.FAILED if origin in FAILURE else ApplicationOutcome.CANCELLED


def _create_record(
    status: ApplicationStatus,
    to: ApplicationState,
    now: datetime,
    message: str,
    driver_status: Mapping[str, object] | None,
    reason: str | None,
    suspend_reason: SuspendReason | None = None,
) -> StateRecord:
    origin = status.current_state.current_state_summary
    if to not in MOVES[origin]:
        raise IllegalMove(APPLICATION_IDENTITY.kind, origin, to)
    return StateRecord(
        current_state_summary=to,
        last_transition_time=now,
        reason=reason,
        message=message,
        suspend_reason=suspend_reason,
        last_observed_driver_status=dict(driver_status) if driver_status is not None else None,
    )


def _sort(history: Mapping[str, PastRecord]) -> list[PastRecord]:
    return [history[key] for key in sorted(history, key=_read_position)]


def _read_position(key: str) -> int:
    return int(key) if key.isdecimal() and len(key) <= 18 else -1
