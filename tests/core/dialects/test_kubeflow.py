"""Kubeflow's SparkApplication, state by state, as its operator (v2.5) writes it."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.dialects.dialect import APACHE, KUBEFLOW, dialect_of
from airflow_provider_spark_operator.core.dialects.dialect import read_progress as progress_of_any
from airflow_provider_spark_operator.core.dialects.kubeflow import (
    KubeflowState,
    count_wanted_executors,
    find_problems,
    read_driver_pod_name,
    read_progress,
)
from airflow_provider_spark_operator.core.dialects.progress import Phase, find_last_stop, with_driver_status
from airflow_provider_spark_operator.core.dialects.record import Dialect
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.verdict import FailureKind, Outcome, judge_progress

SUBMITTED_AT, ENDED_AT = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"
EXIT_3 = "driver container failed with ExitCode: 3, Reason: Error"


def document(state: str = "", message: str = "", spec: dict[str, Any] | None = None, **status: int) -> dict[str, Any]:
    told = {"state": state} | ({"errorMessage": message} if message else {})
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "pi", "namespace": "jobs"},
        "spec": spec or {},
        "status": {
            "applicationState": told,
            "lastSubmissionAttemptTime": SUBMITTED_AT,
            "terminationTime": ENDED_AT,
            "executionAttempts": 1,
            "submissionAttempts": 1,
            "sparkApplicationId": "spark-abc",
            **status,
        },
    }


def restarting(kind: str, **policy: int) -> dict[str, Any]:
    return {"restartPolicy": {"type": kind, **policy}}


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        ("", Phase.WAITING),
        ("SUBMITTED", Phase.WAITING),
        ("SUBMISSION_FAILED", Phase.WAITING),
        ("RUNNING", Phase.RUNNING),
        ("SUCCEEDING", Phase.STOPPING),
        ("FAILING", Phase.STOPPING),
        ("PENDING_RERUN", Phase.WAITING),
        ("INVALIDATING", Phase.WAITING),
        ("SUSPENDING", Phase.WAITING),
        ("SUSPENDED", Phase.WAITING),
        ("RESUMING", Phase.WAITING),
        ("UNKNOWN", Phase.WAITING),
        ("SOMETHING_NEW", Phase.WAITING),
        ("COMPLETED", Phase.ENDED),
        ("FAILED", Phase.ENDED),
    ],
)
def test_every_state_has_a_phase(state: str, phase: Phase) -> None:
    seen = read_progress(document(state))
    assert (seen.state, seen.phase) == (state or "NEW", phase)


def test_every_state_word_is_known_to_the_dialect() -> None:
    assert {*KUBEFLOW.states, "NEW"} == set(KubeflowState)
    assert KUBEFLOW.success in KUBEFLOW.states


@pytest.mark.parametrize("status", [None, {}, [], {"applicationState": "RUNNING"}, {"executionAttempts": True}])
def test_what_is_not_understood_is_as_good_as_new(status: dict[str, Any] | list[Any] | None) -> None:
    seen = read_progress({"status": status})
    assert (seen.state, seen.phase, seen.attempt, seen.history) == ("NEW", Phase.WAITING, 0, ())


@pytest.mark.parametrize(
    ("api_version", "dialect"),
    [
        ("sparkoperator.k8s.io/v1beta2", KUBEFLOW),
        ("spark.apache.org/v1", APACHE),
        ("spark.apache.org/v1alpha1", APACHE),
        ("", APACHE),
        (None, APACHE),
    ],
)
def test_the_api_version_decides_the_dialect(api_version: str | None, dialect: Dialect) -> None:
    assert dialect_of(api_version) is dialect


def test_a_resource_is_read_in_its_own_dialect() -> None:
    assert progress_of_any(document("RUNNING")).state == "RUNNING"
    assert progress_of_any({"apiVersion": "spark.apache.org/v1"}).state == "Submitted"


def test_times_are_those_of_submission_and_end() -> None:
    assert read_progress(document("SUBMITTED")).since == datetime(2026, 1, 1, tzinfo=UTC)
    assert read_progress(document("FAILING")).since == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
    assert read_progress(document("RUNNING")).since is None


@pytest.mark.parametrize("end", [None, "2025-12-31T23:00:00Z"], ids=["no driver", "driver of an earlier attempt"])
def test_time_of_failed_submission_is_that_of_its_last_attempt(end: str | None) -> None:
    failed = document("FAILED", "failed to run spark-submit: exit status 1")
    failed["status"]["terminationTime"] = end
    assert read_progress(failed).since == datetime(2026, 1, 1, tzinfo=UTC)


def test_an_attempt_is_one_execution() -> None:
    assert read_progress(document("SUBMITTED", executionAttempts=0)).attempt == 0
    assert read_progress(document("SUBMITTED", executionAttempts=3)).attempt == 2
    assert read_progress(document("RUNNING")).application_id == "spark-abc"


@pytest.mark.parametrize("state", ["PENDING_RERUN", "INVALIDATING", "SUSPENDING", "SUSPENDED", "RESUMING"])
def test_between_attempts_another_one_follows(state: str) -> None:
    assert read_progress(document(state)).restart_pending


@pytest.mark.parametrize(
    ("state", "spec", "executions", "pending"),
    [
        ("FAILING", {}, 1, False),
        ("FAILING", restarting("Never"), 1, False),
        ("FAILING", restarting("OnFailure"), 1, False),  # no budget is none
        ("FAILING", restarting("OnFailure", onFailureRetries=1), 1, True),
        ("FAILING", restarting("OnFailure", onFailureRetries=1), 2, False),
        ("FAILING", restarting("Always"), 9, True),
        ("SUCCEEDING", restarting("Always"), 1, True),
        ("SUCCEEDING", restarting("OnFailure", onFailureRetries=9), 1, False),
        ("RUNNING", restarting("Always"), 1, False),
    ],
)
def test_whether_a_stop_is_the_last_one_depends_on_policy_and_budget(
    state: str, spec: dict[str, Any], executions: int, pending: bool
) -> None:
    assert read_progress(document(state, spec=spec, executionAttempts=executions)).restart_pending is pending


@pytest.mark.parametrize(
    ("state", "meaning"),
    [
        ("SUCCEEDING", ApplicationState.SUCCEEDED),
        ("COMPLETED", ApplicationState.SUCCEEDED),
        ("FAILING", ApplicationState.FAILED),
        ("FAILED", ApplicationState.FAILED),
    ],
)
def test_a_stop_means_what_it_means_elsewhere(state: str, meaning: ApplicationState) -> None:
    stop = find_last_stop(read_progress(document(state)).history)
    assert stop is not None
    assert (stop.state, stop.meaning) == (state, meaning)


@pytest.mark.parametrize("state", ["SUCCEEDING", "FAILING", "PENDING_RERUN", "SUBMISSION_FAILED", "UNKNOWN", ""])
def test_nothing_is_judged_before_the_end(state: str) -> None:
    assert judge_progress(read_progress(document(state, EXIT_3))).outcome is Outcome.WAITING


def test_a_completed_application_has_succeeded() -> None:
    assert judge_progress(read_progress(document("COMPLETED"))).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    ("message", "kind", "reason", "retry_worthy", "words"),
    [
        (EXIT_3, FailureKind.APPLICATION, reasons.DRIVER_FAILED, True, "exit code 3 (Error)"),
        (
            "driver container failed with ExitCode: 137, Reason: OOMKilled",
            FailureKind.APPLICATION,
            reasons.OUT_OF_MEMORY,
            False,
            "raise spec.driver.memory or spec.driver.memoryOverhead",
        ),
        (
            "failed during batch scheduler setup or check: no volcano",
            FailureKind.SCHEDULING,
            reasons.SCHEDULING_FAILED,
            True,
            "no volcano",
        ),
        ("driver pod not found", FailureKind.INFRASTRUCTURE, reasons.DRIVER_LOST, True, "driver pod not found"),
        ("driver container status missing", FailureKind.INFRASTRUCTURE, reasons.DRIVER_LOST, True, "status missing"),
        ("", FailureKind.INFRASTRUCTURE, reasons.DRIVER_LOST, True, "its result is unknown"),
    ],
)
def test_a_failure_is_told_from_its_message(
    message: str, kind: FailureKind, reason: str, retry_worthy: bool, words: str
) -> None:
    judged = judge_progress(read_progress(document("FAILED", message)))
    assert (judged.outcome, judged.failure_kind, judged.reason) == (Outcome.FAILED, kind, reason)
    assert judged.retry_worthy is retry_worthy
    assert judged.sentence.startswith("FAILED: ")
    assert words in judged.sentence


@pytest.mark.parametrize(
    ("message", "driver", "kind", "words"),
    [
        (
            "driver container status missing",
            {"phase": "Failed", "reason": "Evicted", "message": "low on memory"},
            FailureKind.INFRASTRUCTURE,
            "evicted from its node: low on memory; .*spec.driver.memoryOverhead",
        ),
        (
            EXIT_3,
            {
                "phase": "Failed",
                "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}],
            },
            FailureKind.INFRASTRUCTURE,
            "priorityClassName in spec.driver[)]",
        ),
        (
            "driver container status missing",
            {"phase": "Failed", "reason": "OutOfcpu", "message": "no room"},
            FailureKind.SCHEDULING,
            "rejected the driver pod",
        ),
    ],
)
def test_the_driver_pod_that_is_kept_says_more(
    message: str, driver: dict[str, Any], kind: FailureKind, words: str
) -> None:
    judged = judge_progress(with_driver_status(read_progress(document("FAILED", message)), driver))
    assert judged.failure_kind is kind
    assert re.search(words, judged.sentence)


@pytest.mark.parametrize(
    ("state", "message"), [("COMPLETED", ""), ("RUNNING", ""), ("FAILED", "failed to submit spark application: no")]
)
def test_a_driver_pod_adds_nothing_to_what_did_not_fail_in_it(state: str, message: str) -> None:
    seen = read_progress(document(state, message))
    assert with_driver_status(seen, {"phase": "Failed", "reason": "Evicted"}) is seen


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({}, 1),
        ({"executor": {"instances": 4}}, 4),
        ({"executor": {"instances": 4}, "dynamicAllocation": {"enabled": True, "minExecutors": 2}}, 2),
        ({"dynamicAllocation": {"enabled": True}}, 0),
        ({"dynamicAllocation": {"enabled": False, "minExecutors": 2}}, 1),
    ],
)
def test_the_number_of_executors_to_wait_for(spec: dict[str, Any], wanted: int) -> None:
    assert count_wanted_executors({"spec": spec}) == wanted


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({}, "pi-driver"),
        ({"driver": {"podName": "mine"}}, "mine"),
        ({"sparkConf": {"spark.kubernetes.driver.pod.name": "other"}}, "other"),
    ],
)
def test_the_driver_pod_has_the_same_name_in_every_attempt(spec: dict[str, Any], name: str) -> None:
    assert read_driver_pod_name({"metadata": {"name": "pi"}, "spec": spec}, None) == name


VALID = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "metadata": {},
    "spec": {"type": "Python", "sparkVersion": "4.0.0", "mainApplicationFile": "a.py", "driver": {}, "executor": {}},
}


def test_a_complete_document_has_no_problems() -> None:
    assert find_problems(VALID) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"apiVersion": "sparkoperator.k8s.io/v1alpha1"}, ["apiVersion: must be sparkoperator.k8s.io/v1beta2"]),
        ({"kind": "ScheduledSparkApplication"}, ["kind: must be SparkApplication"]),
        ({"metadata": "pi"}, ["metadata: must be an object"]),
        ({"spec": None}, ["spec: must be an object"]),
        (
            {"spec": {"type": "python"}},
            [
                "spec.type: must be one of Java, Scala, Python, R, not 'python'",
                "spec.sparkVersion: is required",
                "spec.mainApplicationFile: is required",
                "spec.driver: must be an object",
                "spec.executor: must be an object",
            ],
        ),
    ],
)
def test_what_kubeflows_definition_refuses_is_named(change: dict[str, Any], found: list[str]) -> None:
    told = [str(problem) for problem in find_problems({**VALID, **change})]
    assert len(told) == len(found)
    assert all(said.startswith(expected) for said, expected in zip(told, found, strict=True))


@pytest.mark.parametrize(
    "message",
    [
        "failed to submit spark application: failed to run spark-submit: driver pod already exist",
        "failed to submit spark application: DRIVER_POD_ALREADY_EXISTS: pod already exists",
    ],
)
def test_driver_that_exists_already_decides_how_the_application_ends(message: str) -> None:
    seen = read_progress(document("FAILED", message))
    assert (seen.driver_abandoned, seen.phase) == (True, Phase.RUNNING)
    assert judge_progress(seen).outcome is Outcome.WAITING


def test_driver_pod_of_an_application_without_a_name_is_unknown() -> None:
    assert read_driver_pod_name({"spec": {}}, None) is None
