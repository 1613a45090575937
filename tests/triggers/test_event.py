import json
from dataclasses import fields, replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome, Verdict
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.ending.evidence import Evidence
from airflow_provider_spark_operator.follow.watching.wait import Conclusion
from airflow_provider_spark_operator.hooks.verdict import ApplicationVerdict, build_verdict
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
from airflow_provider_spark_operator.triggers.spark_application_runtime import build_event

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
    seconds_per_state={"DriverRequested": 1.5},
)


def test_event_can_be_stored_and_loaded() -> None:
    assert ApplicationEvent.from_payload(json.loads(json.dumps(EVENT.to_payload()))) == EVENT


def test_fields_of_later_release_are_ignored() -> None:
    assert ApplicationEvent.from_payload(EVENT.to_payload() | {"version": 9, "colour": "red"}) == EVENT


def test_missing_fields_of_earlier_release_have_defaults() -> None:
    event = ApplicationEvent.from_payload({"kind": "deleted", "namespace": "jobs", "name": "pi", "uid": "u-1"})
    assert event.attempts == 1
    assert event.out_of_memory == ()


def test_fields_of_earlier_release_are_ignored() -> None:
    assert ApplicationEvent.from_payload(EVENT.to_payload() | {"log_lines": ["one", "two"]}) == EVENT


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (EVENT, "SparkApplication jobs/pi ended: Failed (DriverFailed) after 1s"),
        (
            replace(EVENT, outcome="Succeeded", seconds_per_state={"DriverRequested": 2.5, "RunningHealthy": 190.0}),
            "SparkApplication jobs/pi ended: Succeeded after 3m12s",
        ),
        (
            ApplicationEvent(EventKind.REACHED, "jobs", "pi", "u-1", "RunningHealthy"),
            "SparkApplication jobs/pi reached: RunningHealthy",
        ),
        (ApplicationEvent(EventKind.TIMED_OUT, "jobs", "pi", "u-1", "Submitted"), "SparkApplication jobs/pi timed-out"),
        (ApplicationEvent(EventKind.REFUSED, "", "", ""), "SparkApplication refused"),
    ],
    ids=lambda value: value.kind if isinstance(value, ApplicationEvent) else "",
)
def test_text_of_event_is_one_line(event: ApplicationEvent, text: str) -> None:
    assert event.describe("SparkApplication") == text


@pytest.mark.parametrize("payload", [{}, None, {"kind": "ended"}, EVENT.to_payload() | {"kind": "?"}])
def test_invalid_event_is_rejected(payload: Any) -> None:
    with pytest.raises(ValueError, match="could not read the trigger's event"):
        ApplicationEvent.from_payload(payload)


def test_event_shows_the_same_facts_as_the_verdict_of_the_hook() -> None:
    judged = Verdict(
        Outcome.FAILED,
        FailureKind.INFRASTRUCTURE,
        True,
        "DriverLost",
        "Failed: the driver is lost.",
        state="Failed",
        application_id="pi-1",
        attempts=2,
        seconds_per_state={"Submitted": 1.0},
        had_driver=False,
        out_of_memory=("executor",),
    )
    evidence = Evidence(ApplicationReference("jobs", "pi", "u-1"), log_lines=("one",), driver_message="done")
    conclusion = Conclusion(judged, evidence, {"metadata": {"name": "pi"}})
    event, verdict = build_event(conclusion), build_verdict(conclusion)
    shared = {field.name for field in fields(ApplicationVerdict)} - {"reference", "resource", "log_lines"}
    assert {name: getattr(event, name) for name in shared} == {name: getattr(verdict, name) for name in shared}
    assert (type(event.outcome), type(event.failure_kind)) == (str, str), "Airflow stores plain values"
    assert "Last lines of the driver's log:\n  one" in event.sentence
