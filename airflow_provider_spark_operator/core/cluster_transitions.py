"""The transitions of a SparkCluster: a table of all legal moves, and the function that records a move."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from airflow_provider_spark_operator.core.models.cluster_status import (
    ClusterState,
    ClusterStateRecord,
    ClusterStatus,
)
from airflow_provider_spark_operator.core.transitions import get_next_key

_State = ClusterState

# No operator sets ResourceReleased, although the definition has the word: the garbage collector deletes the children
# of a deleted cluster.
CLUSTER_MOVES: Final[Mapping[ClusterState, frozenset[ClusterState]]] = {
    _State.SUBMITTED: frozenset({_State.RUNNING_HEALTHY, _State.SCHEDULING_FAILURE}),
    _State.SCHEDULING_FAILURE: frozenset({_State.FAILED}),
    _State.RUNNING_HEALTHY: frozenset(),
    _State.FAILED: frozenset(),
    _State.RESOURCE_RELEASED: frozenset(),
}


class IllegalClusterMove(Exception):
    """The table does not contain the move: a defect of the caller."""

    def __init__(self, origin: ClusterState, target: ClusterState) -> None:
        super().__init__(f"a SparkCluster cannot move from {origin} to {target}")


def create_cluster_status(now: datetime) -> ClusterStatus:
    """Create the status of a new cluster: submitted at `now`."""
    record = ClusterStateRecord(
        current_state_summary=_State.SUBMITTED,
        last_transition_time=now,
        message="The cluster was submitted.",
    )
    return ClusterStatus(current_state=record, state_transition_history={"0": record})


def move_cluster(
    status: ClusterStatus, to: ClusterState, now: datetime, message: str, reason: str | None = None
) -> ClusterStatus:
    """Return `status` after the move to `to` for `reason`, with the new record in its history.

    Raises:
        IllegalClusterMove: `CLUSTER_MOVES` does not contain the move.
    """
    origin = status.current_state.current_state_summary
    if to not in CLUSTER_MOVES[origin]:
        raise IllegalClusterMove(origin, to)
    record = ClusterStateRecord(current_state_summary=to, last_transition_time=now, message=message, reason=reason)
    history = {**status.state_transition_history, get_next_key(status.state_transition_history): record}
    return status.model_copy(update={"current_state": record, "state_transition_history": history})


def describe_cluster_failure(cause: str) -> str:
    """Return the message of a cluster that failed permanently."""
    return f"The cluster cannot run: {cause.rstrip('.')}. Fix the cause, delete the cluster, and create it again."
