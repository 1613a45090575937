from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import APACHE
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.core.driver.configuration.resource_names import build_attempt_naming
from airflow_provider_spark_operator.core.lifecycle.transitions import move, move_to_next_attempt
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.models.status import ApplicationStatus, AttemptInfo
from airflow_provider_spark_operator.core.states.states import ApplicationState
from tests.builders import NOW, build_application_document, build_status, build_status_at

S = ApplicationState
PHASES = {
    Phase.WAITING: {S.SUBMITTED, S.SCHEDULED_TO_RESTART, S.DRIVER_REQUESTED, S.DRIVER_STARTED, S.SUSPENDED},
    Phase.ENDED: {S.RESOURCE_RELEASED, S.TERMINATED_WITHOUT_RELEASE_RESOURCES},
    Phase.RUNNING: {
        S.DRIVER_READY,
        S.INITIALIZED_BELOW_THRESHOLD_EXECUTORS,
        S.RUNNING_HEALTHY,
        S.RUNNING_WITH_PARTIAL_CAPACITY,
        S.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS,
    },
}


def build_document(status: ApplicationStatus, **modifiers: Any) -> dict[str, Any]:
    return build_application_document(status=status.to_document(), **modifiers)


@pytest.mark.parametrize("state", sorted(ApplicationState))
def test_every_state_has_a_phase(state: ApplicationState) -> None:
    expected = next((phase for phase, states in PHASES.items() if state in states), Phase.STOPPING)
    assert APACHE.read_progress(build_document(build_status_at(state))).phase is expected


def test_application_without_status_is_submitted() -> None:
    seen = APACHE.read_progress(build_application_document())
    assert (seen.state, seen.phase, seen.attempt, seen.history) == ("Submitted", Phase.WAITING, 0, ())
    assert seen.application_id is None


def test_progress_contains_state_history_and_driver_of_status() -> None:
    status = move(build_status(S.DRIVER_REQUESTED), S.FAILED, NOW, "Exit code 1.", {"phase": "Failed"})
    seen = APACHE.read_progress(build_document(status))
    assert (seen.state, seen.since, seen.message) == ("Failed", NOW, "Exit code 1.")
    assert [entry.state for entry in seen.history] == ["Submitted", "DriverRequested", "Failed"]
    assert seen.driver_status == {"phase": "Failed"}
    assert seen.application_id == "pi-0"


def test_driver_status_is_kept_after_release() -> None:
    status = move(build_status(S.DRIVER_REQUESTED), S.FAILED, NOW, "", {"phase": "Failed"})
    assert APACHE.read_progress(build_document(move(status, S.RESOURCE_RELEASED, NOW, ""))).driver_status == {
        "phase": "Failed"
    }


def test_new_attempt_omits_driver_status_of_previous_attempt() -> None:
    first = move(build_status(S.DRIVER_REQUESTED), S.FAILED, NOW, "", {"phase": "Failed"})
    second = move_to_next_attempt(first, AttemptInfo(id=1), NOW, "", trim=False)
    seen = APACHE.read_progress(build_document(second))
    assert (seen.attempt, seen.driver_status, seen.application_id) == (1, None, "pi-1")


@pytest.mark.parametrize(("digits", "counts"), [(18, True), (19, False)])
def test_history_key_with_too_many_digits_is_dropped(digits: int, counts: bool) -> None:
    record = {"currentStateSummary": "Failed", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    shown = APACHE.read_progress({"status": {"currentState": record, "stateTransitionHistory": {"1" * digits: record}}})
    assert bool(shown.history) is counts


def test_driver_status_that_is_not_an_object_is_dropped() -> None:
    record = {"currentStateSummary": "Failed", "lastObservedDriverStatus": "Failed"}
    assert APACHE.read_progress({"status": {"currentState": record}}).driver_status is None


def test_long_name_results_in_hashed_application_id() -> None:
    name = "a-very-long-application-name-that-exceeds-the-limit-x1"
    document = {"metadata": {"name": name, "namespace": "ns1"}, "status": {"currentState": {}}}
    assert APACHE.read_progress(document).application_id == "a-very-lo-3via6l8k2bnnzxfokmh79w1acy2gf6tlj5nq"


def test_configured_application_id_is_read() -> None:
    assert (
        APACHE.read_progress(build_document(build_status_at(S.FAILED), conf={"spark.app.id": "mine"})).application_id
        == "mine"
    )


@pytest.mark.parametrize(
    ("state", "policy", "pending"),
    [
        (S.FAILED, "Never", False),
        (S.FAILED, None, False),
        (S.FAILED, "OnFailure", True),
        (S.SUCCEEDED, "Always", True),
        (S.SCHEDULED_TO_RESTART, "Always", True),
        (S.RESOURCE_RELEASED, "Always", False),
        (S.RUNNING_HEALTHY, "Always", False),
    ],
)
def test_restart_is_pending_if_policy_allows_it(state: ApplicationState, policy: str | None, pending: bool) -> None:
    restart = {"restartPolicy": policy} if policy else None
    assert APACHE.read_progress(build_document(build_status_at(state), restart=restart)).restart_pending is pending


def test_history_is_sorted_by_number() -> None:
    history = {
        str(number): {"currentStateSummary": f"State{number}", "lastTransitionTime": "2026-01-01T00:00:00.1Z"}
        for number in (10, 9, 2)
    }
    seen = APACHE.read_progress({"status": {"stateTransitionHistory": {**history, "x": {}}}})
    assert [entry.state for entry in seen.history] == ["State2", "State9", "State10"]
    assert seen.history[0].time == datetime(2026, 1, 1, 0, 0, 0, 100_000, tzinfo=UTC)


@pytest.mark.parametrize(
    "status",
    [
        None,
        [],
        {"currentState": "x"},
        {"currentState": {"currentStateSummary": "Novel", "lastTransitionTime": "later"}},
        {"stateTransitionHistory": {"0": None}, "currentAttemptSummary": {"attemptInfo": {"id": "3"}}},
    ],
    ids=repr,
)
def test_unknown_status_is_waiting(status: dict[str, Any] | list[Any] | None) -> None:
    seen = APACHE.read_progress({"metadata": {}, "status": status})
    assert (seen.phase, seen.since, seen.attempt) == (Phase.WAITING, None, 0)


def test_time_without_offset_is_utc() -> None:
    record = {"currentStateSummary": "Failed", "lastTransitionTime": "2026-01-01T00:00:00"}
    assert APACHE.read_progress({"status": {"currentState": record}}).since == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("conf", "wanted"),
    [
        ({}, 2),
        ({"spark.executor.instances": "5"}, 5),
        ({"spark.executor.instances": "many"}, 2),
        ({"spark.dynamicAllocation.enabled": "true"}, 0),
        ({"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.minExecutors": 3}, 3),
    ],
)
def test_number_of_wanted_executors_depends_on_spec(conf: dict[str, Any], wanted: int) -> None:
    assert APACHE.count_wanted_executors({"spec": {"sparkConf": conf}}) == wanted


@pytest.mark.parametrize(
    ("conf", "name"),
    [
        ({}, "pi-0-driver"),
        ({"spark.app.id": "report"}, "report-driver"),
        ({"spark.kubernetes.driver.pod.name": "mine"}, "mine"),
        ({"spark.kubernetes.driver.pod.name": "${spark.app.id}-main"}, "pi-0-main"),
        ({"spark.kubernetes.driver.pod.name": "${spark.x}-d", "spark.x": "y"}, "y-d"),
        ({"spark.kubernetes.driver.pod.name": "${spark.kubernetes.driver.pod.name}"}, None),
    ],
)
def test_driver_pod_has_the_name_that_the_controller_gives_it(conf: dict[str, str], name: str | None) -> None:
    application = build_document(build_status_at(S.RUNNING_HEALTHY), conf=conf)
    assert APACHE.read_progress(application).driver_name == name
    if name:
        parsed = parse_application(application)
        assert build_attempt_naming(parsed.namespace, parsed.name, 0, parsed.spec.spark_conf).pod_name == name


@pytest.mark.parametrize(
    ("conf", "name"),
    [
        ({"spark.app.id": None, "spark.kubernetes.driver.pod.name": None}, "pi-0-driver"),
        ({"spark.kubernetes.driver.pod.name": "${spark.app.id}-main", "spark.app.id": None}, "pi-0-main"),
    ],
)
def test_property_that_is_null_is_not_set(conf: dict[str, str | None], name: str) -> None:
    assert APACHE.read_progress(build_document(build_status_at(S.RUNNING_HEALTHY), conf=conf)).driver_name == name
