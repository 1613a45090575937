"""Builders of clusters, their statuses and their pods for tests of the lifecycle."""

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_spark_operator.core.kubernetes.json_object import KubernetesObject
from airflow_provider_spark_operator.core.kubernetes.names import CLUSTER_FINALIZER
from airflow_provider_spark_operator.core.lifecycle import cluster
from airflow_provider_spark_operator.core.lifecycle.cluster_decision import (
    ClusterDecision,
    ClusterObserved,
    create_cluster_status,
    move_cluster,
)
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.core.lifecycle.observation import CreateOutcome
from airflow_provider_spark_operator.core.models.cluster import (
    ClusterState,
    ClusterStateRecord,
    ClusterStatus,
    SparkCluster,
    parse_cluster,
)
from airflow_provider_spark_operator.core.states.states import SuspendReason
from tests.core.cluster_resources.clusters import build_cluster_document

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
SETTINGS = Settings()
_State = ClusterState
_PATHS = {
    _State.SUBMITTED: (),
    _State.RUNNING_HEALTHY: (_State.RUNNING_HEALTHY,),
    _State.SCHEDULING_FAILURE: (_State.SCHEDULING_FAILURE,),
    _State.RESOURCE_RELEASED: (_State.SCHEDULING_FAILURE, _State.RESOURCE_RELEASED),
    _State.SUSPENDED: (_State.RUNNING_HEALTHY, _State.SUSPENDED),
}


def build_status(
    state: ClusterState, message: str = "Built by a test.", *, cause: SuspendReason | None = None
) -> ClusterStatus:
    """Build the status of a cluster that has reached `state` on the shortest way."""
    status = create_cluster_status(NOW)
    if state is _State.FAILED:  # only older releases of the Apache operator set it
        record = status.current_state.model_copy(update={"current_state_summary": state, "message": message})
        history = {**status.state_transition_history, "1": record}
        return status.model_copy(update={"current_state": record, "state_transition_history": history})
    for each in _PATHS[state]:
        suspend_reason = cause if each is _State.SUSPENDED else None
        status = move_cluster(status, each, NOW, message, suspend_reason=suspend_reason)
    return status


def build_cluster(
    state: ClusterState | None = None,
    *,
    finalizer: bool = True,
    deleted: bool = False,
    suspend: bool = False,
    generation: int = 1,
    created: str | None = NOW.isoformat(),
    status: ClusterStatus | None = None,
) -> SparkCluster:
    """Build a cluster as the API returns it."""
    document = build_cluster_document(suspend=suspend)
    metadata: dict[str, Any] = {"generation": generation, "finalizers": [CLUSTER_FINALIZER] if finalizer else []}
    if deleted:
        metadata["deletionTimestamp"] = NOW.isoformat()
    if created:
        metadata["creationTimestamp"] = created
    document["metadata"] |= metadata
    status = status or (build_status(state) if state else None)
    if status:
        document["status"] = status.to_document()
    return parse_cluster(document)


def build_pod(name: str = "cl-master-0", *, deleted: datetime | None = None) -> KubernetesObject:
    """Build a pod of a cluster; `deleted` is its deletion time, which includes its grace period."""
    metadata = {"name": name, "namespace": "jobs"}
    return {"metadata": metadata | ({"deletionTimestamp": deleted.isoformat()} if deleted else {})}


def decide(
    one: SparkCluster,
    outcome: CreateOutcome | None = None,
    now: datetime = NOW,
    *,
    has_master: bool | None = None,
    pods: tuple[KubernetesObject, ...] | None = None,
    settings: Settings = SETTINGS,
) -> ClusterDecision:
    """Decide what to do next, after the actions of the pass have shown these facts."""
    return cluster.decide(one, ClusterObserved(outcome, has_master, pods), settings, now)


def get_status(decision: ClusterDecision) -> ClusterStatus:
    """Return the status that a decision writes."""
    assert decision.status is not None
    return decision.status


def get_current(decision: ClusterDecision) -> ClusterStateRecord:
    """Return the state that a decision writes."""
    return get_status(decision).current_state


def get_state(decision: ClusterDecision) -> ClusterState:
    """Return the word of the state that a decision writes."""
    return get_current(decision).current_state_summary


def list_states(status: ClusterStatus) -> list[str]:
    """Return the states in the history, with their keys."""
    return [
        f"{key} {record.current_state_summary}"
        for key, record in status.state_transition_history.items()
        if isinstance(record, ClusterStateRecord)
    ]


def minutes(number: float) -> timedelta:
    """Return a duration."""
    return timedelta(minutes=number)
