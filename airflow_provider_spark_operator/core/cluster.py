"""The lifecycle of a SparkCluster: what to do next, from what is written, what came of it, and the time.

A cluster is created once. Its pods are not waited for, as the Apache operator does not: what runs where
is the StatefulSets' business from then on. What is edited later does not reach a running cluster, since
a change of its pods would end every application on it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.cluster_transitions import given_up, initial_cluster_status, move_cluster
from airflow_provider_spark_operator.core.decision import AddFinalizer, RemoveFinalizer
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.models.cluster_status import ClusterState, ClusterStatus
from airflow_provider_spark_operator.core.names import CLUSTER_FINALIZER
from airflow_provider_spark_operator.core.observation import Created, CreateOutcome
from airflow_provider_spark_operator.core.policy import elapsed

_State = ClusterState
_AT_ONCE: Final = timedelta(0)
# No operator starts a cluster again; one whose status says that somebody did is left this much time.
_PAUSE_BETWEEN_ATTEMPTS: Final = timedelta(seconds=300)


@dataclass(frozen=True)
class ApplyCluster:
    """Build and apply everything that the cluster consists of; repeat with the outcome."""


ClusterAction: TypeAlias = AddFinalizer | RemoveFinalizer | ApplyCluster


@dataclass(frozen=True)
class ClusterDecision:
    """What to do now, in this order: `actions`, then write `status` where it is not None.

    `requeue_after` asks for another look after that time; None waits for an event.
    `reason` is a constant of `core.reasons`; `message` is the sentence for a person.
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
    """Say what to do next about `cluster`; change nothing and never raise.

    Args:
        cluster: the resource as it was read; its status is the one that the decision builds on.
        outcome: what came of `ApplyCluster` in this pass; None before it.
        now: the time, with an offset. It may have run backwards since the last look.
    """
    status = cluster.status or initial_cluster_status(cluster.creation_timestamp or now)
    seen = _Situation(cluster, status, outcome, now)
    for rule in _RULES_OF_DELETION if cluster.deletion_timestamp else (_finalizer_missing, *_RULES[seen.state]):
        if decision := rule(seen):
            return decision
    return ClusterDecision(reasons.NOTHING_DUE)


def _finalizer_missing(seen: _Situation) -> ClusterDecision | None:
    if CLUSTER_FINALIZER in seen.cluster.finalizers:
        return None
    message = "The finalizer is added before anything is created."
    return ClusterDecision(reasons.FINALIZER_MISSING, message, (AddFinalizer(),), None, _AT_ONCE)


def _deleted(seen: _Situation) -> ClusterDecision:
    held = CLUSTER_FINALIZER in seen.cluster.finalizers
    message = "The cluster was deleted; what belongs to it goes with it."
    return ClusterDecision(reasons.CLUSTER_DELETED, message, (RemoveFinalizer(),) if held else ())


def _pausing(seen: _Situation) -> ClusterDecision | None:
    left = _PAUSE_BETWEEN_ATTEMPTS - elapsed(seen.status.current_state.last_transition_time, seen.now)
    if seen.status.previous_attempt_summary is None or left <= _AT_ONCE:
        return None
    message = "The next attempt waits for the end of its backoff."
    return ClusterDecision(reasons.RESTART_BACKOFF, message, requeue_after=left)


def _create(seen: _Situation) -> ClusterDecision:
    if seen.outcome is None:
        message = "The cluster's objects are to be applied."
        return ClusterDecision(reasons.CLUSTER_DUE, message, (ApplyCluster(),), None, _AT_ONCE)
    if isinstance(seen.outcome, Created):
        message = "The API has taken everything that the cluster consists of."
        return seen.move(_State.RUNNING_HEALTHY, reasons.CLUSTER_CREATED, message)
    return seen.move(_State.SCHEDULING_FAILURE, seen.outcome.reason, seen.outcome.detail)


def _give_up(seen: _Situation) -> ClusterDecision:
    cause = seen.status.current_state.message or "its objects could not be created."
    return seen.move(_State.FAILED, reasons.CLUSTER_FAILED, given_up(cause))


def _edited(seen: _Situation) -> ClusterDecision | None:
    # The API counts the spec's versions, from 1; which of them was applied is not recorded anywhere.
    if seen.cluster.generation <= 1:
        return None
    message = (
        "Edits of a cluster's spec have no effect once it was created, or has failed: "
        "delete it and create it again to apply them."
    )
    return ClusterDecision(reasons.SPEC_CHANGE_IGNORED, message)


_RULES_OF_DELETION: Final[tuple[_Rule, ...]] = (_deleted,)
_RULES: Final[Mapping[ClusterState, tuple[_Rule, ...]]] = {
    _State.SUBMITTED: (_pausing, _create),
    _State.SCHEDULING_FAILURE: (_give_up,),
    _State.RUNNING_HEALTHY: (_edited,),
    _State.FAILED: (_edited,),
    _State.RESOURCE_RELEASED: (),
}
