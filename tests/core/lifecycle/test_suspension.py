"""Suspension and resumption of applications, with the moves of the Apache operator 1.1.0."""

from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.lifecycle.decision import (
    ConfirmAbsence,
    CreateAttempt,
    DeletePod,
    ReadPods,
    Settings,
)
from airflow_provider_spark_operator.core.lifecycle.observation import (
    Absent,
    ApplicationPods,
    Created,
    Present,
    Unconfirmed,
)
from airflow_provider_spark_operator.core.lifecycle.transitions import move, sort_records
from airflow_provider_spark_operator.core.models.status import ApplicationStatus, AttemptInfo, StateRecord
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import RUNNING, STARTING, ApplicationState, SuspendReason
from tests.builders import (
    NOW,
    build_application_document,
    build_application_model,
    build_driver_pod,
    build_executors,
    build_pod,
    build_status,
    build_status_at,
    seconds,
)
from tests.core.harness import build_application_in_state, decide_once, get_entered_state
from tests.core.simulated_application import SimulatedApplication, simulate

S = ApplicationState
HOLD_INTERVAL = timedelta(seconds=1800)


def run_driver(story: str = "ready", **modifiers: Any) -> SimulatedApplication:
    """Return an application whose first driver is in the situation `story`."""
    return simulate(**modifiers).set_driver(story).run()


def get_status(simulated: SimulatedApplication) -> ApplicationStatus:
    assert simulated.application.status is not None
    return simulated.application.status


def observe_pods(*drivers: dict[str, Any], executors: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """Return the observation of a live read."""
    driver = Present(drivers[0]) if drivers else Absent()
    return {"driver": driver, "pods": ApplicationPods(drivers, executors, is_live=True)}


# --- held before the driver is requested ---


def test_suspended_application_does_not_start_until_resumed() -> None:
    simulated = simulate(suspend=True)
    assert (simulated.states, simulated.created, simulated.reasons[-1]) == (["Submitted"], [], reasons.SUSPEND_HELD)
    assert simulated.document is not None
    assert "status" not in simulated.document
    assert simulated.wake == NOW + HOLD_INTERVAL
    simulated.edit(suspend=False)
    assert simulated.run().states == ["Submitted", "DriverRequested"]


def test_application_is_held_only_after_live_read_shows_no_driver() -> None:
    resource = build_application_model(suspend=True)
    assert decide_once(resource).actions == (ConfirmAbsence(),)
    held = decide_once(resource, Absent())
    assert (held.reason, held.status, held.requeue_after) == (reasons.SUSPEND_HELD, None, HOLD_INTERVAL)


def test_driver_whose_request_was_not_recorded_is_started_before_it_is_suspended() -> None:
    simulated = SimulatedApplication(build_application_document())
    simulated.lose_writes = True
    simulated.run()
    simulated.lose_writes = False
    simulated.edit(suspend=True).run()
    assert (simulated.states, simulated.pods) == (["Submitted", "DriverRequested", "Suspended"], {})


def test_unsupported_spec_fails_although_application_is_suspended() -> None:
    decision = decide_once(build_application_model(suspend=True, deploymentMode="ClientMode"), Absent())
    assert get_entered_state(decision) is S.FAILED


def test_restart_is_held_and_its_backoff_continues_meanwhile() -> None:
    restart = {"restartPolicy": "Always", "restartBackoffMillis": 30_000}
    simulated = run_driver(restart=restart)
    simulated.set_driver("failed").run()
    assert simulated.state == "ScheduledToRestart"
    simulated.edit(suspend=True).run().advance(25)
    assert (simulated.state, simulated.created, simulated.reasons[-1]) == (
        "ScheduledToRestart",
        [0],
        reasons.SUSPEND_HELD,
    )
    simulated.edit(suspend=False).run()
    assert (simulated.reasons[-1], simulated.wake) == (reasons.RESTART_BACKOFF, NOW + seconds(30))
    assert simulated.advance(6).created == [0, 1]


# --- suspended while the driver is requested ---


@pytest.mark.parametrize("state", sorted(STARTING | RUNNING))
def test_application_with_driver_is_suspended_before_its_driver_is_deleted(state: ApplicationState) -> None:
    resource = build_application_in_state(state, suspend=True)
    assert decide_once(resource, Present(build_driver_pod("ready"))).actions == (ReadPods(),)
    decision = decide_once(resource, **observe_pods(build_driver_pod("ready")))
    assert (get_entered_state(decision), decision.actions, decision.requeue_after) == (S.SUSPENDED, (), seconds(0))
    assert decision.status is not None
    assert decision.status.current_state.suspend_reason is SuspendReason.SPEC_SUSPEND


@pytest.mark.parametrize(("story", "state"), [("succeeded", S.SUCCEEDED), ("failed", S.FAILED)])
@pytest.mark.parametrize("deletion", [None, NOW + seconds(90)])
def test_driver_that_has_ended_wins_over_suspension(story: str, state: ApplicationState, deletion: Any) -> None:
    driver = build_driver_pod(story, deletion=deletion)
    (container,) = driver["status"]["containerStatuses"]
    container["state"]["terminated"]["finishedAt"] = NOW.isoformat()
    resource = build_application_in_state(S.RUNNING_HEALTHY, suspend=True)
    assert get_entered_state(decide_once(resource, **observe_pods(driver))) is state


def test_driver_that_ended_because_it_was_deleted_is_suspended() -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, suspend=True)
    decision = decide_once(resource, **observe_pods(build_driver_pod("failed", deletion=NOW)))
    assert get_entered_state(decision) is S.SUSPENDED


def test_driver_that_does_not_exist_fails_although_application_is_suspended() -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, suspend=True)
    decision = decide_once(resource, **observe_pods())
    assert (get_entered_state(decision), decision.reason) == (S.FAILED, reasons.DRIVER_LOST)


def test_suspension_waits_for_the_last_state_of_a_driver_that_only_the_cache_holds() -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, suspend=True)
    decision = decide_once(resource, Unconfirmed(), pods=ApplicationPods(is_live=True))
    assert (decision.status, decision.actions, decision.reason) == (None, (), reasons.DRIVER_UNCONFIRMED)


def test_finished_driver_is_restarted_only_after_resumption() -> None:
    simulated = run_driver(restart={"restartPolicy": "Always", "restartBackoffMillis": 0})
    simulated.set_driver("succeeded")
    simulated.edit(suspend=True).run()
    assert (simulated.states[-2:], simulated.created) == (["Succeeded", "ScheduledToRestart"], [0])
    simulated.edit(suspend=False)
    assert simulated.run().created == [0, 1]


# --- release ---


def build_suspended(
    suspend: bool = True, cause: SuspendReason | None = SuspendReason.SPEC_SUSPEND, **modifiers: Any
) -> Any:
    """Return an application in Suspended."""
    status = move(build_status_at(S.RUNNING_HEALTHY), S.SUSPENDED, NOW, "Built by a test.", suspend_reason=cause)
    return build_application_model(status=status, suspend=suspend, **modifiers)


def test_driver_of_suspended_application_is_deleted_and_its_executors_follow() -> None:
    simulated = run_driver()
    simulated.executors = build_executors(2)
    simulated.stuck = True
    simulated.edit(suspend=True).run()
    assert (simulated.state, list(simulated.pods)) == ("Suspended", [0])
    simulated.remove_driver().run()
    assert simulated.reasons[-1] == reasons.RELEASING
    assert len(simulated.executors) == 2
    simulated.stuck = False
    simulated.run()
    assert (simulated.executors, simulated.reasons[-1], simulated.wake) == ([], reasons.SUSPENDED, NOW + HOLD_INTERVAL)


def test_every_driver_of_suspended_application_is_deleted() -> None:
    first, second = build_driver_pod(name="pi-0-driver"), build_driver_pod(name="pi-1-driver")
    decision = decide_once(build_suspended(), Present(first), pods=ApplicationPods((first, second)))
    assert decision.actions == tuple(
        DeletePod(f"pi-{number}-driver", f"uid-of-pi-{number}-driver") for number in (0, 1)
    )


def test_pods_are_released_only_after_live_read() -> None:
    assert decide_once(build_suspended(), Absent()).actions == (ReadPods(),)
    assert decide_once(build_suspended(), **observe_pods()).reason == reasons.SUSPENDED


@pytest.mark.parametrize(("after", "wait"), [(0, 120), (300, 30), (329, 1)])
def test_terminating_pods_are_awaited_until_their_deadline(after: float, wait: float) -> None:
    pods = [build_executors(1)[0], build_driver_pod("ready")]
    for pod in pods:
        pod["metadata"]["deletionTimestamp"] = (NOW + seconds(30)).isoformat()
    decision = decide_once(build_suspended(), after=after, **observe_pods(pods[1], executors=(pods[0],)))
    assert (decision.reason, decision.actions, decision.requeue_after) == (reasons.RELEASING, (), seconds(wait))


def test_driver_past_its_deadline_is_force_deleted_and_awaited() -> None:
    driver = build_driver_pod("ready", deletion=NOW)
    decision = decide_once(build_suspended(), after=300, **observe_pods(driver))
    assert decision.reason == reasons.RELEASE_FORCED
    assert decision.actions == (DeletePod("pi-0-driver", "uid-of-pi-0-driver", force=True),)


def test_executor_past_its_deadline_is_not_awaited() -> None:
    (executor,) = build_executors(1)
    executor["metadata"]["deletionTimestamp"] = NOW.isoformat()
    assert decide_once(build_suspended(), after=299, **observe_pods(executors=(executor,))).reason == reasons.RELEASING
    assert decide_once(build_suspended(), after=300, **observe_pods(executors=(executor,))).reason == reasons.SUSPENDED


def test_executor_that_is_not_being_deleted_is_awaited_without_limit() -> None:
    decision = decide_once(build_suspended(False), after=10**6, **observe_pods(executors=(build_pod(name="exec-1"),)))
    assert (decision.reason, decision.status) == (reasons.RELEASING, None)


def test_suspended_application_has_no_timeout_and_no_time_to_live() -> None:
    timeouts = {"driverStartTimeoutMillis": 1, "driverReadyTimeoutMillis": 1, "executorStartTimeoutMillis": 1}
    tolerations = {"ttlAfterStopMillis": 1, "resourceRetainDurationMillis": 1, "resourceRetainPolicy": "Always"}
    simulated = run_driver("started", tolerations=tolerations, timeouts=timeouts)
    simulated.edit(suspend=True).run()
    simulated.set_driver("failed")
    assert simulated.run().advance(10**6).state == "Suspended"


# --- resumption ---


@pytest.mark.parametrize("trim", [True, False])
@pytest.mark.parametrize("policy", ["Never", "Always"])
def test_suspended_application_resumes_in_new_attempt(trim: bool, policy: str) -> None:
    restart = {"restartPolicy": policy, "maxRestartAttempts": 0, "restartBackoffMillis": 10**6}
    simulated = simulate(settings=Settings(trim_state_transition_history=trim), restart=restart)
    simulated.set_driver("ready").run().edit(suspend=True)
    simulated.run()
    assert simulated.state == "Suspended"
    simulated.set_driver("failed").run()
    assert (simulated.state, simulated.pods) == ("Suspended", {})
    simulated.edit(suspend=False).run()
    assert (simulated.states[-3:], simulated.created) == (["Suspended", "Submitted", "DriverRequested"], [0, 1])
    assert get_status(simulated).current_attempt_summary.attempt_info == AttemptInfo(id=1)


def test_resumption_is_persisted_with_trimmed_history_and_keeps_restart_counters() -> None:
    info = AttemptInfo(id=4, restart_counter=3, failure_restart_counter=2, scheduling_failure_restart_counter=1)
    before = move(
        build_status(S.DRIVER_REQUESTED, attempt=info), S.SUSPENDED, NOW, "", suspend_reason=SuspendReason.SPEC_SUSPEND
    )
    decision = decide_once(build_application_model(status=before), **observe_pods())
    status = decision.status
    assert status is not None
    assert status.current_attempt_summary.attempt_info == AttemptInfo(
        id=5, restart_counter=3, failure_restart_counter=2, scheduling_failure_restart_counter=0
    )
    assert list(status.state_transition_history) == ["3"]
    assert status.previous_attempt_summary is not None
    past = sort_records(status.previous_attempt_summary.state_transition_history)
    assert [record.current_state_summary for record in past] == [S.SUBMITTED, S.DRIVER_REQUESTED, S.SUSPENDED]
    assert (decision.reason, decision.requeue_after) == (reasons.RESUMED, seconds(0))


def test_resumed_attempt_has_no_backoff() -> None:
    decision = decide_once(build_suspended(False), **observe_pods())
    again = build_application_model(status=decision.status, restart={"restartBackoffMillis": 10**6})
    assert decide_once(again).actions == (CreateAttempt(1),)
    assert get_entered_state(decide_once(again, create_outcome=Created())) is S.DRIVER_REQUESTED


def test_resumed_attempt_can_be_held_again() -> None:
    decision = decide_once(build_suspended(False), **observe_pods())
    held = decide_once(build_application_model(status=decision.status, suspend=True), Absent())
    assert (held.reason, held.status) == (reasons.SUSPEND_HELD, None)


@pytest.mark.parametrize("cause", [*SuspendReason, None])
def test_application_resumes_only_after_its_pods_are_released(cause: SuspendReason | None) -> None:
    driver = build_driver_pod("ready", deletion=NOW + seconds(30))
    assert decide_once(build_suspended(False, cause), **observe_pods(driver)).status is None
    resumed = decide_once(build_suspended(False, cause), **observe_pods())
    assert get_entered_state(resumed) is S.SUBMITTED
    assert ("queued again" in resumed.message) is (cause is SuspendReason.KUEUE_EVICTION)
    assert "attempt 2" in resumed.message


def test_spec_suspend_of_an_evicted_application_is_recorded_once() -> None:
    evicted = build_suspended(cause=SuspendReason.KUEUE_EVICTION)
    decision = decide_once(evicted, **observe_pods())
    assert decision.status is not None
    record = decision.status.current_state
    assert (record.current_state_summary, record.suspend_reason) == (S.SUSPENDED, SuspendReason.SPEC_SUSPEND)
    again = build_application_model(status=decision.status, suspend=True)
    assert decide_once(again, **observe_pods()).status is None
    assert decide_once(build_suspended(cause=None), **observe_pods()).status is None


def test_edit_while_suspended_takes_effect_in_next_attempt() -> None:
    simulated = simulate(builds=True)
    simulated.set_driver("ready").run().edit(suspend=True)
    simulated.run()
    simulated.set_driver("failed")
    simulated.edit(suspend=False, sparkConf={}).run()
    assert "SchedulingFailure" in simulated.states[-2:]


# --- deletion ---


@pytest.mark.parametrize("stuck", [False, True])
def test_deleted_suspended_application_releases_its_driver(stuck: bool) -> None:
    simulated = run_driver()
    simulated.stuck = stuck
    simulated.edit(suspend=True).run().delete()
    simulated.run()
    if not stuck:
        simulated.set_driver("failed")
    simulated.run().advance(400)
    assert (simulated.document, simulated.pods, simulated.forced) == (None, {}, [0] if stuck else [])


def test_deleted_held_application_is_removed() -> None:
    simulated = simulate(suspend=True)
    simulated.delete().run()
    assert (simulated.document, simulated.created) == (None, [])


def test_suspended_record_survives_a_round_trip() -> None:
    status = build_suspended().status
    assert status is not None
    document = status.to_document()
    assert document["currentState"]["suspendReason"] == "SpecSuspend"
    parsed = ApplicationStatus.model_validate(document)
    (*_, last) = sort_records(parsed.state_transition_history)
    assert isinstance(last, StateRecord)
    assert last.suspend_reason is SuspendReason.SPEC_SUSPEND
