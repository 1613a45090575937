from typing import Any

import pytest

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.dialects.apache import progress
from airflow_provider_spark_operator.core.models.status import ApplicationStatus
from airflow_provider_spark_operator.core.states import INITIALIZING, ApplicationState
from airflow_provider_spark_operator.core.transitions import in_order
from airflow_provider_spark_operator.core.unreadable import refusal
from airflow_provider_spark_operator.core.verdict import FailureKind, Outcome, verdict
from tests.builders import NOW, application_document, seconds, status_at

S = ApplicationState
SENTENCE = "spec.jars: must be a string, not a number: put it in quotes"
LATER = NOW + seconds(5)


def unreadable(**modifiers: Any) -> dict[str, Any]:
    return application_document(jars=7, restart={"restartPolicy": "Always"}, **modifiers)


def refused(document: dict[str, Any]) -> ApplicationStatus:
    status = refusal(document, SENTENCE, LATER)
    assert status is not None
    return status


def test_an_unreadable_application_ends_at_once_and_says_why() -> None:
    status = refused(unreadable())
    submitted, failure, released = in_order(status.state_transition_history)
    assert (submitted.current_state_summary, submitted.last_transition_time) == (S.SUBMITTED, NOW)
    assert (failure.current_state_summary, failure.message) == (S.SCHEDULING_FAILURE, SENTENCE)
    assert released == status.current_state
    assert (released.current_state_summary, released.last_transition_time) == (S.RESOURCE_RELEASED, LATER)


def test_who_waits_learns_the_field_and_that_another_try_is_in_vain() -> None:
    document = unreadable()
    judged = verdict(progress({**document, "status": refused(document).to_document()}))
    assert (judged.outcome, judged.failure_kind) == (Outcome.FAILED, FailureKind.SCHEDULING)
    assert (judged.reason, judged.retry_worthy) == (reasons.SPEC_UNBUILDABLE, False)
    assert SENTENCE in judged.sentence


def test_a_resource_without_a_spec_ends_too() -> None:
    document = unreadable()
    del document["spec"]
    assert refused(document).current_state.current_state_summary is S.RESOURCE_RELEASED


def test_without_a_time_of_creation_it_was_submitted_now() -> None:
    document = unreadable()
    del document["metadata"]["creationTimestamp"]
    assert in_order(refused(document).state_transition_history)[0].last_transition_time == LATER


@pytest.mark.parametrize("state", S)
def test_only_an_application_that_has_not_begun_is_refused(state: ApplicationState) -> None:
    document = unreadable(status=status_at(state).to_document())
    assert (refusal(document, SENTENCE, LATER) is not None) is (state in INITIALIZING)


def test_one_that_is_being_deleted_is_left_alone() -> None:
    assert refusal(unreadable(deleted=True), SENTENCE, LATER) is None


def test_a_status_that_cannot_be_read_is_not_written_over() -> None:
    foreign = {"currentState": {"currentStateSummary": "Submitted", "lastTransitionTime": "yesterday"}}
    assert refusal(unreadable(status=foreign), SENTENCE, LATER) is None
