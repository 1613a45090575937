"""Drivers that are deleted by others or lose their node, and never report their termination."""

from dataclasses import replace

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.kubernetes import pods
from airflow_provider_spark_operator.core.kubernetes.json_object import KubernetesObject
from airflow_provider_spark_operator.core.lifecycle.application import decide
from airflow_provider_spark_operator.core.lifecycle.decision import ConfirmAbsence, DeleteDriver, Settings
from airflow_provider_spark_operator.core.lifecycle.observation import Absent, Observed, Present, Unconfirmed
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import RUNNING, STARTING, ApplicationState
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, judge_progress
from tests.builders import (
    NOW,
    build_application_document,
    build_application_model,
    build_container,
    build_driver_pod,
    build_pod,
    seconds,
)
from tests.core.harness import build_application_in_state, decide_once, get_entered_state
from tests.core.simulated_application import simulate

S = ApplicationState
WITH_DRIVER = sorted(STARTING | RUNNING)
UNLIMITED = {"driverStartTimeoutMillis": 0, "driverReadyTimeoutMillis": 0, "executorStartTimeoutMillis": 0}
TAINTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}


def build_lost_driver(
    *, since: str | None = NOW.isoformat(), phase: str = "Unknown", reason: str | None = None
) -> Present:
    """Return a driver whose node does not respond."""
    seen = build_pod(phase, build_container(), ready=False, reason=reason)
    seen["status"]["conditions"][0]["lastTransitionTime"] = since
    return Present(seen)


@pytest.mark.parametrize("state", WITH_DRIVER)
def test_externally_deleted_stuck_driver_enters_failed_in_every_state(state: ApplicationState) -> None:
    deleted = Present(build_driver_pod("ready", deletion=NOW + seconds(30), conditions=[TAINTED]))
    decision = decide_once(build_application_in_state(state, timeouts=UNLIMITED), deleted, after=300)
    assert get_entered_state(decision) is S.FAILED
    assert decision.reason == reasons.DRIVER_INTERRUPTED
    assert decision.message == (
        "The driver pod was deleted while it ran, and did not terminate within 300 s: "
        "DeletionByTaintManager: Taint manager: deleting due to NoExecute taint."
    )
    assert decision.status is not None
    assert decision.status.current_state.last_observed_driver_status == deleted.pod["status"]


@pytest.mark.parametrize(
    ("grace", "own", "after", "is_failed"),
    [
        pytest.param(300_000, 30, 299, False, id="within application grace period"),
        pytest.param(300_000, 30, 300, True, id="after application grace period"),
        pytest.param(1_000, 30, 29, False, id="within pod grace period"),
        pytest.param(1_000, 30, 30, True, id="after both grace periods"),
        pytest.param(-5, 0, 0, True, id="no grace period"),
        pytest.param(2**63 - 1, 30, 10**9, False, id="unlimited grace period"),
    ],
)
def test_externally_deleted_driver_gets_longer_grace_period(grace: int, own: int, after: int, is_failed: bool) -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, timeouts={"forceTerminationGracePeriodMillis": grace})
    deleted = Present(build_driver_pod("ready", deletion=NOW + seconds(own), grace=own))
    assert (get_entered_state(decide_once(resource, deleted, after=after)) is S.FAILED) is is_failed


@pytest.mark.parametrize("state", WITH_DRIVER)
def test_driver_that_succeeds_during_deletion_enters_succeeded(state: ApplicationState) -> None:
    deleted = Present(build_driver_pod("succeeded", deletion=NOW, conditions=[TAINTED]))
    decision = decide_once(build_application_in_state(state), deleted, after=10_000)
    assert (get_entered_state(decision), decision.reason) == (S.SUCCEEDED, reasons.DRIVER_SUCCEEDED)


@pytest.mark.parametrize("state", WITH_DRIVER)
@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(build_lost_driver(), id="phase Unknown"),
        pytest.param(build_lost_driver(phase="Running", reason="NodeLost"), id="reason NodeLost"),
    ],
)
def test_driver_on_lost_node_enters_failed_after_grace_period(state: ApplicationState, seen: Present) -> None:
    resource = build_application_in_state(state, timeouts=UNLIMITED)
    assert get_entered_state(decide_once(resource, seen, after=299)) not in (S.FAILED, S.RESOURCE_RELEASED)
    decision = decide_once(resource, seen, after=300)
    assert (get_entered_state(decision), decision.reason) == (S.FAILED, reasons.DRIVER_INTERRUPTED)
    assert decision.message.startswith("The node of the driver pod was lost, and did not return within 300 s")


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(build_lost_driver(phase="Running"), id="not ready"),
        pytest.param(build_lost_driver(since=None), id="no transition time"),
        pytest.param(build_lost_driver(since="yesterday"), id="invalid transition time"),
    ],
)
def test_unready_driver_is_not_treated_as_lost(seen: Present) -> None:
    assert get_entered_state(decide_once(build_application_in_state(S.RUNNING_HEALTHY), seen, after=10_000)) is None


def test_restart_waits_for_force_deletion_of_lost_driver() -> None:
    simulated = simulate(restart={"restartPolicy": "Always", "restartBackoffMillis": 1}).set_driver("ready").run()
    simulated.stuck = True
    simulated.request_driver_deletion().run().advance(440)
    assert (simulated.forced, simulated.created, simulated.state) == ([0], [0, 1], "DriverRequested")
    assert simulated.states[-4:] == ["RunningHealthy", "Failed", "ScheduledToRestart", "DriverRequested"]
    assert simulated.application.status is not None


def test_lost_driver_is_first_deleted_gracefully() -> None:
    decision = decide_once(build_application_in_state(S.FAILED), build_lost_driver(), after=10_000)
    assert decision.actions == (DeleteDriver(0),)


def test_lost_driver_is_reported_as_infrastructure_failure() -> None:
    simulated = simulate().set_driver("ready", conditions=[TAINTED]).run()
    simulated.stuck = True
    simulated.request_driver_deletion().run().advance(440)
    assert simulated.document is not None
    judged = judge_progress(read_progress(simulated.document))
    assert (judged.failure_kind, judged.reason, judged.retry_worthy) == (
        FailureKind.INFRASTRUCTURE,
        reasons.DRIVER_INTERRUPTED,
        True,
    )


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ([], None),
        ([{**TAINTED, "status": "False"}], None),
        ([{"type": "DisruptionTarget", "status": "True"}], ""),
        ([{"type": "DisruptionTarget", "status": "true", "reason": "EvictionByEvictionAPI"}], "EvictionByEvictionAPI"),
        ([TAINTED], "DeletionByTaintManager: Taint manager: deleting due to NoExecute taint"),
    ],
    ids=["no condition", "condition not true", "no reason or message", "reason only", "reason and message"],
)
def test_disruption_message_contains_condition_reason_and_message(
    conditions: list[dict[str, str]], words: str | None
) -> None:
    assert pods.describe_disruption(build_driver_pod(conditions=conditions)["status"]) == words


SIDECAR_ENDED = build_pod("Running", build_container("a"), build_container("b", exit_code=0, reason="Completed"))


@pytest.mark.parametrize("state", WITH_DRIVER)
@pytest.mark.parametrize(
    ("last", "entered", "reason", "message"),
    [
        (build_driver_pod("succeeded"), S.SUCCEEDED, reasons.DRIVER_SUCCEEDED, "exit code 0"),
        (build_driver_pod("killed"), S.FAILED, reasons.DRIVER_FAILED, "exit code 137"),
        (build_pod("Failed", reason="Evicted"), S.DRIVER_EVICTED, reasons.DRIVER_EVICTED, "evicted"),
        (build_driver_pod("ready"), S.FAILED, reasons.DRIVER_LOST, "its result is unknown"),
        (SIDECAR_ENDED, S.FAILED, reasons.DRIVER_LOST, "containers of the driver had ended: b with exit code 0"),
    ],
    ids=["succeeded", "failed", "evicted", "running", "one container ended"],
)
def test_deleted_driver_is_judged_by_its_last_known_state(
    state: ApplicationState, last: KubernetesObject, entered: ApplicationState, reason: str, message: str
) -> None:
    decision = decide_once(build_application_in_state(state), Absent(), last_driver=last)
    assert (get_entered_state(decision), decision.reason) == (entered, reason)
    assert message in decision.message


def test_last_known_state_does_not_count_while_the_driver_may_exist() -> None:
    decision = decide_once(
        build_application_in_state(S.RUNNING_HEALTHY), Unconfirmed(), last_driver=build_driver_pod("succeeded")
    )
    assert get_entered_state(decision) is None


@pytest.mark.parametrize(
    ("last", "settings", "restarts"),
    [
        pytest.param(build_driver_pod("ready"), Settings(), True, id="running, by default"),
        pytest.param(build_driver_pod("ready"), Settings(restart_lost_drivers=False), False, id="running, disabled"),
        pytest.param(SIDECAR_ENDED, Settings(), False, id="containers ended"),
        pytest.param(build_driver_pod("failed"), Settings(restart_lost_drivers=False), True, id="known end"),
    ],
)
def test_restart_after_a_lost_driver_needs_the_setting_and_no_ended_container(
    last: KubernetesObject, settings: Settings, restarts: bool
) -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, restart={"restartPolicy": "Always"})
    lost = decide(resource, Observed(Absent(), last_driver=last), settings, NOW)
    decision = decide(resource.model_copy(update={"status": lost.status}), Observed(Absent()), settings, NOW)
    assert get_entered_state(decision) is (S.SCHEDULED_TO_RESTART if restarts else S.RESOURCE_RELEASED)
    assert restarts or decision.reason == reasons.RESTART_WITHHELD
    assert restarts or "the result of the driver is unknown" in decision.message


@pytest.mark.parametrize(("last", "is_worthy"), [(build_driver_pod("ready"), True), (SIDECAR_ENDED, False)])
def test_lost_driver_is_worth_a_retry_unless_containers_had_ended(last: KubernetesObject, is_worthy: bool) -> None:
    lost = decide_once(build_application_in_state(S.RUNNING_HEALTHY), Absent(), last_driver=last)
    ended = decide_once(build_application_model(status=lost.status), Absent())
    assert ended.status is not None
    document = build_application_document(status=ended.status.to_document())
    judged = judge_progress(replace(read_progress(document), driver_read=True))
    assert (judged.failure_kind, judged.reason, judged.retry_worthy) == (
        FailureKind.INFRASTRUCTURE,
        reasons.DRIVER_LOST,
        is_worthy,
    )


@pytest.mark.parametrize(
    "resource",
    [
        build_application_in_state(S.RUNNING_HEALTHY),
        build_application_in_state(S.FAILED),
        build_application_in_state(S.RUNNING_HEALTHY, deletion=NOW),
        build_application_in_state(
            S.TERMINATED_WITHOUT_RELEASE_RESOURCES, tolerations={"resourceRetainDurationMillis": 1}
        ),
    ],
    ids=["running", "failed", "deleted", "retained"],
)
def test_pod_that_only_has_the_name_of_the_driver_is_reported(resource: SparkApplication) -> None:
    decision = decide_once(resource, Absent("pi-0-driver"), after=1)
    assert decision.message.endswith(
        "Pod pi-0-driver has the driver's name, but does not belong to the application: it is left alone."
    )


def test_lost_driver_is_not_restarted_while_a_pod_has_its_name() -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, restart={"restartPolicy": "Always"})
    lost = decide_once(resource, Absent("pi-0-driver"), last_driver=build_driver_pod("ready"))
    decision = decide_once(resource.model_copy(update={"status": lost.status}), Absent("pi-0-driver"))
    assert (get_entered_state(decision), decision.reason) == (S.RESOURCE_RELEASED, reasons.RESTART_WITHHELD)


@pytest.mark.parametrize(("last", "is_read"), [(build_driver_pod("ready"), True), (None, False)])
def test_requested_driver_that_the_watch_no_longer_shows_is_read_at_once(
    last: KubernetesObject | None, is_read: bool
) -> None:
    decision = decide_once(build_application_in_state(S.DRIVER_REQUESTED), Unconfirmed(), last_driver=last)
    assert (decision.actions == (ConfirmAbsence(),)) is is_read


def test_driver_without_the_operators_label_is_read_again_soon() -> None:
    driver = Present(build_driver_pod("ready"))
    driver.pod["metadata"]["labels"] = {"spark.operator/name": "else"}  # type: ignore[index]
    for state in (S.DRIVER_STARTED, S.RUNNING_HEALTHY):
        decision = decide_once(build_application_in_state(state), driver)
        if decision.status is None:
            assert (decision.reason, decision.requeue_after) == (reasons.DRIVER_UNWATCHED, seconds(15))
            assert "pi-0-driver" in decision.message
    terminating = decide_once(build_application_in_state(S.FAILED), driver)
    assert (terminating.actions, terminating.requeue_after) == ((DeleteDriver(0),), seconds(2))
    slow = build_application_in_state(S.FAILED, timeouts={"terminationRequeuePeriodMillis": 60_000})
    assert decide_once(slow, driver).requeue_after == seconds(15)
