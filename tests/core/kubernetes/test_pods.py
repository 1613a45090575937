from datetime import datetime

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.kubernetes import pods
from airflow_provider_spark_operator.core.lifecycle.application import decide
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.core.lifecycle.observation import Observed, Present
from airflow_provider_spark_operator.core.lifecycle.transitions import move
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, judge_progress
from tests.builders import (
    NOW,
    build_application_document,
    build_application_model,
    build_container,
    build_pod,
    build_status_at,
    seconds,
)

S = ApplicationState


@pytest.mark.parametrize(
    ("finished", "kind", "reason"),
    [
        (None, FailureKind.INFRASTRUCTURE, reasons.DRIVER_INTERRUPTED),
        (NOW + seconds(1), FailureKind.INFRASTRUCTURE, reasons.DRIVER_INTERRUPTED),
        (NOW, FailureKind.INFRASTRUCTURE, reasons.DRIVER_INTERRUPTED),
        (NOW - seconds(1), FailureKind.APPLICATION, reasons.DRIVER_FAILED),
    ],
    ids=["unknown", "after the deletion", "with the deletion", "before the deletion"],
)
def test_driver_that_ends_after_deletion_is_an_infrastructure_failure(
    finished: datetime | None, kind: FailureKind, reason: str
) -> None:
    ended = build_container(exit_code=143, reason="Error")
    if finished is not None:
        ended["state"]["terminated"]["finishedAt"] = finished.isoformat()
    deleted = build_pod("Failed", ended, deletion=NOW + seconds(30))
    running = build_application_model(status=build_status_at(S.RUNNING_HEALTHY))
    decision = decide(running, Observed(Present(deleted)), Settings(), NOW + seconds(2))
    assert decision.status is not None
    released = move(decision.status, S.RESOURCE_RELEASED, NOW, "")
    verdict = judge_progress(read_progress(build_application_document(status=released.to_document())))
    assert (verdict.failure_kind, verdict.reason) == (kind, reason)
    assert "exit code 143 (Error, killed by SIGTERM)" in verdict.sentence
    assert ("the driver pod was deleted while it ran" in verdict.sentence) is (kind is FailureKind.INFRASTRUCTURE)


SIGNALS = {"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "ABRT": 6, "FPE": 8, "KILL": 9, "SEGV": 11, "PIPE": 13, "TERM": 15}


@pytest.mark.parametrize(("name", "number"), SIGNALS.items())
def test_exit_code_above_128_is_described_with_signal(name: str, number: int) -> None:
    (ended,) = pods.list_containers({"containerStatuses": [build_container(exit_code=128 + number)]})
    assert pods.describe_exit(ended) == f"exit code {128 + number} (killed by SIG{name})"


@pytest.mark.parametrize(("code", "words"), [(128, "exit code 128"), (133, "exit code 133"), (1, "exit code 1")])
def test_exit_code_without_known_signal_is_described_as_number(code: int, words: str) -> None:
    (ended,) = pods.list_containers({"containerStatuses": [build_container(exit_code=code)]})
    assert pods.describe_exit(ended) == words


ANNOTATION = {"path": "requested", "fieldRef": {"fieldPath": "metadata.annotations['stop']"}}
ALL_ANNOTATIONS = {"path": "all", "fieldRef": {"fieldPath": "metadata.annotations"}}
MEMORY = {"path": "memory", "resourceFieldRef": {"resource": "limits.memory"}}


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ([{"name": "a", "downwardAPI": {"items": [MEMORY, ANNOTATION]}}], True),
        ([{"name": "a", "projected": {"sources": [{"downwardAPI": {"items": [ALL_ANNOTATIONS]}}]}}], True),
        ([{"name": "a", "emptyDir": {}}, {"name": "b", "downwardAPI": {"items": [MEMORY]}}], False),
        ([{"name": "a", "downwardAPI": None}, "b"], False),
        (None, False),
    ],
)
def test_annotation_is_shown_by_a_volume_with_its_field(volumes: object, expected: bool) -> None:
    assert pods.shows_annotation({"spec": {"volumes": volumes}}, "stop") is expected
