"""The decisions about an application that stops or is deleted, and about the resources that remain."""

from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.lifecycle.decision import (
    Action,
    AddFinalizer,
    ConfirmAbsence,
    DeleteApplication,
    DeleteAttemptResources,
    DeleteDriver,
    RemoveFinalizer,
)
from airflow_provider_spark_operator.core.lifecycle.observation import Absent, Present, Unconfirmed
from airflow_provider_spark_operator.core.lifecycle.transitions import move, move_to_next_attempt
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import INITIALIZING, STOPPING, ApplicationState
from tests.builders import (
    NOW,
    build_application_document,
    build_application_model,
    build_driver_pod,
    build_executors,
    build_pod,
    build_status_at,
    seconds,
)
from tests.core.harness import build_application_in_state, decide_once, get_entered_state
from tests.core.simulated_application import SimulatedApplication, simulate

S = ApplicationState

# --- stopping: restart, retain, release ---


@pytest.mark.parametrize("state", sorted(STOPPING))
@pytest.mark.parametrize("word", ["Always", "OnFailure", "OnInfrastructureFailure", "Never"])
@pytest.mark.parametrize("retain", ["Always", "OnFailure", "Never"])
def test_stopped_application_follows_restart_and_retain_policies(
    state: ApplicationState, word: str, retain: str
) -> None:
    restarts = {
        "Always": True,
        "OnFailure": state is not S.SUCCEEDED,
        "OnInfrastructureFailure": state
        in (S.DRIVER_START_TIMED_OUT, S.EXECUTORS_START_TIMED_OUT, S.SCHEDULING_FAILURE),
        "Never": False,
    }[word]
    has_ended = state not in (S.DRIVER_START_TIMED_OUT, S.DRIVER_READY_TIMED_OUT, S.EXECUTORS_START_TIMED_OUT)
    keeps = has_ended and {"Always": True, "OnFailure": state is not S.SUCCEEDED, "Never": False}[retain]
    resource = build_application_in_state(
        state, restart={"restartPolicy": word}, tolerations={"resourceRetainPolicy": retain}
    )
    if restarts:
        expected = S.SCHEDULED_TO_RESTART
    else:
        expected = S.TERMINATED_WITHOUT_RELEASE_RESOURCES if keeps else S.RESOURCE_RELEASED
    decision = decide_once(resource, Absent())
    assert get_entered_state(decision) is expected
    if not restarts:
        other = "No driver was created. Other resources of the application"
        kept = other if state is S.SCHEDULING_FAILURE else "The driver and its resources"
        assert (decision.reason, decision.message) == (
            (reasons.RESOURCES_RETAINED, f"{kept} are retained.")
            if keeps
            else (reasons.RESOURCES_RELEASED, "All resources are released.")
        )


@pytest.mark.parametrize("policy", ["Always", "Never"])
def test_stopped_application_waits_until_driver_is_deleted(policy: str) -> None:
    resource = build_application_in_state(S.FAILED, restart={"restartPolicy": policy})
    for driver in (
        Unconfirmed(),
        Present(build_driver_pod("failed")),
        Present(build_driver_pod("failed", deletion=NOW)),
    ):
        decision = decide_once(resource, driver)
        assert decision.status is None
        assert decision.requeue_after


def test_retained_driver_is_not_deleted() -> None:
    resource = build_application_in_state(S.FAILED, tolerations={"resourceRetainPolicy": "OnFailure"})
    decision = decide_once(resource, Present(build_driver_pod("failed")))
    assert decision.actions == ()
    assert get_entered_state(decision) is S.TERMINATED_WITHOUT_RELEASE_RESOURCES


@pytest.mark.parametrize("state", [S.DRIVER_START_TIMED_OUT, S.DRIVER_READY_TIMED_OUT, S.EXECUTORS_START_TIMED_OUT])
def test_driver_that_could_still_run_is_not_retained(state: ApplicationState) -> None:
    resource = build_application_in_state(state, tolerations={"resourceRetainPolicy": "Always"})
    decision = decide_once(resource, Present(build_driver_pod("pending")))
    assert get_entered_state(decision) is None
    assert any(isinstance(action, DeleteDriver | DeleteAttemptResources) for action in decision.actions)


@pytest.mark.parametrize(
    ("after", "executors", "is_reported", "requeue"),
    [
        pytest.param(59, build_executors(2), False, 1, id="within a minute"),
        pytest.param(61, build_executors(2), True, 239, id="after a minute"),
        pytest.param(61, [], False, 239, id="no executors"),
        pytest.param(61, [build_pod("Succeeded", name="exec-0")], False, 239, id="ended executor"),
    ],
)
def test_executors_that_outlive_a_retained_driver_are_reported(
    after: int, executors: list[dict[str, Any]], is_reported: bool, requeue: int
) -> None:
    tolerations = {"resourceRetainPolicy": "Always", "resourceRetainDurationMillis": 300_000}
    resource = build_application_in_state(S.TERMINATED_WITHOUT_RELEASE_RESOURCES, tolerations=tolerations)
    decision = decide_once(resource, Present(build_driver_pod("failed")), executors=executors, after=after)
    assert decision.reason == (reasons.EXECUTORS_REMAIN if is_reported else reasons.NOTHING_DUE)
    assert decision.requeue_after is not None
    assert round(decision.requeue_after.total_seconds()) == requeue
    assert decision.actions == ()


def test_last_driver_is_retained_when_restart_limit_is_reached() -> None:
    simulated = simulate(
        tolerations={"resourceRetainPolicy": "Always"},
        restart={"restartPolicy": "OnFailure", "maxRestartAttempts": 1, "restartBackoffMillis": 0},
    )
    for _ in range(2):
        simulated.set_driver("failed").run()
    assert simulated.state == "TerminatedWithoutReleaseResources"
    assert simulated.created == [0, 1]
    assert list(simulated.pods) == [1]


def test_restart_message_counts_attempts_from_one_and_names_the_limit() -> None:
    simulated = simulate(restart={"restartPolicy": "OnFailure", "maxRestartAttempts": 2})
    assert simulated.created == [0]
    simulated.set_driver("failed").run()
    assert simulated.application.status is not None
    message = simulated.application.status.current_state.message
    assert message == "Attempt 1 ended in Failed; attempt 2 follows (restart 1 of up to 2)."


def test_reached_restart_limit_is_reported() -> None:
    simulated = simulate(restart={"restartPolicy": "Always", "maxRestartAttempts": 0}).set_driver("succeeded").run()
    assert simulated.states[-2:] == ["Succeeded", "ResourceReleased"]
    assert reasons.RESTART_LIMIT_EXCEEDED in simulated.reasons
    assert simulated.application.status is not None
    assert "restart attempts (0)" in (simulated.application.status.current_state.message or "")


@pytest.mark.parametrize(
    ("state", "limit", "message"),
    [
        (S.FAILED, "maxRestartOnFailure", "restarts on failure (0)"),
        (S.SCHEDULING_FAILURE, "maxRestartOnSchedulingFailure", "restarts on scheduling failure (0)"),
    ],
)
def test_limit_of_the_state_prevents_the_restart(state: ApplicationState, limit: str, message: str) -> None:
    resource = build_application_in_state(state, restart={"restartPolicy": "Always", limit: 0})
    decision = decide_once(resource, Absent())
    assert get_entered_state(decision) is S.RESOURCE_RELEASED
    assert decision.reason == reasons.RESTART_LIMIT_EXCEEDED
    assert decision.message == f"The maximum number of {message} has been exceeded. All resources are released."


@pytest.mark.parametrize(("retain", "states"), [("Never", []), ("Always", ["TerminatedWithoutReleaseResources"])])
def test_scheduling_failure_deletes_attempt_resources(retain: str, states: list[str]) -> None:
    tolerations = {"resourceRetainPolicy": retain, "resourceRetainDurationMillis": 1}
    simulated = SimulatedApplication(build_application_document(tolerations=tolerations))
    simulated.refusal = "no such image"
    simulated.run().advance(1)
    assert simulated.states == ["Submitted", "SchedulingFailure", *states, "ResourceReleased"]
    assert simulated.cleaned == [0]


def test_restart_after_scheduling_failure_deletes_attempt_resources() -> None:
    simulated = SimulatedApplication(build_application_document(restart={"restartPolicy": "Always"}))
    simulated.refusal = "no such image"
    simulated.run()
    assert (simulated.state, simulated.cleaned) == ("ScheduledToRestart", [0])


def test_scheduling_failure_waits_until_driver_is_deleted() -> None:
    decision = decide_once(build_application_in_state(S.SCHEDULING_FAILURE), Present(build_driver_pod("ready")))
    assert decision.actions == (DeleteAttemptResources(0), DeleteDriver(0))
    assert decision.status is None


# --- terminated ---


def test_retained_driver_is_deleted_after_time_to_live() -> None:
    simulated = simulate(tolerations={"resourceRetainPolicy": "Always", "ttlAfterStopMillis": 60_000})
    simulated.set_driver("succeeded").run().advance(60)
    assert simulated.state == "TerminatedWithoutReleaseResources"
    simulated.advance(1)
    assert "ResourceReleased" in simulated.states
    assert reasons.RETENTION_OVER in simulated.reasons
    assert not simulated.pods


def test_driver_without_retain_duration_is_kept_until_application_deletion() -> None:
    simulated = simulate(tolerations={"resourceRetainPolicy": "Always"}).set_driver("failed").run()
    assert simulated.wake is None
    simulated.delete()
    assert simulated.run().document is None
    assert not simulated.pods


def test_application_is_deleted_after_time_to_live() -> None:
    resource = build_application_in_state(S.RESOURCE_RELEASED, tolerations={"ttlAfterStopMillis": 3_000})
    waiting, expired = decide_once(resource, after=3), decide_once(resource, after=4)
    assert (waiting.reason, waiting.requeue_after) == (reasons.NOTHING_DUE, timedelta.resolution)
    assert (expired.reason, expired.actions) == (reasons.TIME_TO_LIVE_OVER, (DeleteApplication(),))
    assert "spec.applicationTolerations.ttlAfterStopMillis" in expired.message


def test_time_to_live_starts_when_application_stops() -> None:
    status = move(build_status_at(S.FAILED), S.RESOURCE_RELEASED, NOW + seconds(100), "")
    resource = build_application_model(status=status, tolerations={"ttlAfterStopMillis": 60_000})
    assert decide_once(resource, after=101).actions == (DeleteApplication(),)


def test_requeue_delay_is_at_most_one_day() -> None:
    resource = build_application_in_state(S.RESOURCE_RELEASED, tolerations={"ttlAfterStopMillis": 10**12})
    assert decide_once(resource).requeue_after == timedelta(days=1)


def test_application_without_time_to_live_is_not_deleted() -> None:
    decision = decide_once(build_application_in_state(S.RESOURCE_RELEASED), after=1e9)
    assert decision.reason == reasons.NOTHING_DUE
    assert (decision.actions, decision.status, decision.requeue_after) == ((), None, None)


# --- finalizer and deletion ---


@pytest.mark.parametrize("state", sorted(set(ApplicationState) - {S.RESOURCE_RELEASED}))
def test_missing_finalizer_is_added_first(state: ApplicationState) -> None:
    decision = decide_once(build_application_in_state(state, finalizer=False), Absent())
    assert (decision.reason, decision.actions) == (reasons.FINALIZER_MISSING, (AddFinalizer(),))
    assert (decision.status, decision.requeue_after) == (None, timedelta(0))


def test_released_application_gets_no_finalizer() -> None:
    assert decide_once(build_application_in_state(S.RESOURCE_RELEASED, finalizer=False)).actions == ()


@pytest.mark.parametrize(
    ("last", "actions"),
    [
        pytest.param(build_driver_pod("succeeded", deletion=NOW), (), id="it had ended and was being deleted"),
        pytest.param(build_driver_pod("succeeded"), (ConfirmAbsence(),), id="its label may have been changed"),
        pytest.param(build_driver_pod("ready", deletion=NOW), (ConfirmAbsence(),), id="it may still terminate"),
    ],
)
def test_deletion_of_a_driver_is_confirmed_unless_it_had_ended_before(
    last: dict[str, Any], actions: tuple[Action, ...]
) -> None:
    decision = decide_once(build_application_in_state(S.SUCCEEDED), Unconfirmed(), last_driver=last)
    assert decision.actions == actions
    assert (get_entered_state(decision) is S.RESOURCE_RELEASED) is (actions == ())


@pytest.mark.parametrize("state", sorted(set(ApplicationState) - {S.RESOURCE_RELEASED}))
@pytest.mark.parametrize(
    ("driver", "actions"),
    [
        pytest.param(Unconfirmed(), (ConfirmAbsence(),), id="driver not in cache"),
        pytest.param(Present(build_driver_pod("ready")), (DeleteDriver(0),), id="running driver"),
        pytest.param(Present(build_driver_pod("ready", deletion=NOW)), (), id="terminating driver"),
        pytest.param(Absent(), (), id="no driver"),
    ],
)
def test_deleted_application_releases_driver_in_every_state(
    state: ApplicationState, driver: Absent | Present | Unconfirmed, actions: tuple[Action, ...]
) -> None:
    decision = decide_once(build_application_in_state(state, deleted=True), driver)
    if state in INITIALIZING | {S.SCHEDULING_FAILURE} and DeleteDriver(0) in actions:
        actions = (DeleteAttemptResources(0), DeleteDriver(0))
    if isinstance(driver, Absent):
        assert get_entered_state(decision) is S.RESOURCE_RELEASED
        assert (decision.reason, decision.requeue_after) == (reasons.APPLICATION_DELETED, timedelta(0))
        assert decision.message == "The application was deleted; its resources are released."
    else:
        assert decision.actions == actions
        assert decision.status is None


def test_deleted_released_application_loses_finalizer() -> None:
    decision = decide_once(build_application_in_state(S.RESOURCE_RELEASED, deleted=True))
    assert (decision.reason, decision.actions) == (reasons.APPLICATION_DELETED, (RemoveFinalizer(),))


@pytest.mark.parametrize("state", [S.RUNNING_HEALTHY, S.RESOURCE_RELEASED])
def test_deleted_application_without_finalizer_is_ignored(state: ApplicationState) -> None:
    decision = decide_once(build_application_in_state(state, deleted=True, finalizer=False))
    assert decision.reason == reasons.APPLICATION_DELETED
    assert (decision.actions, decision.status, decision.requeue_after) == ((), None, None)


@pytest.mark.parametrize("state", [S.SUBMITTED, S.SCHEDULED_TO_RESTART, S.SCHEDULING_FAILURE])
def test_deletion_cleans_up_interrupted_creation(state: ApplicationState) -> None:
    status = build_status_at(S.SUBMITTED) if state in INITIALIZING else build_status_at(state)
    if state is S.SCHEDULED_TO_RESTART:
        status = move_to_next_attempt(build_status_at(S.FAILED), AttemptInfo(id=1), NOW, "", trim=True)
    number = status.current_attempt_summary.attempt_info.id
    decision = decide_once(build_application_model(status=status, deleted=True), Absent())
    assert decision.actions == (DeleteAttemptResources(number),)
    assert get_entered_state(decision) is S.RESOURCE_RELEASED


# --- force deletion ---


@pytest.mark.parametrize(
    ("after", "actions"),
    [(0, ()), (329, ()), (330, (DeleteDriver(0, force=True),))],
    ids=["deletion just began", "within the grace period", "grace period expired"],
)
def test_driver_is_force_deleted_after_grace_period(after: int, actions: tuple[Action, ...]) -> None:
    # The deletion began at NOW: deletionTimestamp is the end of the pod's own grace period of 30 s.
    driver = Present(build_driver_pod("ready", deletion=NOW + seconds(30)))
    long_ago = build_status_at(S.RUNNING_HEALTHY, since=NOW - timedelta(days=3))
    resource = build_application_model(
        status=long_ago, deleted=True, timeouts={"forceTerminationGracePeriodMillis": 330_000}
    )
    assert decide_once(resource, driver, after=after).actions == actions


def test_terminating_driver_requeues_at_end_of_grace_period() -> None:
    # An event reports when the pod is removed, so only the end of the grace period needs a timer.
    driver = Present(build_driver_pod("ready", deletion=NOW + seconds(30)))
    resource = build_application_in_state(S.FAILED, timeouts={"forceTerminationGracePeriodMillis": 330_000})
    assert decide_once(resource, driver, after=100).requeue_after == seconds(230)


def test_long_running_driver_is_deleted_gracefully() -> None:
    long_ago = build_status_at(S.RUNNING_HEALTHY, since=NOW - timedelta(days=3))
    decision = decide_once(build_application_model(status=long_ago, deleted=True), Present(build_driver_pod("ready")))
    assert decision.actions == (DeleteDriver(0, force=False),)


@pytest.mark.parametrize(("millis", "again"), [(-1, 1), (0, 1), (999, 1), (1_001, 1.001), (5_000, 5)])
def test_driver_deletion_requeues_after_period_of_at_least_one_second(millis: int, again: float) -> None:
    resource = build_application_in_state(S.FAILED, timeouts={"terminationRequeuePeriodMillis": millis})
    assert decide_once(resource, Present(build_driver_pod("ready"))).requeue_after == seconds(again)
