"""Suspension and resumption of applications with `spec.suspend`."""

import pytest

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.decision import DeleteDriver, Settings
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.observation import Absent, Created, Present
from airflow_provider_spark_operator.core.states import (
    ApplicationState,
)
from airflow_provider_spark_operator.core.transitions import replace_reason
from tests.builders import (
    NOW,
    build_application_document,
    build_application_model,
    build_driver_pod,
    build_status_at,
    seconds,
)
from tests.core.harness import build_application_in_state, decide_once, get_entered_state
from tests.core.scene import Scene

S = ApplicationState


def test_suspended_application_does_not_start_until_resumed() -> None:
    scene = Scene(build_application_document(suspend=True)).run()
    assert (scene.states, scene.created, scene.wake) == (["Submitted"], [], None)
    scene.edit(suspend=False)
    assert scene.run().states == ["Submitted", "DriverRequested"]


def test_application_created_suspended_has_no_status_until_start() -> None:
    assert get_entered_state(decide_once(build_application_model(suspend=True))) is None
    assert (
        get_entered_state(decide_once(build_application_model(suspend=False), create_outcome=Created()))
        is S.DRIVER_REQUESTED
    )


@pytest.mark.parametrize("trim", [True, False])
def test_suspended_running_application_resumes_in_new_attempt(trim: bool) -> None:
    scene = Scene(build_application_document(), Settings(trim_state_transition_history=trim)).run()
    scene.set_driver("ready")
    scene.run()
    scene.edit(suspend=True)
    scene.run()
    assert scene.state == "RunningHealthy"
    scene.set_driver("failed")
    scene.run()
    assert (scene.state, scene.pods) == ("ScheduledToRestart", {})
    assert scene.application.status is not None
    assert scene.application.status.current_state.reason == reasons.SUSPENDED
    assert "spec.suspend" in (scene.application.status.current_state.message or "")
    scene.edit(suspend=False)
    scene.run()
    assert (scene.state, scene.created) == ("DriverRequested", [0, 1])
    assert scene.application.status is not None
    assert scene.application.status.current_attempt_summary.attempt_info == AttemptInfo(id=1)


def test_application_resumed_while_driver_terminates_is_restarted() -> None:
    scene = Scene(build_application_document()).run()
    scene.set_driver("ready")
    scene.run()
    scene.edit(suspend=True)
    scene.run()
    scene.edit(suspend=False)
    scene.run()
    assert scene.state == "RunningHealthy"
    scene.set_driver("failed")
    scene.run()
    assert scene.states[-2:] == ["ScheduledToRestart", "DriverRequested"]
    assert scene.created == [0, 1]


def test_application_resumed_before_driver_deletion_continues() -> None:
    status = replace_reason(build_status_at(S.RUNNING_HEALTHY), reasons.SUSPENDED, "")
    decision = decide_once(build_application_model(status=status), Present(build_driver_pod("ready")))
    assert (decision.reason, decision.actions) == (reasons.RESUMED, ())
    assert decision.status is not None
    assert decision.status.state_transition_history == status.state_transition_history
    again = decide_once(build_application_model(status=decision.status), Present(build_driver_pod("ready")))
    assert (again.reason, again.status) == (reasons.NOTHING_DUE, None)


def test_suspension_is_recorded_before_driver_is_deleted() -> None:
    decision = decide_once(
        build_application_in_state(S.RUNNING_HEALTHY, suspend=True), Present(build_driver_pod("ready"))
    )
    assert (decision.reason, decision.actions) == (reasons.SUSPENDED, ())
    assert decision.status is not None
    marked = build_application_model(status=decision.status, suspend=True)
    assert decide_once(marked, Present(build_driver_pod("ready"))).actions == (DeleteDriver(0),)


def test_driver_result_before_suspension_is_recorded() -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, suspend=True)
    assert get_entered_state(decide_once(resource, Present(build_driver_pod("succeeded")))) is S.SUCCEEDED


def test_driver_deleted_during_suspension_is_not_a_failure() -> None:
    decision = decide_once(
        build_application_in_state(S.RUNNING_HEALTHY, suspend=True), Present(build_driver_pod("failed", deletion=NOW))
    )
    assert (get_entered_state(decision), decision.reason) == (S.RUNNING_HEALTHY, reasons.SUSPENDED)


@pytest.mark.parametrize(
    ("finished", "state"), [(-1, S.SUCCEEDED), (0, S.SCHEDULED_TO_RESTART), (None, S.SCHEDULED_TO_RESTART)]
)
def test_driver_that_succeeded_before_deletion_is_not_restarted(finished: int | None, state: ApplicationState) -> None:
    scene = Scene(build_application_document()).run()
    scene.stuck = True
    scene.set_driver("ready")
    scene.run()
    scene.edit(suspend=True)
    scene.run()
    scene.set_driver("succeeded")
    (container,) = scene.pods[0]["status"]["containerStatuses"]
    if finished is not None:
        container["state"]["terminated"]["finishedAt"] = (NOW + seconds(finished)).isoformat()
    scene.run()
    scene.remove_driver()
    scene.run()
    assert scene.states[5:6] == [state]


def test_suspended_application_with_unsupported_spec_does_not_fail() -> None:
    decision = decide_once(build_application_model(suspend=True, deploymentMode="ClientMode"), Absent())
    assert (decision.reason, decision.status) == (reasons.SUSPENDED, None)
