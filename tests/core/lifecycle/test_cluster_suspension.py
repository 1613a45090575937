from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import KubernetesObject
from airflow_provider_spark_operator.core.lifecycle.cluster_decision import (
    ApplyCluster,
    ClusterDecision,
    DeleteScaling,
    FindMaster,
    StopCluster,
    move_cluster,
    resume_cluster,
)
from airflow_provider_spark_operator.core.lifecycle.observation import Created, Refused
from airflow_provider_spark_operator.core.models.cluster import ClusterState, ClusterStatus
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import SuspendReason
from tests.core.cluster_builders import (
    NOW,
    SETTINGS,
    build_cluster,
    build_pod,
    build_status,
    decide,
    get_current,
    get_state,
    get_status,
    list_states,
    minutes,
)

State = ClusterState
HOLD = SETTINGS.suspend_hold_requeue_interval
AT_ONCE = timedelta(0)


def build_resumed_status(*, trim: bool) -> ClusterStatus:
    return resume_cluster(build_status(State.SUSPENDED), NOW, "Resumed.", reasons.RESUMED, trim=trim)


# --- before the start ---


@pytest.mark.parametrize("state", [None, State.SUBMITTED])
def test_master_of_a_suspended_new_cluster_is_looked_for(state: ClusterState | None) -> None:
    decision = decide(build_cluster(state, suspend=True))
    assert (decision.actions, decision.status) == ((FindMaster(),), None)


@pytest.mark.parametrize("state", [None, State.SUBMITTED])
def test_suspended_new_cluster_without_master_is_held_without_a_status(state: ClusterState | None) -> None:
    decision = decide(build_cluster(state, suspend=True), has_master=False)
    assert decision == ClusterDecision(reasons.SUSPEND_HELD, decision.message, requeue_after=HOLD)


def test_next_decision_about_a_cluster_is_at_most_a_day_away() -> None:
    settings = replace(SETTINGS, suspend_hold_requeue_interval=timedelta(days=400))
    decision = decide(build_cluster(suspend=True), has_master=False, settings=settings)
    assert decision.requeue_after == timedelta(days=1)


def test_creation_that_has_begun_is_completed_although_the_cluster_is_suspended() -> None:
    cluster = build_cluster(suspend=True)
    assert decide(cluster, has_master=True).actions == (ApplyCluster(),)
    assert get_state(decide(cluster, Created(), has_master=True)) is State.RUNNING_HEALTHY


def test_unbuildable_cluster_is_held_before_it_fails() -> None:
    decision = decide(build_cluster(suspend=True), Refused("no"), has_master=False)
    assert decision.reason == reasons.SUSPEND_HELD


@pytest.mark.parametrize("trim", [True, False])
def test_resumed_cluster_that_is_suspended_again_enters_suspended(trim: bool) -> None:
    decision = decide(build_cluster(status=build_resumed_status(trim=trim), suspend=True))
    assert get_state(decision) is State.SUSPENDED
    assert get_current(decision).suspend_reason is SuspendReason.SPEC_SUSPEND
    assert decision.actions == ()


# --- while it runs ---


def test_suspended_running_cluster_enters_suspended_before_anything_is_deleted() -> None:
    decision = decide(build_cluster(State.RUNNING_HEALTHY, suspend=True))
    assert get_state(decision) is State.SUSPENDED
    assert get_current(decision).suspend_reason is SuspendReason.SPEC_SUSPEND
    assert (decision.actions, decision.requeue_after) == ((), AT_ONCE)
    assert get_status(decision).to_document()["currentState"]["suspendReason"] == "SpecSuspend"


@pytest.mark.parametrize("suspend", [True, False])
def test_stateful_sets_of_a_suspended_cluster_are_deleted_with_any_spec(suspend: bool) -> None:
    decision = decide(build_cluster(State.SUSPENDED, suspend=suspend))
    assert (decision.actions, decision.status) == ((StopCluster(),), None)


@pytest.mark.parametrize("suspend", [True, False])
@pytest.mark.parametrize(
    "pods",
    [
        (build_pod(),),
        (build_pod(deleted=NOW + minutes(1)),),
        (build_pod(deleted=NOW - minutes(4.95)), build_pod("cl-worker-0", deleted=NOW - minutes(9))),
        (build_pod("cl-worker-1"), build_pod(deleted=NOW - minutes(9))),
    ],
    ids=["not deleted yet", "terminating", "one almost stuck", "one not deleted yet"],
)
def test_suspended_cluster_waits_for_its_pods(pods: tuple[KubernetesObject, ...], suspend: bool) -> None:
    decision = decide(build_cluster(State.SUSPENDED, suspend=suspend), pods=pods)
    assert (decision.reason, decision.actions, decision.status) == (reasons.RELEASING, (), None)
    assert decision.requeue_after == timedelta(seconds=1)


@pytest.mark.parametrize(
    ("state", "reason"),
    [(State.SUSPENDED, reasons.SUSPEND_RELEASE_FAILED), (State.SCHEDULING_FAILURE, reasons.CLUSTER_RELEASE_FAILED)],
)
def test_pods_that_are_not_being_deleted_are_named_after_five_minutes(state: State, reason: str) -> None:
    pods = (build_pod("cl-worker-0", deleted=NOW + minutes(4)), build_pod("notebook"), build_pod("helper"))
    early = decide(build_cluster(state), now=NOW + minutes(4.9), pods=pods)
    assert early.reason == reasons.RELEASING
    late = decide(build_cluster(state), now=NOW + minutes(5), pods=pods)
    assert (late.reason, late.actions, late.status) == (reason, (), None)
    assert "not being deleted: helper, notebook." in late.message
    assert late.requeue_after == timedelta(seconds=15)
    assert decide(build_cluster(state), now=NOW + minutes(5), pods=pods[:1]).reason == reasons.RELEASING


@pytest.mark.parametrize(
    ("elapsed", "deleted", "wait"),
    [(0, 0, 1), (4, 0, 4), (60, 30, 15), (301, 4, 3), (-60, 0, 1)],
    ids=["at once", "after seconds", "after a minute", "before the pod counts as stuck", "clock set back"],
)
def test_interval_between_two_looks_at_the_pods_grows(elapsed: int, deleted: int, wait: int) -> None:
    """`deleted` is the deletion time of the pod, in seconds after the start of the suspension."""
    pod = build_pod(deleted=NOW + timedelta(seconds=deleted))
    decision = decide(build_cluster(State.SUSPENDED), now=NOW + timedelta(seconds=elapsed), pods=(pod,))
    assert decision.requeue_after == timedelta(seconds=wait)


def test_suspended_cluster_without_pods_waits_for_the_user() -> None:
    decision = decide(build_cluster(State.SUSPENDED, suspend=True), pods=())
    assert (decision.reason, decision.actions, decision.status) == (reasons.SUSPENDED, (DeleteScaling(),), None)
    assert decision.requeue_after == HOLD


@pytest.mark.parametrize("suspend", [True, False])
def test_stuck_pods_are_named_once_and_keep_the_cluster_suspended(suspend: bool) -> None:
    stuck = tuple(build_pod(f"cl-worker-{number}", deleted=NOW - minutes(5)) for number in (1, 0))
    status = build_status(State.SUSPENDED, cause=SuspendReason.KUEUE_EVICTION if not suspend else None)
    first = decide(build_cluster(status=status, suspend=suspend), pods=stuck)
    assert get_state(first) is State.SUSPENDED
    assert "did not terminate: cl-worker-0, cl-worker-1." in (get_current(first).message or "")
    cause = SuspendReason.SPEC_SUSPEND if suspend else SuspendReason.KUEUE_EVICTION
    assert get_current(first).suspend_reason is cause
    assert first.actions == (DeleteScaling(),)
    reported = build_cluster(status=get_status(first), suspend=suspend)
    second = decide(reported, pods=stuck)
    assert (second.reason, second.status, second.actions) == (reasons.SUSPENDED, None, (DeleteScaling(),))
    assert second.requeue_after == SETTINGS.reconcile_interval
    third = decide(reported, pods=stuck[:1])
    assert "did not terminate: cl-worker-1." in (get_current(third).message or "")


def test_message_about_many_stuck_pods_names_ten() -> None:
    stuck = tuple(build_pod(f"cl-worker-{number}", deleted=NOW - minutes(5)) for number in range(12))
    message = get_current(decide(build_cluster(State.SUSPENDED), pods=stuck)).message or ""
    assert message.count("cl-worker-") == 10
    assert "and 2 more" in message


# --- resume ---


def test_resumed_cluster_is_submitted_with_a_new_history() -> None:
    decision = decide(build_cluster(State.SUSPENDED), pods=())
    status = get_status(decision)
    assert list_states(status) == ["3 Submitted"]
    assert (status.current_state.reason, status.current_state.suspend_reason) == (reasons.RESUMED, None)
    assert (decision.actions, decision.requeue_after) == ((DeleteScaling(),), AT_ONCE)
    assert status.previous_attempt_summary is None
    assert status.current_attempt_summary.attempt_info.id == 0


def test_resumed_cluster_keeps_its_history_without_trimming() -> None:
    settings = replace(SETTINGS, trim_state_transition_history=False)
    decision = decide(build_cluster(State.SUSPENDED), pods=(), settings=settings)
    assert list_states(get_status(decision)) == ["0 Submitted", "1 RunningHealthy", "2 Suspended", "3 Submitted"]


@pytest.mark.parametrize("trim", [True, False])
def test_resumed_cluster_is_applied_from_the_current_spec(trim: bool) -> None:
    cluster = build_cluster(status=build_resumed_status(trim=trim), generation=3)
    assert decide(cluster).actions == (ApplyCluster(),)
    running = get_status(decide(cluster, Created()))
    assert (running.current_state.current_state_summary, running.observed_generation) == (State.RUNNING_HEALTHY, 3)
    assert decide(build_cluster(status=running, generation=3)).reason == reasons.NOTHING_DUE


# --- eviction ---


def test_evicted_cluster_that_is_suspended_gets_the_cause_spec_suspend() -> None:
    status = build_status(State.SUSPENDED, cause=SuspendReason.KUEUE_EVICTION)
    decision = decide(build_cluster(status=status, suspend=True))
    assert get_state(decision) is State.SUSPENDED
    assert get_current(decision).suspend_reason is SuspendReason.SPEC_SUSPEND
    again = decide(build_cluster(status=get_status(decision), suspend=True))
    assert (again.actions, again.status) == ((StopCluster(),), None)


def test_second_suspension_continues_the_trimmed_history() -> None:
    status = build_resumed_status(trim=True)
    for state in (State.RUNNING_HEALTHY, State.SUSPENDED):
        status = move_cluster(status, state, NOW, "")
    resumed = get_status(decide(build_cluster(status=status), pods=()))
    assert list_states(resumed) == ["6 Submitted"]
