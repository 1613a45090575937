from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.kubernetes.names import CLUSTER_FINALIZER
from airflow_provider_spark_operator.core.lifecycle.cluster_decision import (
    CLUSTER_MOVES,
    ApplyCluster,
    ClusterDecision,
    DeleteNetwork,
    DeleteScaling,
    StopCluster,
    move_cluster,
)
from airflow_provider_spark_operator.core.lifecycle.decision import AddFinalizer, RemoveFinalizer
from airflow_provider_spark_operator.core.lifecycle.observation import Created, CreateOutcome, Refused
from airflow_provider_spark_operator.core.lifecycle.transitions import IllegalMove
from airflow_provider_spark_operator.core.models.cluster import ClusterAttemptSummary, ClusterState, ClusterStateRecord
from airflow_provider_spark_operator.core.states import reasons
from tests.core.cluster_builders import (
    NOW,
    build_cluster,
    build_pod,
    build_status,
    decide,
    get_current,
    get_state,
    get_status,
)

State = ClusterState


def test_missing_cluster_finalizer_is_added_first() -> None:
    decision = decide(build_cluster(finalizer=False))
    assert decision.actions == (AddFinalizer(),)
    assert decision.status is None
    assert decision.requeue_after == timedelta(0)


@pytest.mark.parametrize("state", [None, State.SUBMITTED])
def test_submitted_cluster_is_applied(state: ClusterState | None) -> None:
    decision = decide(build_cluster(state))
    assert (decision.reason, decision.actions, decision.status) == (reasons.CLUSTER_DUE, (ApplyCluster(),), None)


def test_applied_cluster_enters_running_healthy() -> None:
    decision = decide(build_cluster(generation=3), Created(), NOW + timedelta(seconds=1))
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
    assert get_status(decision).observed_generation == 3


def test_cluster_without_creation_time_is_submitted_now() -> None:
    decision = decide(build_cluster(created=None), Created())
    submitted = get_status(decision).state_transition_history["0"]
    assert isinstance(submitted, ClusterStateRecord)
    assert submitted.last_transition_time == NOW


def test_refused_cluster_enters_scheduling_failure_with_api_message() -> None:
    decision = decide(build_cluster(), Refused("the API says no"))
    assert get_state(decision) is State.SCHEDULING_FAILURE
    assert get_current(decision).message == "the API says no"
    assert get_current(decision).reason == decision.reason == reasons.SCHEDULING_FAILED
    assert decision.requeue_after == timedelta(0)


def test_unbuildable_cluster_spec_has_its_own_reason() -> None:
    decision = decide(build_cluster(), Refused("spec.masterSpec: no", reasons.SPEC_UNBUILDABLE))
    assert get_current(decision).reason == reasons.SPEC_UNBUILDABLE


def test_stateful_sets_of_a_failed_cluster_are_deleted_first() -> None:
    decision = decide(build_cluster(State.SCHEDULING_FAILURE))
    assert (decision.actions, decision.status) == ((StopCluster(),), None)
    terminating = (build_pod(deleted=NOW),)
    waiting = decide(build_cluster(State.SCHEDULING_FAILURE), pods=terminating)
    assert (waiting.reason, waiting.actions, waiting.status) == (reasons.RELEASING, (), None)
    assert waiting.requeue_after == timedelta(seconds=1)


@pytest.mark.parametrize("pods", [(), (build_pod(deleted=NOW - timedelta(minutes=5)),)], ids=["no pods", "stuck pod"])
def test_failed_cluster_is_released_when_its_pods_hold_nothing(pods: tuple[dict[str, object], ...]) -> None:
    cluster = build_cluster(status=build_status(State.SCHEDULING_FAILURE, "quota exceeded."))
    decision = decide(cluster, pods=pods)
    assert decision.actions == (DeleteScaling(), DeleteNetwork())
    assert get_state(decision) is State.RESOURCE_RELEASED
    assert get_current(decision).reason == reasons.CLUSTER_RELEASED
    assert get_current(decision).message == (
        "The cluster cannot run: quota exceeded. Fix the cause, delete the SparkCluster, and create it again."
    )


def test_scheduling_failure_without_message_is_released() -> None:
    status = build_status(State.SCHEDULING_FAILURE)
    record = status.current_state.model_copy(update={"message": None})
    decision = decide(build_cluster(status=status.model_copy(update={"current_state": record})), pods=())
    message = get_current(decision).message or ""
    assert "The cluster cannot run: its objects could not be created. Fix the cause" in message


@pytest.mark.parametrize("state", [State.RUNNING_HEALTHY, State.FAILED, State.RESOURCE_RELEASED])
def test_cluster_in_stable_state_is_not_changed(state: ClusterState) -> None:
    assert decide(build_cluster(state), now=NOW + timedelta(days=9)) == ClusterDecision(reasons.NOTHING_DUE)


@pytest.mark.parametrize("suspend", [False, True])
def test_failed_cluster_of_an_older_controller_is_left_alone(suspend: bool) -> None:
    cluster = build_cluster(State.FAILED, generation=2, suspend=suspend)
    assert decide(cluster) == ClusterDecision(reasons.NOTHING_DUE)


@pytest.mark.parametrize("state", [State.RUNNING_HEALTHY, State.RESOURCE_RELEASED])
@pytest.mark.parametrize(
    ("applied", "generation", "is_reported"),
    [(1, 2, True), (2, 2, False), (3, 2, False), (None, 2, False)],
    ids=["edited", "applied after an edit", "generation set back", "applied by another controller"],
)
def test_spec_change_is_ignored_and_reported(
    state: ClusterState, applied: int | None, generation: int, is_reported: bool
) -> None:
    status = build_status(state).model_copy(update={"observed_generation": applied})
    decision = decide(build_cluster(status=status, generation=generation))
    reason = reasons.SPEC_CHANGE_IGNORED if is_reported else reasons.NOTHING_DUE
    assert (decision.reason, decision.actions, decision.status) == (reason, (), None)
    assert ("create it again" in decision.message) is is_reported
    # A failed cluster cannot be resumed.
    assert ("suspend and resume" in decision.message) is (is_reported and state is State.RUNNING_HEALTHY)


@pytest.mark.parametrize("suspend", [False, True])
@pytest.mark.parametrize("state", State)
def test_deleted_cluster_loses_finalizer_without_status_change(state: ClusterState, suspend: bool) -> None:
    decision = decide(build_cluster(state, deleted=True, generation=2, suspend=suspend))
    assert decision == ClusterDecision(reasons.CLUSTER_DELETED, decision.message, (RemoveFinalizer(),))


@pytest.mark.parametrize("state", State)
def test_deleted_cluster_without_finalizer_is_ignored(state: ClusterState) -> None:
    decision = decide(build_cluster(state, deleted=True, finalizer=False))
    assert (decision.actions, decision.status, decision.requeue_after) == ((), None, None)


@pytest.mark.parametrize(
    ("elapsed", "wait"),
    [(0, 300), (299, 1), (300, None), (301, None), (-10, 300)],
    ids=["immediately", "before the backoff ends", "when the backoff ends", "after the backoff", "clock set back"],
)
def test_restarted_cluster_is_applied_after_five_minutes(elapsed: int, wait: int | None) -> None:
    status = build_status(State.SUBMITTED).model_copy(update={"previous_attempt_summary": ClusterAttemptSummary()})
    decision = decide(build_cluster(status=status), now=NOW + timedelta(seconds=elapsed))
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
        with pytest.raises(IllegalMove, match=f"cannot move from {state} to {target}"):
            move_cluster(status, target, NOW, "")


def test_move_uses_next_key_of_history_with_gaps() -> None:
    status = build_status(State.SUBMITTED)
    history = {"7": status.current_state, "odd": status.current_state}
    moved = move_cluster(
        status.model_copy(update={"state_transition_history": history}), State.RUNNING_HEALTHY, NOW, ""
    )
    assert set(moved.state_transition_history) == {"7", "odd", "8"}


OUTCOMES = st.sampled_from([None, Created(), Refused("no")])
PODS = st.sampled_from([None, (), (build_pod(),), (build_pod(deleted=NOW),)])


@given(
    state=st.sampled_from([None, *State]),
    finalizer=st.booleans(),
    deleted=st.booleans(),
    suspend=st.booleans(),
    generation=st.integers(0, 3),
    outcomes=st.lists(OUTCOMES, min_size=8, max_size=8),
    pods=st.lists(PODS, min_size=8, max_size=8),
    times=st.lists(st.datetimes(timezones=st.just(UTC)), min_size=8, max_size=8),
)
def test_reconcile_of_any_cluster_settles(
    state: ClusterState | None,
    finalizer: bool,
    deleted: bool,
    suspend: bool,
    generation: int,
    outcomes: list[CreateOutcome | None],
    pods: list[tuple[dict[str, object], ...] | None],
    times: list[datetime],
) -> None:
    """Reconciliation settles after a few passes, whatever the actions show and the clock."""
    seen = build_cluster(state, finalizer=finalizer, deleted=deleted, generation=generation, suspend=suspend)
    for outcome, present, now in zip(outcomes, pods, times, strict=True):
        decision = decide(seen, outcome, now, has_master=False, pods=present)
        if decision.status:
            assert not deleted
            seen = seen.model_copy(update={"status": decision.status})
        for action in decision.actions:
            finalizers = [] if isinstance(action, RemoveFinalizer) else [CLUSTER_FINALIZER]
            seen = seen.model_copy(update={"metadata": {**seen.metadata, "finalizers": finalizers}})
    history = seen.status.state_transition_history if seen.status else {}
    assert len(history) <= 5
    last = decide(seen, Created(), times[-1], has_master=False, pods=())
    assert last.requeue_after is None or last.status is not None or suspend
