"""How an application ends: by its driver, by deletion, and what is left of it."""

from datetime import timedelta

import pytest

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.decision import (
    Action,
    AddFinalizer,
    ConfirmAbsence,
    DeleteApplication,
    DeleteAttemptResources,
    DeleteDriver,
    RemoveFinalizer,
)
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.observation import Absent, Present, Unconfirmed
from airflow_provider_spark_operator.core.states import (
    INITIALIZING,
    STOPPING,
    ApplicationState,
)
from airflow_provider_spark_operator.core.transitions import move, move_to_next_attempt
from tests.builders import (
    NOW,
    application,
    application_document,
    driver_pod,
    seconds,
    status_at,
)
from tests.core.harness import build_application_in_state, decide_once, get_entered_state
from tests.core.scene import Scene

S = ApplicationState

# --- stopping: restart, retain, release ---


@pytest.mark.parametrize("state", sorted(STOPPING))
@pytest.mark.parametrize("word", ["Always", "OnFailure", "OnInfrastructureFailure", "Never"])
@pytest.mark.parametrize("retain", ["Always", "OnFailure", "Never"])
def test_a_stopped_application_restarts_or_stays_or_goes(state: ApplicationState, word: str, retain: str) -> None:
    restarts = {
        "Always": True,
        "OnFailure": state is not S.SUCCEEDED,
        "OnInfrastructureFailure": state
        in (S.DRIVER_START_TIMED_OUT, S.EXECUTORS_START_TIMED_OUT, S.SCHEDULING_FAILURE),
        "Never": False,
    }[word]
    keeps = {"Always": True, "OnFailure": state is not S.SUCCEEDED, "Never": False}[retain]
    resource = build_application_in_state(
        state, restart={"restartPolicy": word}, tolerations={"resourceRetainPolicy": retain}
    )
    if restarts:
        expected = S.SCHEDULED_TO_RESTART
    else:
        expected = S.TERMINATED_WITHOUT_RELEASE_RESOURCES if keeps else S.RESOURCE_RELEASED
    assert get_entered_state(decide_once(resource, Absent())) is expected


@pytest.mark.parametrize("policy", ["Always", "Never"])
def test_nothing_follows_until_the_driver_is_gone(policy: str) -> None:
    resource = build_application_in_state(S.FAILED, restart={"restartPolicy": policy})
    for driver in (Unconfirmed(), Present(driver_pod("failed")), Present(driver_pod("failed", deletion=NOW))):
        decision = decide_once(resource, driver)
        assert decision.status is None
        assert decision.requeue_after


def test_a_kept_driver_is_not_touched() -> None:
    resource = build_application_in_state(S.FAILED, tolerations={"resourceRetainPolicy": "OnFailure"})
    decision = decide_once(resource, Present(driver_pod("failed")))
    assert decision.actions == ()
    assert get_entered_state(decision) is S.TERMINATED_WITHOUT_RELEASE_RESOURCES


def test_a_driver_is_kept_although_restarts_were_configured_when_none_follows() -> None:
    scene = Scene(
        application_document(
            tolerations={"resourceRetainPolicy": "Always"},
            restart={"restartPolicy": "OnFailure", "maxRestartAttempts": 1, "restartBackoffMillis": 0},
        )
    ).run()
    for _ in range(2):
        scene.set_driver("failed")
        scene.run()
    assert scene.state == "TerminatedWithoutReleaseResources"
    assert scene.created == [0, 1]
    assert list(scene.pods) == [1]


def test_a_limit_that_is_reached_is_said() -> None:
    scene = Scene(application_document(restart={"restartPolicy": "Always", "maxRestartAttempts": 0})).run()
    scene.set_driver("succeeded")
    scene.run()
    assert scene.states[-2:] == ["Succeeded", "ResourceReleased"]
    assert reasons.RESTART_LIMIT_EXCEEDED in scene.reasons
    assert scene.application.status is not None
    assert "restart attempts (0)" in (scene.application.status.current_state.message or "")


def test_a_scheduling_failure_leaves_nothing_behind() -> None:
    scene = Scene(application_document())
    scene.refusal = "no such image"
    scene.run()
    assert scene.states == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert scene.cleaned == [0]


def test_a_scheduling_failure_leaves_nothing_behind_when_it_is_restarted() -> None:
    scene = Scene(application_document(restart={"restartPolicy": "Always"}))
    scene.refusal = "no such image"
    scene.run()
    assert (scene.state, scene.cleaned) == ("ScheduledToRestart", [0])


def test_a_scheduling_failure_with_a_driver_waits_until_that_is_gone() -> None:
    decision = decide_once(build_application_in_state(S.SCHEDULING_FAILURE), Present(driver_pod("ready")))
    assert decision.actions == (DeleteAttemptResources(0), DeleteDriver(0))
    assert decision.status is None


# --- terminated ---


def test_a_kept_driver_stays_for_as_long_as_it_may() -> None:
    scene = Scene(application_document(tolerations={"resourceRetainPolicy": "Always", "ttlAfterStopMillis": 60_000}))
    scene.run()
    scene.set_driver("succeeded")
    scene.run().advance(60)
    assert scene.state == "TerminatedWithoutReleaseResources"
    scene.advance(1)
    assert "ResourceReleased" in scene.states
    assert not scene.pods


def test_without_a_duration_a_driver_is_kept_until_the_application_is_deleted() -> None:
    scene = Scene(application_document(tolerations={"resourceRetainPolicy": "Always"})).run()
    scene.set_driver("failed")
    scene.run()
    assert scene.wake is None
    scene.delete()
    assert scene.run().document is None
    assert not scene.pods


def test_an_application_is_deleted_a_time_to_live_after_its_stop() -> None:
    resource = build_application_in_state(S.RESOURCE_RELEASED, tolerations={"ttlAfterStopMillis": 3_000})
    assert decide_once(resource, after=3).requeue_after == timedelta.resolution
    assert decide_once(resource, after=4).actions == (DeleteApplication(),)


def test_the_time_to_live_counts_from_the_stop_not_from_the_release() -> None:
    status = move(status_at(S.FAILED), S.RESOURCE_RELEASED, NOW + seconds(100), "")
    resource = application(status=status, tolerations={"ttlAfterStopMillis": 60_000})
    assert decide_once(resource, after=101).actions == (DeleteApplication(),)


def test_a_long_wait_is_cut_to_one_that_fits_every_timer() -> None:
    resource = build_application_in_state(S.RESOURCE_RELEASED, tolerations={"ttlAfterStopMillis": 10**12})
    assert decide_once(resource).requeue_after == timedelta(days=1)


def test_without_a_time_to_live_an_application_stays() -> None:
    decision = decide_once(build_application_in_state(S.RESOURCE_RELEASED), after=1e9)
    assert (decision.actions, decision.status, decision.requeue_after) == ((), None, None)


# --- finalizer and deletion ---


@pytest.mark.parametrize("state", sorted(set(ApplicationState) - {S.RESOURCE_RELEASED}))
def test_without_the_finalizer_nothing_but_adding_it_happens(state: ApplicationState) -> None:
    decision = decide_once(build_application_in_state(state, finalizer=False), Absent())
    assert decision.actions == (AddFinalizer(),)
    assert decision.status is None


def test_a_released_application_needs_no_finalizer() -> None:
    assert decide_once(build_application_in_state(S.RESOURCE_RELEASED, finalizer=False)).actions == ()


@pytest.mark.parametrize("state", sorted(set(ApplicationState) - {S.RESOURCE_RELEASED}))
@pytest.mark.parametrize(
    ("driver", "actions"),
    [
        pytest.param(Unconfirmed(), (ConfirmAbsence(),), id="a driver that is not in the cache is looked for"),
        pytest.param(Present(driver_pod("ready")), (DeleteDriver(0),), id="a driver is deleted with grace"),
        pytest.param(Present(driver_pod("ready", deletion=NOW)), (), id="a terminating driver is waited for"),
        pytest.param(Absent(), (), id="without a driver the resources are released"),
    ],
)
def test_deletion_from_every_state(
    state: ApplicationState, driver: Absent | Present | Unconfirmed, actions: tuple[Action, ...]
) -> None:
    decision = decide_once(build_application_in_state(state, deleted=True), driver)
    if state in INITIALIZING | {S.SCHEDULING_FAILURE} and DeleteDriver(0) in actions:
        actions = (DeleteAttemptResources(0), DeleteDriver(0))
    if isinstance(driver, Absent):
        assert get_entered_state(decision) is S.RESOURCE_RELEASED
        assert decision.requeue_after == timedelta(0)
    else:
        assert decision.actions == actions
        assert decision.status is None


def test_a_deleted_application_goes_once_its_resources_are_released() -> None:
    assert decide_once(build_application_in_state(S.RESOURCE_RELEASED, deleted=True)).actions == (RemoveFinalizer(),)


def test_a_deleted_application_without_our_finalizer_is_left_to_others() -> None:
    decision = decide_once(build_application_in_state(S.RUNNING_HEALTHY, deleted=True, finalizer=False))
    assert (decision.actions, decision.status, decision.requeue_after) == ((), None, None)


@pytest.mark.parametrize("state", [S.SUBMITTED, S.SCHEDULED_TO_RESTART, S.SCHEDULING_FAILURE])
def test_what_a_broken_off_creation_has_left_is_deleted_too(state: ApplicationState) -> None:
    status = status_at(S.SUBMITTED) if state in INITIALIZING else status_at(state)
    if state is S.SCHEDULED_TO_RESTART:
        status = move_to_next_attempt(status_at(S.FAILED), AttemptInfo(id=1), NOW, "", trim=True)
    number = status.current_attempt_summary.attempt_info.id
    decision = decide_once(application(status=status, deleted=True), Absent())
    assert decision.actions == (DeleteAttemptResources(number),)
    assert get_entered_state(decision) is S.RESOURCE_RELEASED


# --- force ---


@pytest.mark.parametrize(
    ("after", "actions"),
    [(0, ()), (329, ()), (330, (DeleteDriver(0, force=True),))],
    ids=["at once", "within the grace period", "after it"],
)
def test_a_driver_is_forced_a_grace_period_after_its_deletion_began(after: int, actions: tuple[Action, ...]) -> None:
    # Its deletion began at NOW: the timestamp is the end of the pod's own 30 s.
    driver = Present(driver_pod("ready", deletion=NOW + seconds(30)))
    long_ago = status_at(S.RUNNING_HEALTHY, since=NOW - timedelta(days=3))
    resource = application(status=long_ago, deleted=True, timeouts={"forceTerminationGracePeriodMillis": 330_000})
    assert decide_once(resource, driver, after=after).actions == actions


def test_a_terminating_driver_is_looked_at_when_its_grace_period_is_over() -> None:
    # That it is gone is an event; nothing else about it changes with time.
    driver = Present(driver_pod("ready", deletion=NOW + seconds(30)))
    resource = build_application_in_state(S.FAILED, timeouts={"forceTerminationGracePeriodMillis": 330_000})
    assert decide_once(resource, driver, after=100).requeue_after == seconds(230)


def test_a_healthy_driver_of_a_long_run_is_deleted_with_grace() -> None:
    long_ago = status_at(S.RUNNING_HEALTHY, since=NOW - timedelta(days=3))
    decision = decide_once(application(status=long_ago, deleted=True), Present(driver_pod("ready")))
    assert decision.actions == (DeleteDriver(0, force=False),)


@pytest.mark.parametrize(("millis", "again"), [(-1, 1), (0, 1), (999, 1), (1_001, 1.001), (5_000, 5)])
def test_a_driver_that_is_told_to_go_is_looked_at_each_period_but_not_without_pause(millis: int, again: float) -> None:
    resource = build_application_in_state(S.FAILED, timeouts={"terminationRequeuePeriodMillis": millis})
    assert decide_once(resource, Present(driver_pod("ready"))).requeue_after == seconds(again)
