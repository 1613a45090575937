import json
from typing import Any

import pytest

from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind

EVENT = ApplicationEvent(
    kind=EventKind.ENDED,
    namespace="jobs",
    name="pi",
    uid="u-1",
    state="Failed",
    outcome="Failed",
    failure_kind="application",
    reason="DriverFailed",
    sentence="it failed",
    application_id="pi-0",
    attempts=2,
    log_lines=("one", "two"),
    seconds_per_state={"DriverRequested": 1.5},
)


def test_event_can_be_stored_and_loaded() -> None:
    assert ApplicationEvent.from_payload(json.loads(json.dumps(EVENT.to_payload()))) == EVENT


def test_fields_of_later_release_are_ignored() -> None:
    assert ApplicationEvent.from_payload(EVENT.to_payload() | {"version": 9, "colour": "red"}) == EVENT


def test_missing_fields_of_earlier_release_have_defaults() -> None:
    event = ApplicationEvent.from_payload({"kind": "deleted", "namespace": "jobs", "name": "pi", "uid": "u-1"})
    assert event.attempts == 1
    assert event.log_lines == ()


@pytest.mark.parametrize("payload", [{}, None, {"kind": "ended"}, EVENT.to_payload() | {"kind": "?"}])
def test_invalid_event_is_rejected(payload: Any) -> None:
    with pytest.raises(ValueError, match="could not read the trigger's event"):
        ApplicationEvent.from_payload(payload)
