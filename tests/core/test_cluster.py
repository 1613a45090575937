from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.cluster import ApplyCluster, ClusterDecision, decide
from airflow_provider_spark_operator.core.cluster_transitions import (
    CLUSTER_MOVES,
    IllegalClusterMove,
    create_cluster_status,
    move_cluster,
)
from airflow_provider_spark_operator.core.decision import AddFinalizer, RemoveFinalizer
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.models.cluster_status import (
    ClusterAttemptSummary,
    ClusterState,
    ClusterStateRecord,
    ClusterStatus,
)
from airflow_provider_spark_operator.core.models.parse import parse_cluster
from airflow_provider_spark_operator.core.names import CLUSTER_FINALIZER
from airflow_provider_spark_operator.core.observation import Created, CreateOutcome, Refused
from tests.core.cluster_resources.clusters import build_cluster_document

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
State = ClusterState
PATHS = {
    State.SUBMITTED: (),
    State.RUNNING_HEALTHY: (State.RUNNING_HEALTHY,),
    State.SCHEDULING_FAILURE: (State.SCHEDULING_FAILURE,),
    State.FAILED: (State.SCHEDULING_FAILURE, State.FAILED),
}


def build_status(state: ClusterState, message: str = "Built by a test.") -> ClusterStatus:
    status = create_cluster_status(NOW)
    if state is State.RESOURCE_RELEASED:
        record = status.current_state.model_copy(update={"current_state_summary": state})
        return status.model_copy(update={"current_state": record})
    for each in PATHS[state]:
        status = move_cluster(status, each, NOW, message)
    return status


def build_cluster(
    state: ClusterState | None = None,
    *,
    finalizer: bool = True,
    deleted: bool = False,
    generation: int = 1,
    created: str | None = NOW.isoformat(),
    status: ClusterStatus | None = None,
) -> SparkCluster:
    document = build_cluster_document()
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


def get_status(decision: ClusterDecision) -> ClusterStatus:
    assert decision.status is not None
    return decision.status


def get_state(decision: ClusterDecision) -> ClusterState:
    return get_status(decision).current_state.current_state_summary


def get_message(decision: ClusterDecision) -> str:
    message = get_status(decision).current_state.message
    assert message is not None
    return message


def test_missing_cluster_finalizer_is_added_first() -> None:
    decision = decide(build_cluster(finalizer=False), None, NOW)
    assert decision.actions == (AddFinalizer(),)
    assert decision.status is None
    assert decision.requeue_after == timedelta(0)


@pytest.mark.parametrize("state", [None, State.SUBMITTED])
def test_submitted_cluster_is_applied(state: ClusterState | None) -> None:
    decision = decide(build_cluster(state), None, NOW)
    assert (decision.reason, decision.actions, decision.status) == (reasons.CLUSTER_DUE, (ApplyCluster(),), None)


def test_applied_cluster_enters_running_healthy() -> None:
    decision = decide(build_cluster(), Created(), NOW + timedelta(seconds=1))
    assert get_state(decision) is State.RUNNING_HEALTHY
    assert get_status(decision).to_document()["stateTransitionHistory"] == {
        "0": {
            "currentStateSummary": "Submitted",
            "lastTransitionTime": "2026-01-01T12:00:00Z",
            "message": "The cluster was submitted.",
        },
        "1": {
            "currentStateSummary": "RunningHealthy",
            "lastTransitionTime": "2026-01-01T12:00:01Z",
            "message": "All objects of the cluster were applied.",
            "reason": "ClusterCreated",
        },
    }
    assert get_status(decision).to_document()["currentAttemptSummary"] == {
        "attemptInfo": {"id": 0, "restartCounter": 0}
    }


def test_cluster_without_creation_time_is_submitted_now() -> None:
    decision = decide(build_cluster(created=None), Created(), NOW)
    submitted = get_status(decision).state_transition_history["0"]
    assert isinstance(submitted, ClusterStateRecord)
    assert submitted.last_transition_time == NOW


def test_refused_cluster_enters_scheduling_failure_with_api_message() -> None:
    decision = decide(build_cluster(), Refused("the API says no"), NOW)
    assert get_state(decision) is State.SCHEDULING_FAILURE
    assert get_status(decision).current_state.message == "the API says no"
    assert get_status(decision).current_state.reason == decision.reason == reasons.SCHEDULING_FAILED
    assert decision.requeue_after == timedelta(0)


def test_unbuildable_cluster_spec_has_its_own_reason() -> None:
    decision = decide(build_cluster(), Refused("spec.masterSpec: no", reasons.SPEC_UNBUILDABLE), NOW)
    assert get_status(decision).current_state.reason == reasons.SPEC_UNBUILDABLE


def test_failed_cluster_message_contains_scheduling_failure() -> None:
    decision = decide(build_cluster(status=build_status(State.SCHEDULING_FAILURE, "quota exceeded")), None, NOW)
    assert get_state(decision) is State.FAILED
    assert "quota exceeded" in get_message(decision)
    assert "Fix the cause, delete the cluster, and create it again." in get_message(decision)


def test_scheduling_failure_without_message_enters_failed() -> None:
    status = build_status(State.SCHEDULING_FAILURE)
    record = status.current_state.model_copy(update={"message": None})
    decision = decide(build_cluster(status=status.model_copy(update={"current_state": record})), None, NOW)
    assert "The cluster cannot run: its objects could not be created. Fix the cause" in get_message(decision)


@pytest.mark.parametrize("state", [State.RUNNING_HEALTHY, State.FAILED, State.RESOURCE_RELEASED])
def test_cluster_in_stable_state_is_not_changed(state: ClusterState) -> None:
    assert decide(build_cluster(state), None, NOW + timedelta(days=9)) == ClusterDecision(reasons.NOTHING_DUE)


@pytest.mark.parametrize("state", [State.RUNNING_HEALTHY, State.FAILED])
def test_spec_change_is_ignored_and_reported(state: ClusterState) -> None:
    decision = decide(build_cluster(state, generation=2), None, NOW)
    assert (decision.reason, decision.actions, decision.status) == (reasons.SPEC_CHANGE_IGNORED, (), None)
    assert "create it again" in decision.message


@pytest.mark.parametrize("state", State)
def test_deleted_cluster_loses_finalizer_without_status_change(state: ClusterState) -> None:
    decision = decide(build_cluster(state, deleted=True, generation=2), None, NOW)
    assert decision == ClusterDecision(reasons.CLUSTER_DELETED, decision.message, (RemoveFinalizer(),))


@pytest.mark.parametrize("state", State)
def test_deleted_cluster_without_finalizer_is_ignored(state: ClusterState) -> None:
    decision = decide(build_cluster(state, deleted=True, finalizer=False), None, NOW)
    assert (decision.actions, decision.status, decision.requeue_after) == ((), None, None)


@pytest.mark.parametrize(
    ("elapsed", "wait"),
    [(0, 300), (299, 1), (300, None), (301, None), (-10, 300)],
    ids=["immediately", "before the backoff ends", "when the backoff ends", "after the backoff", "clock set back"],
)
def test_restarted_cluster_is_applied_after_five_minutes(elapsed: int, wait: int | None) -> None:
    status = build_status(State.SUBMITTED).model_copy(update={"previous_attempt_summary": ClusterAttemptSummary()})
    decision = decide(build_cluster(status=status), None, NOW + timedelta(seconds=elapsed))
    if wait is None:
        assert decision.actions == (ApplyCluster(),)
    else:
        assert (decision.reason, decision.actions) == (reasons.RESTART_BACKOFF, ())
        assert decision.requeue_after == timedelta(seconds=wait)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("target", State)
def test_only_cluster_moves_in_table_are_legal(state: ClusterState, target: ClusterState) -> None:
    status = build_status(state)
    if target in CLUSTER_MOVES[state]:
        assert move_cluster(status, target, NOW, "").current_state.current_state_summary is target
    else:
        with pytest.raises(IllegalClusterMove, match=f"cannot move from {state} to {target}"):
            move_cluster(status, target, NOW, "")


def test_move_uses_next_key_of_history_with_gaps() -> None:
    status = build_status(State.SUBMITTED)
    history = {"7": status.current_state, "odd": status.current_state}
    moved = move_cluster(
        status.model_copy(update={"state_transition_history": history}), State.RUNNING_HEALTHY, NOW, ""
    )
    assert set(moved.state_transition_history) == {"7", "odd", "8"}


OUTCOMES = st.sampled_from([None, Created(), Refused("no")])


@given(
    state=st.sampled_from([None, *State]),
    finalizer=st.booleans(),
    deleted=st.booleans(),
    generation=st.integers(0, 3),
    outcomes=st.lists(OUTCOMES, min_size=8, max_size=8),
    times=st.lists(st.datetimes(timezones=st.just(UTC)), min_size=8, max_size=8),
)
def test_reconcile_of_any_cluster_settles(
    state: ClusterState | None,
    finalizer: bool,
    deleted: bool,
    generation: int,
    outcomes: list[CreateOutcome | None],
    times: list[datetime],
) -> None:
    """Reconciliation settles after a few passes, whatever the outcome of apply and the clock."""
    seen = build_cluster(state, finalizer=finalizer, deleted=deleted, generation=generation)
    for outcome, now in zip(outcomes, times, strict=True):
        decision = decide(seen, outcome, now)
        if decision.status:
            assert not deleted
            seen = seen.model_copy(update={"status": decision.status})
        for action in decision.actions:
            finalizers = [] if isinstance(action, RemoveFinalizer) else [CLUSTER_FINALIZER]
            seen = seen.model_copy(update={"metadata": {**seen.metadata, "finalizers": finalizers}})
    history = seen.status.state_transition_history if seen.status else {}
    assert len(history) <= 3
    last = decide(seen, Created(), times[-1])
    assert last.requeue_after is None or last.status is not None
