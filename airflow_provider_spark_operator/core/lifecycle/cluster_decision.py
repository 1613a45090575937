"""The input and the result of `decide()` for a SparkCluster: what was observed, the situation, and what to do next."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from ..kubernetes.json_object import KubernetesObject
from ..kueue.observation import QueueObservation
from ..kueue.steps import QueueAction
from ..models.cluster import SparkCluster
from ..models.cluster_status import ClusterState, ClusterStatus
from ..states import reasons
from ..states.states import SuspendReason
from .cluster_transitions import move_cluster, resume_cluster
from .decision import AT_ONCE, AddFinalizer, RemoveFinalizer, Settings, limit_wait
from .observation import CreateOutcome


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
