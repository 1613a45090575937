"""Drivers of ended attempts, which a controller that had lost its lease has created."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.lifecycle.application import decide
from airflow_provider_spark_operator.core.lifecycle.decision import (
    Decision,
    DeleteApplication,
    DeletePod,
    ReadPods,
    Settings,
)
from airflow_provider_spark_operator.core.lifecycle.observation import ApplicationPods, Observed, observe_live
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.status import AttemptInfo, AttemptSummary
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import RUNNING, STARTING, ApplicationState
from tests.builders import NOW, OPERATOR_NAME, build_application_model, build_driver_pod, build_status_at
from tests.core.harness import build_application_in_state, decide_once, get_entered_state
from tests.core.simulated_application import simulate

S = ApplicationState
WITH_DRIVER = pytest.mark.parametrize(
    "state", [S.DRIVER_REQUESTED, S.RUNNING_HEALTHY, S.TERMINATED_WITHOUT_RELEASE_RESOURCES]
)


def build_second_attempt(state: ApplicationState, **modifiers: Any) -> SparkApplication:
    """Build an application whose second attempt is in `state`."""
    status = build_status_at(state, attempt=AttemptInfo(id=1, restart_counter=1), previous=AttemptSummary())
    return build_application_model(status=status, tolerations={"resourceRetainPolicy": "Always"}, **modifiers)


def build_driver(attempt: int, **metadata: str) -> dict[str, Any]:
    """Build a driver of the application with the id of an attempt, which counts from 0."""
    pod = build_driver_pod("pending")
    pod["metadata"] |= {
        "name": f"pi-{attempt}-driver",
        "uid": f"driver-{attempt}",
        "labels": {"spark.operator/name": OPERATOR_NAME, "spark-role": "driver", "spark-app-selector": f"pi-{attempt}"},
        "ownerReferences": [{"kind": "SparkApplication", "uid": build_application_model().uid}],
        "creationTimestamp": NOW.isoformat(),
        **metadata,
    }
    return pod


def decide_about_drivers(resource: SparkApplication, *drivers: dict[str, Any]) -> Decision:
    """Return the decision after a live read of the drivers."""
    return decide(resource, observe_live(Observed(), resource, drivers, OPERATOR_NAME), Settings(), NOW)


def test_driver_created_after_the_release_is_deleted() -> None:
    simulated = simulate().set_driver("succeeded").run()
    assert (simulated.state, simulated.pods) == ("ResourceReleased", {})
    simulated.pods[0] = build_driver_pod("ready")
    simulated.run()
    assert reasons.UNEXPECTED_DRIVER in simulated.reasons
    simulated.set_driver("failed")  # the node ends the pod, because it is being deleted
    simulated.run()
    assert (simulated.states[-1], simulated.pods, simulated.wake) == ("ResourceReleased", {}, None)


def test_driver_of_a_released_application_is_deleted_unless_it_terminates() -> None:
    resource = build_application_in_state(S.RESOURCE_RELEASED)
    terminating = build_driver(1, deletionTimestamp=NOW.isoformat())
    decision = decide_about_drivers(resource, build_driver(0), terminating)
    assert decision.actions == (DeletePod("pi-0-driver", "driver-0"),)
    assert "The resources of the application are released" in decision.message
    assert "pi-0-driver" in decision.message
    assert decide_about_drivers(resource, terminating).actions == ()


def test_cached_driver_of_a_released_application_is_read_before_it_is_deleted() -> None:
    resource = build_application_in_state(S.RESOURCE_RELEASED, tolerations={"ttlAfterStopMillis": 3_000})
    assert decide_once(resource, pods=ApplicationPods((build_driver(0),))).actions == (ReadPods(),)
    # The cache lags behind: the driver does not exist any more.
    assert decide_once(resource, after=4, pods=ApplicationPods(is_live=True)).actions == (DeleteApplication(),)


@pytest.mark.parametrize("state", sorted(STARTING | RUNNING | {S.TERMINATED_WITHOUT_RELEASE_RESOURCES}))
def test_driver_of_an_earlier_attempt_is_deleted_beside_the_current_one(state: ApplicationState) -> None:
    decision = decide_about_drivers(build_second_attempt(state), build_driver(0), build_driver(1))
    assert (decision.reason, decision.actions) == (reasons.UNEXPECTED_DRIVER, (DeletePod("pi-0-driver", "driver-0"),))
    assert decision.message.startswith(
        "Attempt 2 is the latest attempt, but driver pods of earlier attempts exist: pi-0-driver. "
    )


@WITH_DRIVER
@pytest.mark.parametrize(
    "drivers",
    [
        pytest.param([build_driver(1)], id="only the current driver"),
        pytest.param([build_driver(0)], id="adopted driver of an earlier attempt"),
        pytest.param([build_driver(0, deletionTimestamp=NOW.isoformat()), build_driver(1)], id="terminating driver"),
        pytest.param([build_driver(2), build_driver(1)], id="id of a later attempt"),
    ],
)
def test_other_drivers_are_not_deleted(state: ApplicationState, drivers: list[dict[str, Any]]) -> None:
    assert decide_about_drivers(build_second_attempt(state), *drivers).actions == ()


@WITH_DRIVER
def test_driver_with_an_application_id_of_the_user_is_not_deleted(state: ApplicationState) -> None:
    resource = build_second_attempt(state, conf={"spark.app.id": "pi-0"})
    assert decide_about_drivers(resource, build_driver(0), build_driver(0, uid="other")).actions == ()


def test_end_of_the_current_driver_is_recorded_before_another_driver_is_deleted() -> None:
    current = {**build_driver(1), "status": build_driver_pod("succeeded")["status"]}
    decision = decide_about_drivers(build_second_attempt(S.RUNNING_HEALTHY), build_driver(0), current)
    assert get_entered_state(decision) is S.SUCCEEDED


@pytest.mark.parametrize("created", ["2020-01-01T00:00:00Z", "2040-01-01T00:00:00Z"])
@pytest.mark.parametrize("suspend", [False, True])
def test_driver_of_an_earlier_attempt_is_deleted_before_the_next_starts(created: str, suspend: bool) -> None:
    resource = build_second_attempt(S.SCHEDULED_TO_RESTART, suspend=suspend)
    decision = decide_about_drivers(resource, build_driver(0, creationTimestamp=created))
    assert (decision.reason, decision.actions) == (reasons.UNEXPECTED_DRIVER, (DeletePod("pi-0-driver", "driver-0"),))


def test_driver_of_an_interrupted_creation_is_not_deleted() -> None:
    decision = decide_about_drivers(build_second_attempt(S.SCHEDULED_TO_RESTART), build_driver(1))
    assert decision.reason == reasons.RESTART_BACKOFF
