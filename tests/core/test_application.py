from datetime import timedelta

import pytest

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.application import RULES, decide
from airflow_provider_spark_operator.core.decision import (
    Absent,
    AddFinalizer,
    ConfirmAbsence,
    CreateAttempt,
    Created,
    Decision,
    DeleteApplication,
    DeleteAttemptResources,
    DeleteDriver,
    DriverObservation,
    Observed,
    Present,
    Refused,
    RemoveFinalizer,
    Settings,
    Unconfirmed,
)
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.states import (
    INITIALIZING,
    RUNNING,
    STARTING,
    STOPPING,
    ApplicationState,
)
from airflow_provider_spark_operator.core.transitions import move, move_to_next_attempt, remark
from tests.builders import (
    DRIVER,
    NOW,
    application,
    application_document,
    container,
    driver_pod,
    executors,
    pod,
    seconds,
    status_at,
    status_in,
)
from tests.core.play import Play

S = ApplicationState
WITH_DRIVER = sorted(STARTING | RUNNING)
ROUTE = {
    "serviceSpec": {"ports": [{"port": 4040}]},
    "serviceMetadata": {"name": "ui"},
    "httpRouteMetadata": {"name": "ui"},
    "httpRouteSpec": {"parentRefs": [{"name": "gateway"}]},
}


def decided(
    resource: SparkApplication, driver: DriverObservation | None = None, *, after: float = 0, **observed
) -> Decision:
    seen = Observed(driver=driver or Unconfirmed(), **observed)
    return decide(resource, seen, Settings(), NOW + seconds(after))


def at(state: ApplicationState, **modifiers) -> SparkApplication:
    return application(status=status_at(state), **modifiers)


def entered(decision: Decision) -> ApplicationState | None:
    return decision.status.current_state.current_state_summary if decision.status else None


def test_every_state_has_rules():
    assert set(RULES) == set(ApplicationState)


# --- finalizer and deletion ---


@pytest.mark.parametrize("state", sorted(set(ApplicationState) - {S.RESOURCE_RELEASED}))
def test_without_the_finalizer_nothing_but_adding_it_happens(state):
    decision = decided(at(state, finalizer=False), Absent())
    assert decision.actions == (AddFinalizer(),)
    assert decision.status is None


def test_a_released_application_needs_no_finalizer():
    assert decided(at(S.RESOURCE_RELEASED, finalizer=False)).actions == ()


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
def test_deletion_from_every_state(state, driver, actions):
    decision = decided(at(state, deleted=True), driver)
    if state in INITIALIZING | {S.SCHEDULING_FAILURE} and DeleteDriver(0) in actions:
        actions = (DeleteAttemptResources(0),)
    if isinstance(driver, Absent):
        assert entered(decision) is S.RESOURCE_RELEASED
        assert decision.requeue_after == timedelta(0)
    else:
        assert decision.actions == actions
        assert decision.status is None


def test_a_deleted_application_goes_once_its_resources_are_released():
    assert decided(at(S.RESOURCE_RELEASED, deleted=True)).actions == (RemoveFinalizer(),)


def test_a_deleted_application_without_our_finalizer_is_left_to_others():
    decision = decided(at(S.RUNNING_HEALTHY, deleted=True, finalizer=False))
    assert (decision.actions, decision.status, decision.requeue_after) == ((), None, None)


@pytest.mark.parametrize("state", [S.SUBMITTED, S.SCHEDULED_TO_RESTART, S.SCHEDULING_FAILURE])
def test_what_a_broken_off_creation_has_left_is_deleted_too(state):
    status = status_at(S.SUBMITTED) if state in INITIALIZING else status_at(state)
    if state is S.SCHEDULED_TO_RESTART:
        status = move_to_next_attempt(status_at(S.FAILED), AttemptInfo(id=1), NOW, "", trim=True)
    number = status.current_attempt_summary.attempt_info.id
    decision = decided(application(status=status, deleted=True), Absent())
    assert decision.actions == (DeleteAttemptResources(number),)
    assert entered(decision) is S.RESOURCE_RELEASED


# --- force ---


@pytest.mark.parametrize(
    ("after", "actions"),
    [(0, ()), (329, ()), (330, (DeleteDriver(0, force=True),))],
    ids=["at once", "within the grace period", "after it"],
)
def test_a_driver_is_forced_a_grace_period_after_its_deletion_began(after, actions):
    # Its deletion began at NOW: the timestamp is the end of the pod's own 30 s.
    driver = Present(driver_pod("ready", deletion=NOW + seconds(30)))
    long_ago = status_at(S.RUNNING_HEALTHY, since=NOW - timedelta(days=3))
    resource = application(status=long_ago, deleted=True, timeouts={"forceTerminationGracePeriodMillis": 330_000})
    assert decided(resource, driver, after=after).actions == actions


def test_a_healthy_driver_of_a_long_run_is_deleted_with_grace():
    long_ago = status_at(S.RUNNING_HEALTHY, since=NOW - timedelta(days=3))
    decision = decided(application(status=long_ago, deleted=True), Present(driver_pod("ready")))
    assert decision.actions == (DeleteDriver(0, force=False),)


# --- initializing ---


@pytest.mark.parametrize("status", [None, status_at(S.SUBMITTED)], ids=["without status", "Submitted"])
def test_a_submitted_application_is_created(status):
    decision = decided(application(status=status))
    assert (decision.reason, decision.actions) == (reasons.ATTEMPT_DUE, (CreateAttempt(0),))
    assert decision.requeue_after == timedelta(0)


def test_a_created_application_has_its_driver_requested():
    decision = decided(application(), create_outcome=Created())
    assert entered(decision) is S.DRIVER_REQUESTED
    assert decision.reason == reasons.DRIVER_REQUESTED
    assert decision.status is not None
    first = decision.status.state_transition_history["0"]
    assert (first.current_state_summary, first.last_transition_time) == (S.SUBMITTED, NOW)


def test_a_refused_creation_is_a_scheduling_failure_with_its_detail():
    decision = decided(application(), create_outcome=Refused("quota exceeded"))
    assert entered(decision) is S.SCHEDULING_FAILURE
    assert decision.status is not None
    assert decision.status.current_state.message == "quota exceeded"


def test_client_mode_fails_once_and_is_released():
    play = Play(application_document(deploymentMode="ClientMode", restart={"restartPolicy": "Always"})).look()
    assert play.states == ["Submitted", "Failed", "ResourceReleased"]
    assert play.application.status is not None
    failed = play.application.status.state_transition_history["1"]
    assert failed.message == "spec.deploymentMode: ClientMode cannot be run by an operator: use ClusterMode."
    play.delete()
    assert play.look().document is None


@pytest.mark.parametrize(
    ("route", "field"),
    [
        ({**ROUTE, "serviceSpec": None}, "serviceSpec"),
        ({**ROUTE, "serviceMetadata": {}}, "serviceMetadata.name"),
        ({**ROUTE, "httpRouteMetadata": {"name": ""}}, "httpRouteMetadata.name"),
        ({**ROUTE, "httpRouteSpec": {"parentRefs": []}}, "httpRouteSpec.parentRefs"),
        ({}, "serviceSpec"),
    ],
    ids=["no service", "no service name", "no route name", "no parent", "nothing"],
)
def test_an_incomplete_route_fails_with_the_field(route, field):
    decision = decided(application(driverHttpRouteList=[ROUTE, route]))
    assert entered(decision) is S.FAILED
    assert decision.reason == reasons.SPEC_UNSUPPORTED
    assert decision.message.startswith(f"spec.driverHttpRouteList[1].{field}: is required")


def test_a_complete_route_is_created():
    assert decided(application(driverHttpRouteList=[ROUTE])).actions == (CreateAttempt(0),)


@pytest.mark.parametrize(("after", "left"), [(0, 30), (29, 1), (30, None), (-100, 30)])
def test_a_restart_waits_for_its_backoff(after, left):
    status = move_to_next_attempt(status_at(S.FAILED), AttemptInfo(id=1), NOW, "", trim=True)
    decision = decided(application(status=status), after=after)
    if left is None:
        assert decision.actions == (CreateAttempt(1),)
    else:
        assert (decision.reason, decision.actions) == (reasons.RESTART_BACKOFF, ())
        assert decision.requeue_after == seconds(left)


# --- starting and running ---


def test_a_driver_that_is_ready_at_once_passes_through_started():
    decision = decided(at(S.DRIVER_REQUESTED), Present(driver_pod("ready")))
    assert decision.status is not None
    assert [record.current_state_summary for record in decision.status.state_transition_history.values()] == [
        S.SUBMITTED,
        S.DRIVER_REQUESTED,
        S.DRIVER_STARTED,
        S.DRIVER_READY,
    ]


@pytest.mark.parametrize(
    ("state", "story", "expected"),
    [
        (S.DRIVER_REQUESTED, "pending", None),
        (S.DRIVER_REQUESTED, "unready", None),
        (S.DRIVER_REQUESTED, "started", S.DRIVER_STARTED),
        (S.DRIVER_STARTED, "started", None),
        (S.DRIVER_STARTED, "ready", S.DRIVER_READY),
        (S.DRIVER_READY, "ready", S.RUNNING_HEALTHY),
        (S.RUNNING_HEALTHY, "unready", None),
        (S.RUNNING_HEALTHY, "ready", None),
    ],
)
def test_an_application_follows_its_driver(state, story, expected):
    assert entered(decided(at(state), Present(driver_pod(story)))) is expected


@pytest.mark.parametrize("state", WITH_DRIVER)
@pytest.mark.parametrize(
    ("story", "modifiers", "expected"),
    [
        ("succeeded", {}, S.SUCCEEDED),
        ("failed", {}, S.FAILED),
        ("killed", {}, S.FAILED),
        ("killed", {"reason": "Evicted"}, S.DRIVER_EVICTED),
    ],
    ids=["succeeded", "failed", "killed", "evicted"],
)
def test_a_driver_that_ends_is_judged_once_in_every_state(state, story, modifiers, expected):
    resource = at(state)
    assert resource.status is not None
    decision = decided(resource, Present(driver_pod(story, **modifiers)))
    assert decision.status is not None
    assert entered(decision) is expected
    assert len(decision.status.state_transition_history) == len(resource.status.state_transition_history) + 1


def test_a_failure_records_the_driver_status():
    decision = decided(at(S.RUNNING_HEALTHY), Present(driver_pod("killed")))
    assert decision.status is not None
    assert decision.status.current_state.last_observed_driver_status == driver_pod("killed")["status"]


def test_the_named_container_alone_is_judged():
    resource = at(S.RUNNING_HEALTHY, conf={"spark.kubernetes.driver.podTemplateContainerName": DRIVER})
    seen = pod("Running", container(), container("side", exit_code=1))
    assert entered(decided(resource, Present(seen))) is None
    assert entered(decided(at(S.RUNNING_HEALTHY), Present(seen))) is S.FAILED


@pytest.mark.parametrize("state", WITH_DRIVER)
def test_a_driver_that_is_gone_has_failed(state):
    decision = decided(at(state), Absent())
    assert entered(decision) is S.FAILED
    assert decision.reason == reasons.DRIVER_LOST


@pytest.mark.parametrize("state", WITH_DRIVER)
def test_a_driver_that_is_not_in_the_cache_is_looked_for(state):
    assert decided(at(state), Unconfirmed(), after=61).actions == (ConfirmAbsence(),)


def test_a_driver_that_was_just_requested_is_given_time_to_appear():
    decision = decided(at(S.DRIVER_REQUESTED), Unconfirmed(), after=50)
    assert (decision.actions, decision.status) == ((), None)
    assert decision.requeue_after == seconds(10)


def test_a_driver_that_was_seen_before_is_looked_for_at_once():
    assert decided(at(S.DRIVER_STARTED), Unconfirmed()).actions == (ConfirmAbsence(),)


@pytest.mark.parametrize(
    ("state", "story", "name", "expected"),
    [
        (S.DRIVER_REQUESTED, "pending", "driverStartTimeoutMillis", S.DRIVER_START_TIMED_OUT),
        (S.DRIVER_STARTED, "unready", "driverReadyTimeoutMillis", S.DRIVER_READY_TIMED_OUT),
        (S.DRIVER_READY, "ready", "executorStartTimeoutMillis", S.EXECUTORS_START_TIMED_OUT),
    ],
)
def test_a_starting_state_times_out_just_after_its_limit(state, story, name, expected):
    resource = at(state, timeouts={name: 90_000}, instances={"initExecutors": 1})
    driver = Present(driver_pod(story))
    waiting = decided(resource, driver, after=89)
    assert entered(waiting) is None
    assert waiting.requeue_after == seconds(1) + timedelta.resolution
    assert entered(decided(resource, driver, after=90)) is None
    timed_out = decided(resource, driver, after=90.001)
    assert entered(timed_out) is expected
    assert timed_out.reason == expected
    assert name in timed_out.message
    assert timed_out.status is not None
    assert timed_out.status.current_state.last_observed_driver_status == driver.pod["status"]


def test_a_state_without_a_timeout_is_looked_at_regularly():
    decision = decided(at(S.DRIVER_REQUESTED, timeouts={"driverStartTimeoutMillis": 0}), Present(driver_pod("pending")))
    assert decision.requeue_after == Settings().reconcile_interval


def test_running_applications_follow_their_executors():
    instances = {"initExecutors": 1, "minExecutors": 2, "maxExecutors": 3}
    play = Play(application_document(instances=instances)).look()
    play.driver("ready")
    for number in (0, 1, 3, 2, 1, 3):
        play.executors = executors(number, pending=1)
        play.look()
    assert play.states[3:] == [
        "DriverReady",
        "RunningWithPartialCapacity",
        "RunningWithBelowThresholdExecutors",
        "RunningHealthy",
        "RunningWithPartialCapacity",
        "RunningWithBelowThresholdExecutors",
        "RunningHealthy",
    ]


def test_too_few_executors_are_waited_for_and_then_time_out():
    play = Play(application_document(instances={"initExecutors": 2})).look()
    play.driver("ready")
    play.executors = executors(1)
    play.look().advance(400)
    assert play.states[3:6] == ["DriverReady", "InitializedBelowThresholdExecutors", "ExecutorsStartTimedOut"]


# --- stopping: restart, retain, release ---


@pytest.mark.parametrize("state", sorted(STOPPING))
@pytest.mark.parametrize("word", ["Always", "OnFailure", "OnInfrastructureFailure", "Never"])
@pytest.mark.parametrize("retain", ["Always", "OnFailure", "Never"])
def test_a_stopped_application_restarts_or_stays_or_goes(state, word, retain):
    restarts = {
        "Always": True,
        "OnFailure": state is not S.SUCCEEDED,
        "OnInfrastructureFailure": state
        in (S.DRIVER_START_TIMED_OUT, S.EXECUTORS_START_TIMED_OUT, S.SCHEDULING_FAILURE),
        "Never": False,
    }[word]
    keeps = {"Always": True, "OnFailure": state is not S.SUCCEEDED, "Never": False}[retain]
    resource = at(state, restart={"restartPolicy": word}, tolerations={"resourceRetainPolicy": retain})
    if restarts:
        expected = S.SCHEDULED_TO_RESTART
    else:
        expected = S.TERMINATED_WITHOUT_RELEASE_RESOURCES if keeps else S.RESOURCE_RELEASED
    assert entered(decided(resource, Absent())) is expected


@pytest.mark.parametrize("policy", ["Always", "Never"])
def test_nothing_follows_until_the_driver_is_gone(policy):
    resource = at(S.FAILED, restart={"restartPolicy": policy})
    for driver in (Unconfirmed(), Present(driver_pod("failed")), Present(driver_pod("failed", deletion=NOW))):
        decision = decided(resource, driver)
        assert decision.status is None
        assert decision.requeue_after


def test_a_kept_driver_is_not_touched():
    resource = at(S.FAILED, tolerations={"resourceRetainPolicy": "OnFailure"})
    decision = decided(resource, Present(driver_pod("failed")))
    assert decision.actions == ()
    assert entered(decision) is S.TERMINATED_WITHOUT_RELEASE_RESOURCES


def test_a_driver_is_kept_although_restarts_were_configured_when_none_follows():
    play = Play(
        application_document(
            tolerations={"resourceRetainPolicy": "Always"},
            restart={"restartPolicy": "OnFailure", "maxRestartAttempts": 1, "restartBackoffMillis": 0},
        )
    ).look()
    for _ in range(2):
        play.driver("failed")
        play.look()
    assert play.state == "TerminatedWithoutReleaseResources"
    assert play.created == [0, 1]
    assert list(play.pods) == [1]


def test_a_limit_that_is_reached_is_said():
    play = Play(application_document(restart={"restartPolicy": "Always", "maxRestartAttempts": 0})).look()
    play.driver("succeeded")
    play.look()
    assert play.states[-2:] == ["Succeeded", "ResourceReleased"]
    assert reasons.RESTART_LIMIT_EXCEEDED in play.reasons
    assert play.application.status is not None
    assert "restart attempts (0)" in (play.application.status.current_state.message or "")


def test_a_scheduling_failure_leaves_nothing_behind():
    play = Play(application_document())
    play.refusal = "no such image"
    play.look()
    assert play.states == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert play.cleaned == [0]


def test_a_scheduling_failure_leaves_nothing_behind_when_it_is_restarted():
    play = Play(application_document(restart={"restartPolicy": "Always"}))
    play.refusal = "no such image"
    play.look()
    assert (play.state, play.cleaned) == ("ScheduledToRestart", [0])


def test_a_scheduling_failure_with_a_driver_waits_until_that_is_gone():
    decision = decided(at(S.SCHEDULING_FAILURE), Present(driver_pod("ready")))
    assert decision.actions == (DeleteAttemptResources(0),)
    assert decision.status is None


# --- terminated ---


def test_a_kept_driver_stays_for_as_long_as_it_may():
    play = Play(application_document(tolerations={"resourceRetainPolicy": "Always", "ttlAfterStopMillis": 60_000}))
    play.look()
    play.driver("succeeded")
    play.look().advance(60)
    assert play.state == "TerminatedWithoutReleaseResources"
    play.advance(1)
    assert "ResourceReleased" in play.states
    assert not play.pods


def test_without_a_duration_a_driver_is_kept_until_the_application_is_deleted():
    play = Play(application_document(tolerations={"resourceRetainPolicy": "Always"})).look()
    play.driver("failed")
    play.look()
    assert play.wake is None
    play.delete()
    assert play.look().document is None
    assert not play.pods


def test_an_application_is_deleted_a_time_to_live_after_its_stop():
    resource = at(S.RESOURCE_RELEASED, tolerations={"ttlAfterStopMillis": 3_000})
    assert decided(resource, after=3).requeue_after == timedelta.resolution
    assert decided(resource, after=4).actions == (DeleteApplication(),)


def test_the_time_to_live_counts_from_the_stop_not_from_the_release():
    status = move(status_at(S.FAILED), S.RESOURCE_RELEASED, NOW + seconds(100), "")
    resource = application(status=status, tolerations={"ttlAfterStopMillis": 60_000})
    assert decided(resource, after=101).actions == (DeleteApplication(),)


def test_a_long_wait_is_cut_to_one_that_fits_every_timer():
    resource = at(S.RESOURCE_RELEASED, tolerations={"ttlAfterStopMillis": 10**12})
    assert decided(resource).requeue_after == timedelta(days=1)


def test_without_a_time_to_live_an_application_stays():
    decision = decided(at(S.RESOURCE_RELEASED), after=1e9)
    assert (decision.actions, decision.status, decision.requeue_after) == ((), None, None)


# --- suspension ---


def test_a_suspended_application_is_held_before_it_starts():
    play = Play(application_document(suspend=True)).look()
    assert (play.states, play.created, play.wake) == (["Submitted"], [], None)
    play.change(suspend=False)
    assert play.look().states == ["Submitted", "DriverRequested"]


@pytest.mark.parametrize("trim", [True, False])
def test_a_running_application_that_is_suspended_goes_on_as_a_new_attempt(trim):
    play = Play(application_document(), Settings(trim_state_transition_history=trim)).look()
    play.driver("ready")
    play.look()
    play.change(suspend=True)
    play.look()
    assert play.state == "RunningHealthy"
    play.driver("failed")
    play.look()
    assert (play.state, play.pods) == ("ScheduledToRestart", {})
    assert play.application.status is not None
    assert play.application.status.current_state.reason == reasons.SUSPENDED
    assert "spec.suspend" in (play.application.status.current_state.message or "")
    play.change(suspend=False)
    play.look()
    assert (play.state, play.created) == ("DriverRequested", [0, 1])
    assert play.application.status is not None
    assert play.application.status.current_attempt_summary.attempt_info == AttemptInfo(id=1)


def test_a_suspension_that_is_lifted_while_the_driver_terminates_has_not_failed_it():
    play = Play(application_document()).look()
    play.driver("ready")
    play.look()
    play.change(suspend=True)
    play.look()
    play.change(suspend=False)
    play.look()
    assert play.state == "RunningHealthy"
    play.driver("failed")
    play.look()
    assert play.states[-2:] == ["ScheduledToRestart", "DriverRequested"]
    assert play.created == [0, 1]


def test_a_suspension_that_is_lifted_before_the_driver_is_told_to_end_changes_nothing():
    status = remark(status_at(S.RUNNING_HEALTHY), reasons.SUSPENDED, "")
    decision = decided(application(status=status), Present(driver_pod("ready")))
    assert (decision.reason, decision.actions) == (reasons.RESUMED, ())
    assert decision.status is not None
    assert decision.status.state_transition_history == status.state_transition_history
    again = decided(application(status=decision.status), Present(driver_pod("ready")))
    assert (again.reason, again.status) == (reasons.NOTHING_DUE, None)


def test_why_a_driver_is_stopped_is_written_down_before_it_is():
    decision = decided(at(S.RUNNING_HEALTHY, suspend=True), Present(driver_pod("ready")))
    assert (decision.reason, decision.actions) == (reasons.SUSPENDED, ())
    assert decision.status is not None
    marked = application(status=decision.status, suspend=True)
    assert decided(marked, Present(driver_pod("ready"))).actions == (DeleteDriver(0),)


def test_a_driver_that_ended_before_it_was_suspended_is_judged():
    resource = at(S.RUNNING_HEALTHY, suspend=True)
    assert entered(decided(resource, Present(driver_pod("succeeded")))) is S.SUCCEEDED


def test_a_driver_that_is_stopped_by_its_suspension_has_not_failed():
    decision = decided(at(S.RUNNING_HEALTHY, suspend=True), Present(driver_pod("failed", deletion=NOW)))
    assert (entered(decision), decision.reason) == (S.RUNNING_HEALTHY, reasons.SUSPENDED)


def test_a_suspended_application_is_not_judged_before_it_is_due():
    decision = decided(application(suspend=True, deploymentMode="ClientMode"), Absent())
    assert (decision.reason, decision.status) == (reasons.SUSPENDED, None)


# --- the whole life ---


def test_the_plain_life_of_an_application():
    play = Play(application_document(finalizer=False)).look()
    play.driver("pulling")
    play.look()
    play.driver("started")
    play.look()
    play.driver("ready")
    play.look().advance(3600)
    play.driver("succeeded")
    play.look()
    assert play.states == [
        "Submitted",
        "DriverRequested",
        "DriverStarted",
        "DriverReady",
        "RunningHealthy",
        "Succeeded",
        "ResourceReleased",
    ]
    assert not play.pods
    assert play.wake is None


@pytest.mark.parametrize("trim", [True, False])
def test_every_state_says_why_it_was_entered(trim):
    restart = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 0}
    play = Play(application_document(restart=restart), Settings(trim_state_transition_history=trim)).look()
    for story in ("ready", "failed", "ready", "succeeded"):
        play.driver(story)
        play.look()
    assert play.state == "ResourceReleased"
    status = play.application.status
    assert status is not None
    assert status.previous_attempt_summary is not None
    history = (status.previous_attempt_summary.state_transition_history or {}) | status.state_transition_history
    assert len(history) == len(play.states)
    assert all(record.message for record in history.values())
    words = {value for name, value in vars(reasons).items() if name.isupper()}
    assert all(record.reason in words for key, record in history.items() if key != "0")


@pytest.mark.parametrize("state", sorted(set(ApplicationState) - {S.RESOURCE_RELEASED}))
@pytest.mark.parametrize("driver", [Absent(), *(Present(driver_pod(story)) for story in ("ready", "succeeded"))])
def test_every_move_is_followed_by_another_look(state, driver):
    for deleted in (False, True):
        decision = decided(at(state, deleted=deleted), driver, create_outcome=Created())
        assert (decision.requeue_after == timedelta(0)) or decision.status is None


def test_the_end_of_a_driver_is_judged_before_executors_are_counted():
    resource = at(S.RUNNING_HEALTHY, instances={"initExecutors": 1, "minExecutors": 1})
    assert entered(decided(resource, Present(driver_pod("ready")))) is S.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS
    assert entered(decided(resource, Present(driver_pod("succeeded")))) is S.SUCCEEDED


def test_a_controller_that_was_away_finds_a_driver_that_has_ended():
    play = Play(application_document()).look()
    play.driver("succeeded")
    play.look()
    assert play.states == ["Submitted", "DriverRequested", "Succeeded", "ResourceReleased"]


def test_a_decision_is_the_same_however_often_it_is_made():
    resource = at(S.RUNNING_HEALTHY)
    first, second = (decided(resource, Present(driver_pod("failed"))) for _ in range(2))
    assert first == second


def test_a_lost_write_changes_nothing():
    play = Play(application_document())
    play.lose_writes = True
    for _ in range(3):
        play.look()
    assert (play.state, list(play.pods)) == ("Submitted", [0])
    play.lose_writes = False
    play.look()
    assert (play.state, list(play.pods)) == ("DriverRequested", [0])


@pytest.mark.parametrize("state", sorted(STOPPING - {S.SCHEDULING_FAILURE}))
def test_an_application_that_another_operator_drove_is_taken_over(state):
    twice = status_in(S.DRIVER_REQUESTED, S.FAILED)
    record = twice.current_state.model_copy(update={"current_state_summary": state, "message": None})
    status = twice.model_copy(
        update={
            "current_state": record,
            "state_transition_history": {**twice.state_transition_history, "3": record},
        }
    )
    assert entered(decided(application(status=status), Absent())) is S.RESOURCE_RELEASED
