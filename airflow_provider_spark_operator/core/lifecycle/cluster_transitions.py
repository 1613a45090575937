"""The transitions of a SparkCluster: a table of all legal moves, and the functions that record a move."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from ..kubernetes.names import CLUSTER_IDENTITY
from ..models.cluster_status import ClusterState, ClusterStateRecord, ClusterStatus, PastClusterRecord
from ..states.states import SuspendReason
from .transitions import IllegalMove, get_next_key

_State = ClusterState

# Releases of the Apache operator before 1.1.0 set Failed. A cluster in that state is left alone.
CLUSTER_MOVES: Final[Mapping[ClusterState, frozenset[ClusterState]]] = {
    _State.SUBMITTED: frozenset({_State.RUNNING_HEALTHY, _State.SCHEDULING_FAILURE, _State.SUSPENDED}),
    _State.SCHEDULING_FAILURE: frozenset({_State.RESOURCE_RELEASED}),
    _State.RUNNING_HEALTHY: frozenset({_State.SUSPENDED}),
    # The second entry has another cause, or names pods that do not terminate.
    _State.SUSPENDED: frozenset({_State.SUBMITTED, _State.SUSPENDED}),
    _State.FAILED: frozenset(),
    _State.RESOURCE_RELEASED: frozenset(),
}


def create_cluster_status(now: datetime) -> ClusterStatus:
    """Create the status of a new cluster: submitted at `now`."""
    record = ClusterStateRecord(
        current_state_summary=_State.SUBMITTED,
        last_transition_time=now,
        message="The cluster was submitted.",
    )
    return ClusterStatus(current_state=record, state_transition_history={"0": record})


def move_cluster(
    status: ClusterStatus,
    to: ClusterState,
    now: datetime,
    message: str,
    reason: str | None = None,
    *,
    suspend_reason: SuspendReason | None = None,
) -> ClusterStatus:
    """Return `status` after the move to `to` for `reason`, with the new record in its history.

    Args:
        status: The status before the move.
        to: The next state.
        now: The time of the move, with an offset.
        message: A sentence for the user.
        reason: A constant of `core.states.reasons`.
        suspend_reason: The cause of a suspension, None for other states.

    Raises:
        IllegalMove: `CLUSTER_MOVES` does not contain the move.
    """
    origin = status.current_state.current_state_summary
    if to not in CLUSTER_MOVES[origin]:
        raise IllegalMove(CLUSTER_IDENTITY.kind, origin, to)
    record = ClusterStateRecord(
        current_state_summary=to,
        last_transition_time=now,
        message=message,
        reason=reason,
        suspend_reason=suspend_reason,
    )
    history = {**status.state_transition_history, get_next_key(status.state_transition_history): record}
    return status.model_copy(update={"current_state": record, "state_transition_history": history})


def resume_cluster(status: ClusterStatus, now: datetime, message: str, reason: str, *, trim: bool) -> ClusterStatus:
    """Return `status` after the move of a suspended cluster to Submitted.

    With `trim`, the history starts again with the new record. The keys continue.

    Raises:
        IllegalMove: The cluster is not suspended.
    """
    resumed = move_cluster(status, _State.SUBMITTED, now, message, reason)
    if not trim:
        return resumed
    history: dict[str, PastClusterRecord] = {get_next_key(status.state_transition_history): resumed.current_state}
    return resumed.model_copy(update={"state_transition_history": history})


def is_resumed(status: ClusterStatus) -> bool:
    """Whether a submitted cluster has been suspended before: its state is not the first one of its history."""
    return get_next_key(status.state_transition_history) not in ("0", "1")


def describe_cluster_failure(cause: str) -> str:
    """Return the message of a cluster that failed permanently."""
    return f"The cluster cannot run: {cause.rstrip('.')}. Fix the cause, delete the SparkCluster, and create it again."
