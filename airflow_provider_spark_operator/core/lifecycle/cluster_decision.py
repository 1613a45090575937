"""The input and the result of `decide()` for a SparkCluster: what was observed, the situation, and what to do next."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.names import CLUSTER_IDENTITY
from ..kueue.steps import QueueAction, QueueObservation
from ..models.cluster import ClusterState, ClusterStateRecord, ClusterStatus, PastClusterRecord, SparkCluster
from ..states import reasons
from ..states.states import SuspendReason
from .decision import AT_ONCE, AddFinalizer, RemoveFinalizer, Settings, limit_wait
from .observation import CreateOutcome
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


@dataclass(frozen=True)
class ApplyCluster:
    """Build and apply all objects of the cluster, then decide again with the outcome."""


@dataclass(frozen=True)
class FindMaster:
    """Look for the StatefulSet of the master with a live read, then decide again."""


@dataclass(frozen=True)
class StopCluster:
    """Delete the StatefulSets by name, list the pods of the cluster with a live read, then decide again."""


@dataclass(frozen=True)
class DeleteScaling:
    """Delete the autoscaler and the disruption budget of the workers by name."""


@dataclass(frozen=True)
class DeleteNetwork:
    """Delete the Services and the NetworkPolicy by name."""


ClusterAction: TypeAlias = (
    AddFinalizer
    | RemoveFinalizer
    | ApplyCluster
    | FindMaster
    | StopCluster
    | DeleteScaling
    | DeleteNetwork
    | QueueAction
)


@dataclass(frozen=True)
class ClusterObserved:
    """Everything that `decide()` reads in addition to the cluster.

    Attributes:
        outcome: The outcome of `ApplyCluster` in this pass, None before it.
        has_master: Whether the StatefulSet of the master exists, None before `FindMaster`.
        pods: The pods of the master and the workers, None before `StopCluster`.
        queue: The Workload of Kueue; None if the controller runs without Kueue.
    """

    outcome: CreateOutcome | None = None
    has_master: bool | None = None
    pods: tuple[KubernetesObject, ...] | None = None
    queue: QueueObservation | None = None


@dataclass(frozen=True)
class ClusterDecision:
    """What to do next: carry out `actions`, then write `status`.

    Attributes:
        reason: A constant of `core.states.reasons`.
        message: A sentence for the user.
        actions: What to do, in this order.
        status: The status to write, None to leave the status unchanged.
        requeue_after: When to reconcile again; None waits for an event.
    """

    reason: str
    message: str = ""
    actions: tuple[ClusterAction, ...] = ()
    status: ClusterStatus | None = None
    requeue_after: timedelta | None = None


@dataclass(frozen=True)
class ClusterSituation:
    """One cluster at one moment: its spec, its status, what was observed, and the time."""

    cluster: SparkCluster
    status: ClusterStatus
    observed: ClusterObserved
    settings: Settings
    now: datetime

    @property
    def state(self) -> ClusterState:
        """The current state."""
        return self.status.current_state.current_state_summary

    @property
    def is_suspended(self) -> bool:
        """Whether the user has suspended the cluster."""
        return self.cluster.spec.suspend

    def move(
        self, to: ClusterState, reason: str, message: str, actions: tuple[ClusterAction, ...] = ()
    ) -> ClusterDecision:
        """Decide to do `actions`, enter `to`, and requeue at once."""
        status = move_cluster(self.status, to, self.now, message, reason)
        return ClusterDecision(reason, message, actions, status, AT_ONCE)

    def apply_spec(self, to: ClusterState, reason: str, message: str) -> ClusterDecision:
        """Decide to enter `to` because the current version of the spec was applied or rejected."""
        status = move_cluster(self.status, to, self.now, message, reason)
        status = status.model_copy(update={"observed_generation": self.cluster.generation})
        return ClusterDecision(reason, message, (), status, AT_ONCE)

    def suspend(self, cause: SuspendReason, message: str, actions: tuple[ClusterAction, ...] = ()) -> ClusterDecision:
        """Decide to do `actions`, enter Suspended because of `cause`, and requeue at once."""
        status = move_cluster(
            self.status, ClusterState.SUSPENDED, self.now, message, reasons.SUSPENDED, suspend_reason=cause
        )
        return ClusterDecision(reasons.SUSPENDED, message, actions, status, AT_ONCE)

    def resume(self, message: str, actions: tuple[ClusterAction, ...] = ()) -> ClusterDecision:
        """Decide to do `actions`, submit a suspended cluster again, and requeue at once."""
        trim = self.settings.trim_state_transition_history
        status = resume_cluster(self.status, self.now, message, reasons.RESUMED, trim=trim)
        return ClusterDecision(reasons.RESUMED, message, actions, status, AT_ONCE)

    def wait(self, reason: str, message: str, after: timedelta, *actions: ClusterAction) -> ClusterDecision:
        """Decide to stay, do `actions`, and requeue `after` that time, but at most a day."""
        return ClusterDecision(reason, message, actions, None, limit_wait(after))


ClusterRule: TypeAlias = Callable[[ClusterSituation], ClusterDecision | None]


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
