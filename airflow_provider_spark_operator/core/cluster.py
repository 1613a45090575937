"""The lifecycle of a SparkCluster: decide the next step from its spec, its status and the time.

A cluster is created once. As with the Apache operator, the controller does not wait for its pods: the StatefulSets
manage them. Later edits of the spec do not change a running cluster, because new pods would end its applications.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.cluster_transitions import (
    create_cluster_status,
    describe_cluster_failure,
    move_cluster,
)
from airflow_provider_spark_operator.core.decision import AddFinalizer, RemoveFinalizer
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.models.cluster_status import ClusterState, ClusterStatus
from airflow_provider_spark_operator.core.names import CLUSTER_FINALIZER
from airflow_provider_spark_operator.core.observation import Created, CreateOutcome
from airflow_provider_spark_operator.core.policy import measure_elapsed

_State = ClusterState
_AT_ONCE: Final = timedelta(0)
# No operator restarts a cluster. If the status shows a previous attempt, the controller waits for this time.
_PAUSE_BETWEEN_ATTEMPTS: Final = timedelta(seconds=300)


@dataclass(frozen=True)
class ApplyCluster:
    """Build and apply all objects of the cluster, then decide again with the outcome."""


ClusterAction: TypeAlias = AddFinalizer | RemoveFinalizer | ApplyCluster


@dataclass(frozen=True)
class ClusterDecision:
    """What to do next: carry out `actions`, then write `status`.

    Attributes:
        reason: A constant of `core.reasons`.
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
class _Situation:
    cluster: SparkCluster
    status: ClusterStatus
    outcome: CreateOutcome | None
    now: datetime

    @property
    def state(self) -> ClusterState:
        return self.status.current_state.current_state_summary

    def move(self, to: ClusterState, reason: str, message: str) -> ClusterDecision:
        status = move_cluster(self.status, to, self.now, message, reason)
        return ClusterDecision(reason, message, (), status, _AT_ONCE)


_Rule: TypeAlias = Callable[[_Situation], ClusterDecision | None]


def decide(cluster: SparkCluster, outcome: CreateOutcome | None, now: datetime) -> ClusterDecision:
    """Decide what to do next with `cluster`; change nothing and never raise.

    Args:
        cluster: The resource as it was read, with the status on which the decision builds.
        outcome: The outcome of `ApplyCluster` in this pass, None before it.
        now: The time, with an offset. It may be earlier than in the pass before.
    """
    status = cluster.status or create_cluster_status(cluster.creation_timestamp or now)
    situation = _Situation(cluster, status, outcome, now)
    for rule in _RULES_OF_DELETION if cluster.deletion_timestamp else (_add_finalizer, *_RULES[situation.state]):
        if decision := rule(situation):
            return decision
    return ClusterDecision(reasons.NOTHING_DUE)


def _add_finalizer(situation: _Situation) -> ClusterDecision | None:
    if CLUSTER_FINALIZER in situation.cluster.finalizers:
        return None
    message = "The finalizer is added before anything is created."
    return ClusterDecision(reasons.FINALIZER_MISSING, message, (AddFinalizer(),), None, _AT_ONCE)


def _remove_finalizer(situation: _Situation) -> ClusterDecision:
    held = CLUSTER_FINALIZER in situation.cluster.finalizers
    message = "The cluster is deleted; the garbage collector deletes its objects."
    return ClusterDecision(reasons.CLUSTER_DELETED, message, (RemoveFinalizer(),) if held else ())


def _await_backoff(situation: _Situation) -> ClusterDecision | None:
    left = _PAUSE_BETWEEN_ATTEMPTS - measure_elapsed(situation.status.current_state.last_transition_time, situation.now)
    if situation.status.previous_attempt_summary is None or left <= _AT_ONCE:
        return None
    message = "The next attempt starts after its backoff."
    return ClusterDecision(reasons.RESTART_BACKOFF, message, requeue_after=left)


def _create(situation: _Situation) -> ClusterDecision:
    if situation.outcome is None:
        message = "The objects of the cluster must be applied."
        return ClusterDecision(reasons.CLUSTER_DUE, message, (ApplyCluster(),), None, _AT_ONCE)
    if isinstance(situation.outcome, Created):
        message = "All objects of the cluster were applied."
        return situation.move(_State.RUNNING_HEALTHY, reasons.CLUSTER_CREATED, message)
    return situation.move(_State.SCHEDULING_FAILURE, situation.outcome.reason, situation.outcome.detail)


def _give_up(situation: _Situation) -> ClusterDecision:
    cause = situation.status.current_state.message or "its objects could not be created."
    return situation.move(_State.FAILED, reasons.CLUSTER_FAILED, describe_cluster_failure(cause))


def _warn_of_edit(situation: _Situation) -> ClusterDecision | None:
    # The API server counts the versions of the spec from 1. No field records the version that was applied.
    if situation.cluster.generation <= 1:
        return None
    message = (
        "The change of the spec has no effect: the cluster was already created, or has failed. "
        "Delete the cluster and create it again to apply the change."
    )
    return ClusterDecision(reasons.SPEC_CHANGE_IGNORED, message)


_RULES_OF_DELETION: Final[tuple[_Rule, ...]] = (_remove_finalizer,)
_RULES: Final[Mapping[ClusterState, tuple[_Rule, ...]]] = {
    _State.SUBMITTED: (_await_backoff, _create),
    _State.SCHEDULING_FAILURE: (_give_up,),
    _State.RUNNING_HEALTHY: (_warn_of_edit,),
    _State.FAILED: (_warn_of_edit,),
    _State.RESOURCE_RELEASED: (),
}
