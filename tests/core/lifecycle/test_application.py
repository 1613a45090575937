"""The decisions about an application that starts and runs, rule by rule, and its whole lifecycle."""

from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.lifecycle.application import RULES
from airflow_provider_spark_operator.core.lifecycle.decision import ConfirmAbsence, CreateAttempt, Settings
from airflow_provider_spark_operator.core.lifecycle.observation import Absent, Created, Present, Refused, Unconfirmed
from airflow_provider_spark_operator.core.lifecycle.transitions import move_to_next_attempt
from airflow_provider_spark_operator.core.models.status import ApplicationStatus, AttemptInfo, StateRecord
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import (
    INITIALIZING,
    RUNNING,
    STARTING,
    STOPPING,
    ApplicationState,
)
from tests.builders import (
    DRIVER,
    NOW,
    build_application_document,
    build_application_model,
    build_container,
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
WITH_DRIVER = sorted(STARTING | RUNNING)
ROUTE = {
    "serviceSpec": {"ports": [{"port": 4040}]},
    "serviceMetadata": {"name": "ui"},
    "httpRouteMetadata": {"name": "ui"},
    "httpRouteSpec": {"parentRefs": [{"name": "gateway"}]},
}


def list_states(status: ApplicationStatus) -> list[ApplicationState]:
    records = status.state_transition_history.values()
    return [record.current_state_summary for record in records if isinstance(record, StateRecord)]


def test_every_state_has_rules() -> None:
    assert set(RULES) == set(ApplicationState)


# --- initializing ---


@pytest.mark.parametrize("status", [None, build_status_at(S.SUBMITTED)], ids=["without status", "Submitted"])
def test_submitted_application_creates_attempt(status: ApplicationStatus | None) -> None:
    decision = decide_once(build_application_model(status=status))
    assert (decision.reason, decision.actions) == (reasons.ATTEMPT_DUE, (CreateAttempt(0),))
    assert decision.requeue_after == timedelta(0)


def test_successful_creation_enters_driver_requested() -> None:
    decision = decide_once(build_application_model(), create_outcome=Created())
    assert get_entered_state(decision) is S.DRIVER_REQUESTED
    assert decision.reason == reasons.DRIVER_REQUESTED
    assert decision.status is not None
    first = decision.status.state_transition_history["0"]
    assert isinstance(first, StateRecord)
    assert (first.current_state_summary, first.last_transition_time) == (S.SUBMITTED, NOW)


def test_new_application_was_submitted_when_it_was_created() -> None:
    decision = decide_once(build_application_model(), create_outcome=Created(), after=60)
    assert decision.status is not None
    first = decision.status.state_transition_history["0"]
    assert isinstance(first, StateRecord)
    assert first.last_transition_time == NOW


def test_refused_creation_enters_scheduling_failure_with_message() -> None:
    decision = decide_once(build_application_model(), create_outcome=Refused("quota exceeded"))
    assert get_entered_state(decision) is S.SCHEDULING_FAILURE
    assert decision.status is not None
    stop = decision.status.current_state
    assert (stop.reason, stop.message) == (Refused("quota exceeded").reason, "quota exceeded")


def test_client_mode_fails_without_restart() -> None:
    simulated = simulate(deploymentMode="ClientMode", restart={"restartPolicy": "Always"})
    assert simulated.states == ["Submitted", "Failed", "ResourceReleased"]
    assert simulated.application.status is not None
    failed = simulated.application.status.state_transition_history["1"]
    assert isinstance(failed, StateRecord)
    assert failed.message == "spec.deploymentMode: ClientMode is not supported by operators: use ClusterMode."
    simulated.delete()
    assert simulated.run().document is None


@pytest.mark.parametrize(
    ("route", "field"),
    [
        ({**ROUTE, "serviceSpec": None}, "serviceSpec"),
        ({**ROUTE, "serviceMetadata": {}}, "serviceMetadata.name"),
        ({**ROUTE, "httpRouteMetadata": {"name": ""}}, "httpRouteMetadata.name"),
        ({**ROUTE, "httpRouteSpec": {"parentRefs": []}}, "httpRouteSpec.parentRefs"),
        ({}, "serviceSpec"),
    ],
    ids=["no service", "no service name", "no route name", "no parent", "empty route"],
)
@pytest.mark.parametrize("state", sorted(INITIALIZING))
def test_incomplete_route_fails_with_field_in_message(
    state: ApplicationState, route: dict[str, Any], field: str
) -> None:
    decision = decide_once(build_application_in_state(state, driverHttpRouteList=[ROUTE, route]))
    assert get_entered_state(decision) is S.FAILED
    assert decision.reason == reasons.SPEC_UNSUPPORTED
    assert decision.message.startswith(f"spec.driverHttpRouteList[1].{field}: is required")


def test_complete_route_creates_attempt() -> None:
    assert decide_once(build_application_model(driverHttpRouteList=[ROUTE])).actions == (CreateAttempt(0),)


@pytest.mark.parametrize(("after", "remaining"), [(0, 30), (29, 1), (30, None), (-30, 30), (-31, None)])
def test_restart_waits_at_most_its_backoff(after: int, remaining: int | None) -> None:
    status = move_to_next_attempt(build_status_at(S.FAILED), AttemptInfo(id=1), NOW, "", trim=True)
    decision = decide_once(build_application_model(status=status), after=after)
    if remaining is None:
        assert decision.actions == (CreateAttempt(1),)
    else:
        assert (decision.reason, decision.actions) == (reasons.RESTART_BACKOFF, ())
        assert decision.requeue_after == seconds(remaining)


# --- starting and running ---


def test_immediately_ready_driver_records_started_and_ready() -> None:
    decision = decide_once(build_application_in_state(S.DRIVER_REQUESTED), Present(build_driver_pod("ready")))
    assert decision.status is not None
    assert list_states(decision.status) == [
        S.SUBMITTED,
        S.DRIVER_REQUESTED,
        S.DRIVER_STARTED,
        S.DRIVER_READY,
        S.RUNNING_HEALTHY,
    ]


@pytest.mark.parametrize(
    ("state", "story", "expected"),
    [
        (S.DRIVER_REQUESTED, "pending", None),
        (S.DRIVER_REQUESTED, "unready", None),
        (S.DRIVER_REQUESTED, "started", S.DRIVER_STARTED),
        (S.DRIVER_STARTED, "started", None),
        (S.DRIVER_STARTED, "ready", S.RUNNING_HEALTHY),
        (S.DRIVER_READY, "ready", S.RUNNING_HEALTHY),
        (S.RUNNING_HEALTHY, "unready", None),
        (S.RUNNING_HEALTHY, "ready", None),
    ],
)
def test_application_state_follows_driver(
    state: ApplicationState, story: str, expected: ApplicationState | None
) -> None:
    assert (
        get_entered_state(decide_once(build_application_in_state(state), Present(build_driver_pod(story)))) is expected
    )


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
def test_terminated_driver_adds_one_transition_in_every_state(
    state: ApplicationState, story: str, modifiers: dict[str, Any], expected: ApplicationState
) -> None:
    resource = build_application_in_state(state)
    assert resource.status is not None
    decision = decide_once(resource, Present(build_driver_pod(story, **modifiers)))
    assert decision.status is not None
    assert get_entered_state(decision) is expected
    assert len(decision.status.state_transition_history) == len(resource.status.state_transition_history) + 1


def test_failure_records_driver_status() -> None:
    decision = decide_once(build_application_in_state(S.RUNNING_HEALTHY), Present(build_driver_pod("killed")))
    assert decision.status is not None
    assert decision.status.current_state.last_observed_driver_status == build_driver_pod("killed")["status"]


def test_only_configured_driver_container_determines_state() -> None:
    resource = build_application_in_state(
        S.RUNNING_HEALTHY, conf={"spark.kubernetes.driver.podTemplateContainerName": DRIVER}
    )
    seen = build_pod("Running", build_container(), build_container("side", exit_code=1))
    assert get_entered_state(decide_once(resource, Present(seen))) is None
    named = build_pod("Running", build_container("spark-kubernetes-driver"), build_container(DRIVER, exit_code=1))
    assert get_entered_state(decide_once(resource, Present(named))) is S.FAILED
    lost = decide_once(resource, Absent(), last_driver=named)
    assert (get_entered_state(lost), lost.reason) == (S.FAILED, reasons.DRIVER_FAILED)
    assert lost.status is not None
    assert lost.status.current_state.last_observed_driver_status == named["status"]
    other = build_pod("Running", build_container("a"), build_container("b", exit_code=1))
    assert get_entered_state(decide_once(build_application_in_state(S.RUNNING_HEALTHY), Present(other))) is S.FAILED


@pytest.mark.parametrize("state", WITH_DRIVER)
def test_missing_driver_enters_failed(state: ApplicationState) -> None:
    decision = decide_once(build_application_in_state(state), Absent())
    assert get_entered_state(decision) is S.FAILED
    assert decision.reason == reasons.DRIVER_LOST
    assert decision.message == (
        "The driver pod no longer exists, and its result is unknown: the pod or its node was deleted."
    )


@pytest.mark.parametrize("state", WITH_DRIVER)
def test_driver_missing_from_cache_is_confirmed_by_live_read(state: ApplicationState) -> None:
    assert decide_once(build_application_in_state(state), Unconfirmed(), after=61).actions == (ConfirmAbsence(),)


def test_requested_driver_missing_from_cache_waits_for_grace_period() -> None:
    decision = decide_once(build_application_in_state(S.DRIVER_REQUESTED), Unconfirmed(), after=50)
    assert (decision.reason, decision.actions, decision.status) == (reasons.DRIVER_UNCONFIRMED, (), None)
    assert decision.requeue_after == seconds(10)
    expired = decide_once(build_application_in_state(S.DRIVER_REQUESTED), Unconfirmed(), after=60)
    assert expired.actions == (ConfirmAbsence(),)


@pytest.mark.parametrize("state", sorted((STARTING | RUNNING) - {S.DRIVER_REQUESTED}))
def test_observed_driver_missing_from_cache_is_confirmed_immediately(state: ApplicationState) -> None:
    assert decide_once(build_application_in_state(state), Unconfirmed()).actions == (ConfirmAbsence(),)


@pytest.mark.parametrize(
    ("state", "story", "name", "expected"),
    [
        (S.DRIVER_REQUESTED, "pending", "driverStartTimeoutMillis", S.DRIVER_START_TIMED_OUT),
        (S.DRIVER_STARTED, "unready", "driverReadyTimeoutMillis", S.DRIVER_READY_TIMED_OUT),
        (S.DRIVER_READY, "ready", "executorStartTimeoutMillis", S.EXECUTORS_START_TIMED_OUT),
    ],
)
def test_starting_state_times_out_after_limit(
    state: ApplicationState, story: str, name: str, expected: ApplicationState
) -> None:
    resource = build_application_in_state(state, timeouts={name: 90_000}, instances={"initExecutors": 1})
    driver = Present(build_driver_pod(story))
    waiting = decide_once(resource, driver, after=89)
    assert get_entered_state(waiting) is None
    assert waiting.requeue_after == seconds(1) + timedelta.resolution
    assert get_entered_state(decide_once(resource, driver, after=90)) is None
    timed_out = decide_once(resource, driver, after=90.001)
    assert get_entered_state(timed_out) is expected
    assert timed_out.reason == expected
    assert name in timed_out.message
    assert timed_out.status is not None
    assert timed_out.status.current_state.last_observed_driver_status == driver.pod["status"]


def test_state_without_timeout_requeues_at_reconcile_interval() -> None:
    decision = decide_once(
        build_application_in_state(S.DRIVER_REQUESTED, timeouts={"driverStartTimeoutMillis": 0}),
        Present(build_driver_pod("pending")),
    )
    assert decision.requeue_after == Settings().reconcile_interval


INITIALIZED = "InitializedBelowThresholdExecutors"
BELOW = "RunningWithBelowThresholdExecutors"
PARTIAL = "RunningWithPartialCapacity"
HEALTHY = "RunningHealthy"


@pytest.mark.parametrize(
    ("initial", "numbers", "expected"),
    [
        (1, (0, 1, 3, 2, 1, 3), [PARTIAL, BELOW, HEALTHY, PARTIAL, BELOW, HEALTHY]),
        (2, (1, 2, 1, 2), [INITIALIZED, PARTIAL, BELOW, PARTIAL]),
    ],
)
def test_running_state_follows_executor_count(initial: int, numbers: tuple[int, ...], expected: list[str]) -> None:
    instances = {"initExecutors": initial, "minExecutors": 2, "maxExecutors": 3}
    simulated = simulate(instances=instances)
    simulated.set_driver("ready")
    for number in numbers:
        simulated.executors = build_executors(number, pending=1)
        simulated.run()
    assert simulated.states[3:] == ["DriverReady", *expected]


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        ({}, "The application runs."),
        ({"initExecutors": 1, "minExecutors": 1, "maxExecutors": 2}, "The application runs (executors ready: 2)."),
    ],
    ids=["without thresholds", "with thresholds"],
)
def test_message_counts_executors_if_the_state_depends_on_them(instances: dict[str, int], message: str) -> None:
    simulated = simulate(instances=instances)
    simulated.set_driver("ready")
    simulated.executors = build_executors(2)
    simulated.run()
    status = simulated.application.status
    assert status is not None
    assert (simulated.state, status.current_state.message) == ("RunningHealthy", message)


def test_too_few_executors_time_out() -> None:
    simulated = simulate(instances={"initExecutors": 2})
    simulated.set_driver("ready")
    simulated.executors = build_executors(1)
    simulated.run().advance(400)
    assert simulated.states[3:6] == ["DriverReady", "InitializedBelowThresholdExecutors", "ExecutorsStartTimedOut"]


# --- lifecycle ---


def test_successful_application_enters_expected_states() -> None:
    simulated = simulate(finalizer=False).set_driver("pulling").run()
    simulated.set_driver("started").run()
    simulated.set_driver("ready").run().advance(3600)
    simulated.set_driver("succeeded").run()
    assert simulated.states == [
        "Submitted",
        "DriverRequested",
        "DriverStarted",
        "DriverReady",
        "RunningHealthy",
        "Succeeded",
        "ResourceReleased",
    ]
    assert not simulated.pods
    assert simulated.wake is None


@pytest.mark.parametrize("trim", [True, False])
def test_every_state_has_reason_and_message(trim: bool) -> None:
    restart = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 0}
    simulated = simulate(settings=Settings(trim_state_transition_history=trim), restart=restart)
    for story in ("ready", "failed", "ready", "succeeded"):
        simulated.set_driver(story).run()
    assert simulated.state == "ResourceReleased"
    status = simulated.application.status
    assert status is not None
    assert status.previous_attempt_summary is not None
    history = (status.previous_attempt_summary.state_transition_history or {}) | status.state_transition_history
    assert len(history) == len(simulated.states)
    records = {key: record for key, record in history.items() if isinstance(record, StateRecord)}
    assert records.keys() == history.keys()
    assert all(record.message for record in records.values())
    words = {value for name, value in vars(reasons).items() if name.isupper()}
    assert all(record.reason in words for key, record in records.items() if key != "0")


@pytest.mark.parametrize("state", sorted(set(ApplicationState) - {S.RESOURCE_RELEASED}))
@pytest.mark.parametrize("driver", [Absent(), *(Present(build_driver_pod(story)) for story in ("ready", "succeeded"))])
def test_state_change_requeues_immediately(state: ApplicationState, driver: Absent | Present) -> None:
    for deleted in (False, True):
        decision = decide_once(build_application_in_state(state, deleted=deleted), driver, create_outcome=Created())
        assert (decision.requeue_after == timedelta(0)) or decision.status is None


def test_terminated_driver_takes_precedence_over_executor_count() -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, instances={"initExecutors": 1, "minExecutors": 1})
    assert (
        get_entered_state(decide_once(resource, Present(build_driver_pod("ready"))))
        is S.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS
    )
    assert get_entered_state(decide_once(resource, Present(build_driver_pod("succeeded")))) is S.SUCCEEDED


def test_driver_that_succeeded_unobserved_enters_succeeded() -> None:
    simulated = simulate().set_driver("succeeded").run()
    assert simulated.states == ["Submitted", "DriverRequested", "Succeeded", "ResourceReleased"]


def test_same_observation_returns_same_decision() -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY)
    first, second = (decide_once(resource, Present(build_driver_pod("failed"))) for _ in range(2))
    assert first == second


def test_lost_status_write_keeps_state_and_driver() -> None:
    simulated = SimulatedApplication(build_application_document())
    simulated.lose_writes = True
    for _ in range(3):
        simulated.run()
    assert (simulated.state, list(simulated.pods)) == ("Submitted", [0])
    simulated.lose_writes = False
    simulated.run()
    assert (simulated.state, list(simulated.pods)) == ("DriverRequested", [0])


@pytest.mark.parametrize("state", sorted(STOPPING - {S.SCHEDULING_FAILURE}))
def test_stopped_application_of_another_operator_is_released(state: ApplicationState) -> None:
    twice = build_status(S.DRIVER_REQUESTED, S.FAILED)
    record = twice.current_state.model_copy(update={"current_state_summary": state, "message": None})
    status = twice.model_copy(
        update={"current_state": record, "state_transition_history": {**twice.state_transition_history, "3": record}}
    )
    assert get_entered_state(decide_once(build_application_model(status=status), Absent())) is S.RESOURCE_RELEASED
