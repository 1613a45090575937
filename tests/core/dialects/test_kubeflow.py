"""The status of Kubeflow's SparkApplication in each state, as Kubeflow's operator 2.5 writes it."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.base import Dialect
from airflow_provider_spark_operator.core.dialects.dialect import APACHE, KUBEFLOW, dialect_of, read_progress
from airflow_provider_spark_operator.core.dialects.kubeflow import KubeflowState
from airflow_provider_spark_operator.core.dialects.progress import Phase, find_last_stop, with_driver_status
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.core.verdict.driver_facts import confirm_end
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome, judge_progress

SUBMITTED_AT, ENDED_AT = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"
EXIT_3 = "driver container failed with ExitCode: 3, Reason: Error"


def build_document(
    state: str = "", message: str = "", spec: dict[str, Any] | None = None, **status: int
) -> dict[str, Any]:
    application_state = {"state": state} | ({"errorMessage": message} if message else {})
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "pi", "namespace": "jobs"},
        "spec": spec or {},
        "status": {
            "applicationState": application_state,
            "lastSubmissionAttemptTime": SUBMITTED_AT,
            "terminationTime": ENDED_AT,
            "executionAttempts": 1,
            "submissionAttempts": 1,
            "sparkApplicationId": "spark-abc",
            **status,
        },
    }


def build_restart_policy(kind: str, **policy: int) -> dict[str, Any]:
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
    seen = KUBEFLOW.read_progress(build_document(state))
    assert (seen.state, seen.phase) == (state or "NEW", phase)


def test_dialect_contains_every_kubeflow_state() -> None:
    assert {*KUBEFLOW.states, "NEW"} == set(KubeflowState)
    assert KUBEFLOW.success in KUBEFLOW.states


@pytest.mark.parametrize("status", [None, {}, [], {"applicationState": "RUNNING"}, {"executionAttempts": True}])
def test_unknown_status_has_state_new(status: dict[str, Any] | list[Any] | None) -> None:
    seen = KUBEFLOW.read_progress({"status": status})
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
def test_dialect_depends_on_api_version(api_version: str | None, dialect: Dialect) -> None:
    assert dialect_of(api_version) is dialect


def test_progress_is_read_by_dialect_of_resource() -> None:
    assert read_progress(build_document("RUNNING")).state == "RUNNING"
    assert read_progress({"apiVersion": "spark.apache.org/v1"}).state == "Submitted"


def test_times_are_read_from_submission_and_termination() -> None:
    assert KUBEFLOW.read_progress(build_document("SUBMITTED")).since == datetime(2026, 1, 1, tzinfo=UTC)
    assert KUBEFLOW.read_progress(build_document("FAILING")).since == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
    assert KUBEFLOW.read_progress(build_document("RUNNING")).since is None


@pytest.mark.parametrize("end", [None, "2025-12-31T23:00:00Z"], ids=["no driver", "driver of an earlier attempt"])
def test_failed_submission_has_time_of_last_attempt(end: str | None) -> None:
    failed = build_document("FAILED", "failed to run spark-submit: exit status 1")
    failed["status"]["terminationTime"] = end
    assert KUBEFLOW.read_progress(failed).since == datetime(2026, 1, 1, tzinfo=UTC)


def test_application_whose_submissions_failed_ended_at_its_termination() -> None:
    failed = build_document("FAILED", "failed to submit spark application: exit status 1")
    assert KUBEFLOW.read_progress(failed).since == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)


def test_answer_of_the_api_server_is_cut_from_the_message() -> None:
    message = (
        "failed to submit spark application: failed to run spark-submit: 26/01/01 00:00:00 WARN Utils: low\n"
        'Exception in thread "main" io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: POST '
        "at: https://10.0.0.1/api/v1/namespaces/jobs/pods. Message: pods is forbidden: exceeded quota: pods. "
        "Received status: Status(apiVersion=v1, code=403, details=StatusDetails(causes=[], group=null, kind=pods)).\n"
        "\tat io.fabric8.kubernetes.client.KubernetesClientException.copyAsCause(KubernetesClientException.java:205)\n"
    )
    assert KUBEFLOW.read_progress(build_document("SUBMISSION_FAILED", message)).message == (
        "failed to submit spark application: io.fabric8.kubernetes.client.KubernetesClientException: Failure "
        "executing: POST at: https://10.0.0.1/api/v1/namespaces/jobs/pods. "
        "Message: pods is forbidden: exceeded quota: pods"
    )


def test_attempt_is_counted_from_executions() -> None:
    assert KUBEFLOW.read_progress(build_document("SUBMITTED", executionAttempts=0)).attempt == 0
    assert KUBEFLOW.read_progress(build_document("SUBMITTED", executionAttempts=3)).attempt == 2
    assert KUBEFLOW.read_progress(build_document("RUNNING")).application_id == "spark-abc"


@pytest.mark.parametrize("state", ["PENDING_RERUN", "INVALIDATING", "SUSPENDING", "SUSPENDED", "RESUMING"])
def test_restart_is_pending_between_attempts(state: str) -> None:
    assert KUBEFLOW.read_progress(build_document(state)).restart_pending


@pytest.mark.parametrize(
    ("state", "spec", "executions", "pending"),
    [
        ("FAILING", {}, 1, False),
        ("FAILING", build_restart_policy("Never"), 1, False),
        ("FAILING", build_restart_policy("OnFailure"), 1, False),  # onFailureRetries defaults to 0
        ("FAILING", build_restart_policy("OnFailure", onFailureRetries=1), 1, True),
        ("FAILING", build_restart_policy("OnFailure", onFailureRetries=1), 2, False),
        ("FAILING", build_restart_policy("Always"), 9, True),
        ("SUCCEEDING", build_restart_policy("Always"), 1, True),
        ("SUCCEEDING", build_restart_policy("OnFailure", onFailureRetries=9), 1, False),
        ("RUNNING", build_restart_policy("Always"), 1, False),
    ],
)
def test_restart_after_stop_depends_on_policy_and_remaining_retries(
    state: str, spec: dict[str, Any], executions: int, pending: bool
) -> None:
    assert (
        KUBEFLOW.read_progress(build_document(state, spec=spec, executionAttempts=executions)).restart_pending
        is pending
    )


@pytest.mark.parametrize(
    ("state", "meaning"),
    [
        ("SUCCEEDING", ApplicationState.SUCCEEDED),
        ("COMPLETED", ApplicationState.SUCCEEDED),
        ("FAILING", ApplicationState.FAILED),
        ("FAILED", ApplicationState.FAILED),
    ],
)
def test_stop_has_meaning_of_apache_state(state: str, meaning: ApplicationState) -> None:
    stop = find_last_stop(KUBEFLOW.read_progress(build_document(state)).history)
    assert stop is not None
    assert (stop.state, stop.apache_state) == (state, meaning)


@pytest.mark.parametrize("state", ["SUCCEEDING", "FAILING", "PENDING_RERUN", "SUBMISSION_FAILED", "UNKNOWN", ""])
def test_outcome_is_waiting_until_application_ends(state: str) -> None:
    assert judge_progress(KUBEFLOW.read_progress(build_document(state, EXIT_3))).outcome is Outcome.WAITING


def test_completed_application_has_outcome_succeeded() -> None:
    assert judge_progress(KUBEFLOW.read_progress(build_document("COMPLETED"))).outcome is Outcome.SUCCEEDED


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
def test_failure_kind_and_reason_are_read_from_message(
    message: str, kind: FailureKind, reason: str, retry_worthy: bool, words: str
) -> None:
    document = build_document("FAILED", message)
    verdict = judge_progress(confirm_end(KUBEFLOW.read_progress(document), document, []))
    assert (verdict.outcome, verdict.failure_kind, verdict.reason) == (Outcome.FAILED, kind, reason)
    assert verdict.retry_worthy is retry_worthy
    assert verdict.sentence.startswith("FAILED: ")
    assert words in verdict.sentence


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
def test_status_of_kept_driver_pod_explains_failure(
    message: str, driver: dict[str, Any], kind: FailureKind, words: str
) -> None:
    verdict = judge_progress(with_driver_status(KUBEFLOW.read_progress(build_document("FAILED", message)), driver))
    assert verdict.failure_kind is kind
    assert re.search(words, verdict.sentence)


@pytest.mark.parametrize(
    ("state", "message"), [("COMPLETED", ""), ("RUNNING", ""), ("FAILED", "failed to submit spark application: no")]
)
def test_driver_status_is_ignored_if_driver_did_not_fail(state: str, message: str) -> None:
    seen = KUBEFLOW.read_progress(build_document(state, message))
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
def test_number_of_wanted_executors_depends_on_spec(spec: dict[str, Any], wanted: int) -> None:
    assert KUBEFLOW.count_wanted_executors({"spec": spec}) == wanted


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({}, "pi-driver"),
        ({"driver": {"podName": "mine"}}, "mine"),
        ({"sparkConf": {"spark.kubernetes.driver.pod.name": "other"}}, "other"),
    ],
)
def test_driver_pod_name_is_the_same_in_every_attempt(spec: dict[str, Any], name: str) -> None:
    assert KUBEFLOW.read_driver_pod_name({"metadata": {"name": "pi"}, "spec": spec}, None) == name


VALID: dict[str, Any] = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "metadata": {},
    "spec": {"type": "Python", "sparkVersion": "4.0.0", "mainApplicationFile": "a.py", "driver": {}, "executor": {}},
}


def test_complete_document_has_no_problems() -> None:
    assert KUBEFLOW.find_problems(VALID) == []


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
def test_invalid_field_is_reported_with_path(change: dict[str, Any], found: list[str]) -> None:
    problems = [str(problem) for problem in KUBEFLOW.find_problems({**VALID, **change})]
    assert len(problems) == len(found)
    assert all(problem.startswith(expected) for problem, expected in zip(problems, found, strict=True))


def test_grace_period_in_the_template_of_executors_is_a_warning() -> None:
    spec: dict[str, Any] = {**VALID["spec"], "executor": {"template": {"spec": {"terminationGracePeriodSeconds": 60}}}}
    (found,) = KUBEFLOW.find_problems({**VALID, "spec": spec})
    assert not found.is_error
    assert "set spec.executor.terminationGracePeriodSeconds" in str(found)


def test_application_without_name_has_no_driver_pod_name() -> None:
    assert KUBEFLOW.read_driver_pod_name({"spec": {}}, None) is None


def test_history_of_an_application_that_waits_for_its_next_attempt_has_the_end_of_the_driver() -> None:
    started = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    history = KUBEFLOW.read_history(build_document("PENDING_RERUN"), started)
    assert [(entry.state, entry.time) for entry in history] == [
        ("SUBMITTED", datetime(2026, 1, 1, tzinfo=UTC)),
        ("RUNNING", started),
        ("PENDING_RERUN", datetime(2026, 1, 1, 0, 5, tzinfo=UTC)),
    ]
