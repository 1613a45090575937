"""The input of a rule about a SparkCluster, and the few kinds of decisions that a rule can return."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.cluster_decision import ClusterAction, ClusterDecision, ClusterObserved
from airflow_provider_spark_operator.core.cluster_transitions import move_cluster, resume_cluster
from airflow_provider_spark_operator.core.decision import AT_ONCE, Settings, limit_wait
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.models.cluster_status import ClusterState, ClusterStatus
from airflow_provider_spark_operator.core.states import SuspendReason


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
