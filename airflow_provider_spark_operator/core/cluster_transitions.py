"""Every legal move of a SparkCluster, as one table, and the one place that records a move."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from airflow_provider_spark_operator.core.models.cluster_status import (
    ClusterState,
    ClusterStateRecord,
    ClusterStatus,
)
from airflow_provider_spark_operator.core.transitions import next_key

_State = ClusterState

# ResourceReleased is a word of the definition that no operator sets: what a deleted cluster has goes by
# garbage collection, when the cluster itself is gone.
CLUSTER_MOVES: Final[Mapping[ClusterState, frozenset[ClusterState]]] = {
    _State.SUBMITTED: frozenset({_State.RUNNING_HEALTHY, _State.SCHEDULING_FAILURE}),
    _State.SCHEDULING_FAILURE: frozenset({_State.FAILED}),
    _State.RUNNING_HEALTHY: frozenset(),
    _State.FAILED: frozenset(),
    _State.RESOURCE_RELEASED: frozenset(),
}


class IllegalClusterMove(Exception):
    """A move that the table does not have; a defect of the caller."""

    def __init__(self, origin: ClusterState, target: ClusterState) -> None:
        super().__init__(f"a SparkCluster cannot move from {origin} to {target}")


def initial_cluster_status(now: datetime) -> ClusterStatus:
    """The status of a cluster that nobody has touched: submitted at `now`."""
    record = ClusterStateRecord(
        current_state_summary=_State.SUBMITTED,
        last_transition_time=now,
        message="The cluster was submitted.",
    )
    return ClusterStatus(current_state=record, state_transition_history={"0": record})


def move_cluster(
    status: ClusterStatus, to: ClusterState, now: datetime, message: str, reason: str | None = None
) -> ClusterStatus:
    """`status` after the move to `to` for `reason`, which is appended to its history.

    Raises:
        IllegalClusterMove: `CLUSTER_MOVES` does not have it.
    """
    origin = status.current_state.current_state_summary
    if to not in CLUSTER_MOVES[origin]:
        raise IllegalClusterMove(origin, to)
    record = ClusterStateRecord(current_state_summary=to, last_transition_time=now, message=message, reason=reason)
    history = {**status.state_transition_history, next_key(status.state_transition_history): record}
    return status.model_copy(update={"current_state": record, "state_transition_history": history})


def given_up(cause: str) -> str:
    """The sentence with which a cluster fails for good."""
    return f"The cluster cannot run; delete it, fix the cause, and create it again: {cause}"
