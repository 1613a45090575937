"""Defects of the controller itself are reported on the affected resource."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.lifecycle.application import decide
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.reconcile.reconcilers import applications
from airflow_provider_spark_operator.reconcile.reconcilers.resources import build_message_patch
from tests.reconcile.harness import Api, build_application, history_of, run_controller, state_of

State = ApplicationState


class Defect:
    """A decision that raises an exception for one application in one state."""

    def __init__(self, state: ApplicationState | None) -> None:
        self.state = state
        self.is_fixed = False

    def decide(self, application: Any, *others: Any) -> Any:
        status = application.status
        state = status.current_state.current_state_summary if status else None
        # The report gives an application without a status the state Submitted.
        if application.name == "poison" and state in (self.state, self.state or State.SUBMITTED) and not self.is_fixed:
            raise RuntimeError("unexpected")
        return decide(application, *others)


def has_message(document: JsonObject | None, words: str) -> bool:
    state = ((document or {}).get("status") or {}).get("currentState") or {}
    return words in (state.get("message") or "")


@pytest.mark.parametrize("state", [None, State.RUNNING_HEALTHY])
async def test_defect_is_reported_in_the_status_and_others_run(
    api: Api, monkeypatch: pytest.MonkeyPatch, state: ApplicationState | None
) -> None:
    defect = Defect(state)
    monkeypatch.setattr(applications, "decide", defect.decide)
    async with run_controller(api), api.play_drivers("succeeded"):
        await api.submit(build_application("poison"))
        reported = await api.wait_until(
            lambda seen: has_message(seen, "could not reconcile this application"), "poison"
        )
        assert reported is not None
        assert state_of(reported) == (state or State.SUBMITTED)
        assert has_message(reported, "RuntimeError: unexpected")
        await api.submit(build_application())
        await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_events("ReconcileError")
        defect.is_fixed = True
        await api.patch({"metadata": {"annotations": {"look": "again"}}}, "poison")  # the backoff would be long
        gone_on = await api.wait_until(
            lambda seen: not has_message(seen, "could not reconcile this application"), "poison"
        )
    assert gone_on is not None
    assert len(history_of(gone_on)) > len(history_of(reported))


def test_message_that_the_status_has_already_needs_no_patch() -> None:
    resource = {"metadata": {"uid": "u"}, "status": {"currentState": {"message": "It fails."}}}
    assert build_message_patch(resource, "It fails.") is None
    assert build_message_patch(resource, "It fails otherwise.") == {
        "metadata": {"uid": "u"},
        "status": {"currentState": {"message": "It fails otherwise."}},
    }
