"""Drivers that are deleted by others or lose their node, and never report their termination."""

import pytest

from airflow_provider_spark_operator.core import pods, reasons
from airflow_provider_spark_operator.core.decision import DeleteDriver
from airflow_provider_spark_operator.core.dialects.apache import read_progress
from airflow_provider_spark_operator.core.observation import Present
from airflow_provider_spark_operator.core.states import RUNNING, STARTING, ApplicationState
from airflow_provider_spark_operator.core.verdict import FailureKind, judge_progress
from tests.builders import NOW, build_application_document, build_container, build_driver_pod, build_pod, seconds
from tests.core.harness import build_application_in_state, decide_once, get_entered_state
from tests.core.scene import Scene

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


def test_driver_that_succeeds_during_deletion_enters_succeeded() -> None:
    deleted = Present(build_driver_pod("succeeded", deletion=NOW, conditions=[TAINTED]))
    decision = decide_once(build_application_in_state(S.RUNNING_HEALTHY), deleted, after=10_000)
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
    scene = Scene(build_application_document(restart={"restartPolicy": "Always", "restartBackoffMillis": 1})).run()
    scene.set_driver("ready")
    scene.run()
    scene.stuck = True
    scene.request_driver_deletion()
    scene.run().advance(440)
    assert (scene.forced, scene.created, scene.state) == ([0], [0, 1], "DriverRequested")
    assert scene.states[-4:] == ["RunningHealthy", "Failed", "ScheduledToRestart", "DriverRequested"]
    assert scene.application.status is not None


def test_lost_driver_is_first_deleted_gracefully() -> None:
    decision = decide_once(build_application_in_state(S.FAILED), build_lost_driver(), after=10_000)
    assert decision.actions == (DeleteDriver(0),)


def test_lost_driver_is_reported_as_infrastructure_failure() -> None:
    scene = Scene(build_application_document()).run()
    scene.set_driver("ready", conditions=[TAINTED])
    scene.run()
    scene.stuck = True
    scene.request_driver_deletion()
    scene.run().advance(440)
    assert scene.document is not None
    judged = judge_progress(read_progress(scene.document))
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
