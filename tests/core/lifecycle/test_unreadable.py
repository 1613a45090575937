from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.lifecycle.transitions import sort_records
from airflow_provider_spark_operator.core.lifecycle.unreadable import refuse_application, refuse_cluster
from airflow_provider_spark_operator.core.models.cluster import ClusterState, ClusterStateRecord
from airflow_provider_spark_operator.core.models.status import ApplicationStatus
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import INITIALIZING, ApplicationState
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome, judge_progress
from tests.builders import NOW, build_application_document, build_status_at, seconds
from tests.core.cluster_resources.clusters import build_cluster_document

S = ApplicationState
SENTENCE = "spec.jars: must be a string, not a number: put it in quotes"
LATER = NOW + seconds(5)


def build_unreadable_application(**modifiers: Any) -> dict[str, Any]:
    return build_application_document(jars=7, restart={"restartPolicy": "Always"}, **modifiers)


def refuse(document: dict[str, Any]) -> ApplicationStatus:
    status = refuse_application(document, SENTENCE, LATER)
    assert status is not None
    return status


def test_unreadable_application_fails_immediately_with_cause() -> None:
    status = refuse(build_unreadable_application())
    submitted, failure, released = sort_records(status.state_transition_history)
    assert (submitted.current_state_summary, submitted.last_transition_time) == (S.SUBMITTED, NOW)
    assert (failure.current_state_summary, failure.message) == (S.SCHEDULING_FAILURE, SENTENCE)
    assert released == status.current_state
    assert (released.current_state_summary, released.last_transition_time) == (S.RESOURCE_RELEASED, LATER)


def test_unreadable_application_is_not_worth_a_retry() -> None:
    document = build_unreadable_application()
    verdict = judge_progress(read_progress({**document, "status": refuse(document).to_document()}))
    assert (verdict.outcome, verdict.failure_kind) == (Outcome.FAILED, FailureKind.SCHEDULING)
    assert (verdict.reason, verdict.retry_worthy) == (reasons.SPEC_UNBUILDABLE, False)
    assert SENTENCE in verdict.sentence


def test_application_without_spec_is_released() -> None:
    document = build_unreadable_application()
    del document["spec"]
    assert refuse(document).current_state.current_state_summary is S.RESOURCE_RELEASED


def test_application_without_creation_time_is_submitted_now() -> None:
    document = build_unreadable_application()
    del document["metadata"]["creationTimestamp"]
    assert sort_records(refuse(document).state_transition_history)[0].last_transition_time == LATER


@pytest.mark.parametrize("state", S)
def test_unreadable_application_is_refused_only_before_start(state: ApplicationState) -> None:
    document = build_unreadable_application(status=build_status_at(state).to_document())
    assert (refuse_application(document, SENTENCE, LATER) is not None) is (state in INITIALIZING)


def test_unreadable_application_under_deletion_is_not_changed() -> None:
    assert refuse_application(build_unreadable_application(deleted=True), SENTENCE, LATER) is None


def test_unreadable_status_is_not_overwritten() -> None:
    foreign = {"currentState": {"currentStateSummary": "Submitted", "lastTransitionTime": "yesterday"}}
    assert refuse_application(build_unreadable_application(status=foreign), SENTENCE, LATER) is None


# --- clusters ---

MISSING_FIELD = "spec.runtimeVersions: is required"


def build_unreadable_cluster(**metadata: Any) -> dict[str, Any]:
    document = build_cluster_document()
    del document["spec"]["runtimeVersions"]
    document["metadata"] |= {"creationTimestamp": NOW.isoformat(), **metadata}
    return document


def test_unreadable_cluster_fails_immediately_with_cause() -> None:
    status = refuse_cluster(build_unreadable_cluster(), MISSING_FIELD, LATER)
    assert status is not None
    submitted, failure, failed = status.state_transition_history.values()
    assert isinstance(submitted, ClusterStateRecord)
    assert isinstance(failure, ClusterStateRecord)
    assert (submitted.current_state_summary, submitted.last_transition_time) == (ClusterState.SUBMITTED, NOW)
    assert (failure.message, failure.reason) == (MISSING_FIELD, reasons.SPEC_UNBUILDABLE)
    assert failed == status.current_state
    assert (status.current_state.current_state_summary, status.current_state.reason) == (
        ClusterState.RESOURCE_RELEASED,
        reasons.CLUSTER_RELEASED,
    )
    assert status.current_state.last_transition_time == LATER
    assert f"The cluster cannot run: {MISSING_FIELD}. Fix the cause" in (status.current_state.message or "")


def test_unreadable_cluster_without_creation_time_is_submitted_now() -> None:
    status = refuse_cluster(build_unreadable_cluster(creationTimestamp=None), MISSING_FIELD, LATER)
    assert status is not None
    submitted = status.state_transition_history["0"]
    assert isinstance(submitted, ClusterStateRecord)
    assert submitted.last_transition_time == LATER


@pytest.mark.parametrize("state", ClusterState)
def test_unreadable_cluster_is_refused_only_before_start(state: ClusterState) -> None:
    current = {"currentStateSummary": state, "lastTransitionTime": NOW.isoformat()}
    document = build_unreadable_cluster() | {"status": {"currentState": current}}
    assert (refuse_cluster(document, MISSING_FIELD, LATER) is not None) is (state is ClusterState.SUBMITTED)


@pytest.mark.parametrize(
    "document",
    [
        build_unreadable_cluster(deletionTimestamp=NOW.isoformat()),
        build_unreadable_cluster() | {"status": {"currentState": {"currentStateSummary": "Orbiting"}}},
    ],
    ids=["deleted", "unreadable status"],
)
def test_deleted_or_foreign_cluster_is_not_changed(document: dict[str, Any]) -> None:
    assert refuse_cluster(document, MISSING_FIELD, LATER) is None
