from typing import Any

import pytest

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.dialects.apache import read_progress
from airflow_provider_spark_operator.core.models.cluster_status import ClusterState, ClusterStateRecord
from airflow_provider_spark_operator.core.models.status import ApplicationStatus
from airflow_provider_spark_operator.core.states import INITIALIZING, ApplicationState
from airflow_provider_spark_operator.core.transitions import sort_records
from airflow_provider_spark_operator.core.unreadable import refuse_application, refuse_cluster
from airflow_provider_spark_operator.core.verdict import FailureKind, Outcome, judge_progress
from tests.builders import NOW, application_document, seconds, status_at
from tests.core.cluster_resources.clusters import build_cluster_document

S = ApplicationState
SENTENCE = "spec.jars: must be a string, not a number: put it in quotes"
LATER = NOW + seconds(5)


def unreadable(**modifiers: Any) -> dict[str, Any]:
    return application_document(jars=7, restart={"restartPolicy": "Always"}, **modifiers)


def refused(document: dict[str, Any]) -> ApplicationStatus:
    status = refuse_application(document, SENTENCE, LATER)
    assert status is not None
    return status


def test_an_unreadable_application_ends_at_once_and_says_why() -> None:
    status = refused(unreadable())
    submitted, failure, released = sort_records(status.state_transition_history)
    assert (submitted.current_state_summary, submitted.last_transition_time) == (S.SUBMITTED, NOW)
    assert (failure.current_state_summary, failure.message) == (S.SCHEDULING_FAILURE, SENTENCE)
    assert released == status.current_state
    assert (released.current_state_summary, released.last_transition_time) == (S.RESOURCE_RELEASED, LATER)


def test_who_waits_learns_the_field_and_that_another_try_is_in_vain() -> None:
    document = unreadable()
    judged = judge_progress(read_progress({**document, "status": refused(document).to_document()}))
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
    assert sort_records(refused(document).state_transition_history)[0].last_transition_time == LATER


@pytest.mark.parametrize("state", S)
def test_only_an_application_that_has_not_begun_is_refused(state: ApplicationState) -> None:
    document = unreadable(status=status_at(state).to_document())
    assert (refuse_application(document, SENTENCE, LATER) is not None) is (state in INITIALIZING)


def test_one_that_is_being_deleted_is_left_alone() -> None:
    assert refuse_application(unreadable(deleted=True), SENTENCE, LATER) is None


def test_a_status_that_cannot_be_read_is_not_written_over() -> None:
    foreign = {"currentState": {"currentStateSummary": "Submitted", "lastTransitionTime": "yesterday"}}
    assert refuse_application(unreadable(status=foreign), SENTENCE, LATER) is None


# --- clusters ---

WANTED = "spec.runtimeVersions: is required"


def unreadable_cluster(**metadata: Any) -> dict[str, Any]:
    document = build_cluster_document()
    del document["spec"]["runtimeVersions"]
    document["metadata"] |= {"creationTimestamp": NOW.isoformat(), **metadata}
    return document


def test_an_unreadable_cluster_fails_at_once_and_says_why() -> None:
    status = refuse_cluster(unreadable_cluster(), WANTED, LATER)
    assert status is not None
    submitted, failure, failed = status.state_transition_history.values()
    assert isinstance(submitted, ClusterStateRecord)
    assert isinstance(failure, ClusterStateRecord)
    assert (submitted.current_state_summary, submitted.last_transition_time) == (ClusterState.SUBMITTED, NOW)
    assert (failure.message, failure.reason) == (WANTED, reasons.SPEC_UNBUILDABLE)
    assert failed == status.current_state
    assert (status.current_state.current_state_summary, status.current_state.reason) == (
        ClusterState.FAILED,
        reasons.CLUSTER_FAILED,
    )
    assert status.current_state.last_transition_time == LATER
    assert (status.current_state.message or "").endswith(f"create it again: {WANTED}")


def test_an_unreadable_cluster_without_a_time_of_creation_was_submitted_now() -> None:
    status = refuse_cluster(unreadable_cluster(creationTimestamp=None), WANTED, LATER)
    assert status is not None
    submitted = status.state_transition_history["0"]
    assert isinstance(submitted, ClusterStateRecord)
    assert submitted.last_transition_time == LATER


@pytest.mark.parametrize("state", ClusterState)
def test_only_a_cluster_that_has_not_begun_is_refused(state: ClusterState) -> None:
    current = {"currentStateSummary": state, "lastTransitionTime": NOW.isoformat()}
    document = unreadable_cluster() | {"status": {"currentState": current}}
    assert (refuse_cluster(document, WANTED, LATER) is not None) is (state is ClusterState.SUBMITTED)


@pytest.mark.parametrize(
    "document",
    [
        unreadable_cluster(deletionTimestamp=NOW.isoformat()),
        unreadable_cluster() | {"status": {"currentState": {"currentStateSummary": "Orbiting"}}},
    ],
    ids=["deleted", "with a status that cannot be read"],
)
def test_a_cluster_that_is_somebody_elses_business_is_left_alone(document: dict[str, Any]) -> None:
    assert refuse_cluster(document, WANTED, LATER) is None
