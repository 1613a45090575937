"""Ends that an operator reports without having read them from a driver: the driver pods decide."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import dialect_of, read_progress
from airflow_provider_spark_operator.core.dialects.progress import find_last_stop
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.verdict.driver_facts import confirm_end
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome, Verdict, judge_progress

CREATED, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z"
QUOTA = "failed to submit spark application: failed to run spark-submit: pods is forbidden: exceeded quota"


def build_kubeflow(message: str = QUOTA) -> dict[str, Any]:
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "metadata": {"name": "pi", "namespace": "jobs", "uid": "u1", "creationTimestamp": CREATED},
        "spec": {},
        "status": {
            "applicationState": {"state": "FAILED", "errorMessage": message},
            "driverInfo": {"podName": "pi-driver"},
        },
    }


def build_apache(*states: str, message: str = "", driver_status: Any = None) -> dict[str, Any]:
    history = [{"currentStateSummary": state, "message": message} for state in states]
    if driver_status:
        history[-2]["lastObservedDriverStatus"] = driver_status
    return {
        "apiVersion": "spark.apache.org/v1",
        "metadata": {"name": "pi", "namespace": "jobs", "uid": "u1", "creationTimestamp": CREATED},
        "spec": {},
        "status": {
            "currentState": history[-1],
            "stateTransitionHistory": {str(number): entry for number, entry in enumerate(history)},
            "currentAttemptSummary": {"attemptInfo": {"id": 1}},
        },
    }


REFUSED = build_apache("Submitted", "SchedulingFailure", "ResourceReleased", message="the API did not answer")
LOST = build_apache("Submitted", "DriverRequested", "RunningHealthy", "Failed", "ResourceReleased")
CANCELLED = build_apache("Submitted", "DriverRequested", "ResourceReleased")
UNREAD = {
    "quota": build_kubeflow(),
    "timeout": build_kubeflow("failed to submit spark application: context deadline exceeded"),
    "exists": build_kubeflow("failed to submit spark application: driver pod already exist"),
    "not found": build_kubeflow("driver pod not found"),
    "no message": build_kubeflow(""),
    "refused": REFUSED,
    "lost": LOST,
    "cancelled": CANCELLED,
}


def build_driver(name: str, phase: str = "Running", code: int | None = None, created: str = LATER) -> dict[str, Any]:
    """Build a driver pod. With an exit code, its container has ended; a sidecar may still run."""
    state = {"running": {}} if code is None else {"terminated": {"exitCode": code, "finishedAt": LATER}}
    container = {"name": "spark-kubernetes-driver", "state": state}
    return {
        "metadata": {"name": name, "creationTimestamp": created},
        "status": {"phase": phase, "containerStatuses": [container, {"name": "proxy", "state": {"running": {}}}]},
    }


def get_driver_name(application: dict[str, Any]) -> str:
    name = read_progress(application).driver_name
    assert name is not None
    return name


def judge(application: dict[str, Any], *drivers: dict[str, Any], was_alive: bool = False) -> Verdict:
    return judge_progress(confirm_end(read_progress(application), application, drivers, was_alive=was_alive))


@pytest.mark.parametrize("application", UNREAD.values(), ids=UNREAD)
def test_end_is_unknown_until_the_driver_pods_are_read(application: dict[str, Any]) -> None:
    verdict = judge_progress(read_progress(application))
    assert (verdict.outcome, verdict.failure_kind, verdict.retry_worthy) == (Outcome.UNKNOWN, None, False)
    assert "The end is unknown until the driver pod is read" in verdict.sentence


@pytest.mark.parametrize("application", UNREAD.values(), ids=UNREAD)
def test_live_driver_means_that_the_application_runs(application: dict[str, Any]) -> None:
    drivers = [build_driver(get_driver_name(application))]
    seen = confirm_end(read_progress(application), application, drivers)
    assert judge_progress(seen).outcome is Outcome.WAITING
    running = dialect_of(application["apiVersion"]).running
    assert (seen.state, seen.history[-1].state, find_last_stop(seen.history)) == (running, running, None)
    assert f"The operator reports {read_progress(application).state}" in str(seen.message)
    assert str(seen.message).endswith(", but a driver pod exists")


@pytest.mark.parametrize("application", UNREAD.values(), ids=UNREAD)
@pytest.mark.parametrize(
    ("driver", "outcome", "kind"),
    [
        ({"code": 0}, Outcome.SUCCEEDED, None),
        ({"phase": "Succeeded", "code": 0}, Outcome.SUCCEEDED, None),
        ({"phase": "Failed", "code": 3}, Outcome.FAILED, FailureKind.APPLICATION),
    ],
    ids=["sidecar runs", "succeeded", "failed"],
)
def test_ended_driver_decides(
    application: dict[str, Any], driver: dict[str, Any], outcome: Outcome, kind: FailureKind | None
) -> None:
    verdict = judge(application, build_driver(get_driver_name(application), **driver))
    assert (verdict.outcome, verdict.failure_kind) == (outcome, kind)
    assert outcome is Outcome.SUCCEEDED or "exit code 3" in verdict.sentence


def test_evicted_driver_is_an_infrastructure_failure() -> None:
    driver = build_driver("pi-driver", "Failed")
    driver["status"] |= {"reason": "Evicted", "containerStatuses": []}
    verdict = judge(build_kubeflow(), driver)
    assert (verdict.failure_kind, verdict.reason) == (FailureKind.INFRASTRUCTURE, reasons.DRIVER_EVICTED)
    assert verdict.sentence.startswith("FAILED: ")


@pytest.mark.parametrize(
    ("application", "kind"),
    [
        (UNREAD["quota"], FailureKind.SCHEDULING),
        (UNREAD["not found"], FailureKind.INFRASTRUCTURE),
        (REFUSED, FailureKind.SCHEDULING),
        (LOST, FailureKind.INFRASTRUCTURE),
        (CANCELLED, FailureKind.INFRASTRUCTURE),
    ],
    ids=["quota", "not found", "refused", "lost", "cancelled"],
)
def test_report_of_the_operator_counts_without_a_driver_pod(application: dict[str, Any], kind: FailureKind) -> None:
    verdict = judge(application)
    assert (verdict.outcome, verdict.failure_kind) == (Outcome.FAILED, kind)


@pytest.mark.parametrize("application", [UNREAD["quota"], REFUSED, CANCELLED], ids=["kubeflow", "apache", "cancelled"])
def test_driver_that_disappeared_while_it_ran_is_lost(application: dict[str, Any]) -> None:
    verdict = judge(application, was_alive=True)
    assert (verdict.failure_kind, verdict.reason) == (FailureKind.INFRASTRUCTURE, reasons.DRIVER_LOST)


def test_driver_of_an_earlier_application_with_this_name_is_ignored() -> None:
    assert (
        judge(build_kubeflow(), build_driver("pi-driver", created="2025-12-31T00:00:00Z")).failure_kind == "scheduling"
    )


def test_ended_driver_of_an_earlier_attempt_does_not_decide() -> None:
    assert judge(REFUSED, build_driver("pi-0-driver", "Succeeded", 0)).failure_kind is FailureKind.SCHEDULING


def test_live_driver_of_an_earlier_attempt_means_that_the_application_runs() -> None:
    assert judge(REFUSED, build_driver("pi-0-driver")).outcome is Outcome.WAITING


def test_latest_driver_decides_if_its_name_is_unknown() -> None:
    application = build_kubeflow()
    del application["status"]["driverInfo"]
    drivers = [build_driver("a", "Succeeded", 0, "2026-01-01T00:00:09Z"), build_driver("b", "Failed", 3)]
    assert judge(application, *drivers).outcome is Outcome.SUCCEEDED


def test_success_keeps_earlier_states_and_has_the_state_of_its_dialect() -> None:
    seen = confirm_end(read_progress(LOST), LOST, [build_driver(get_driver_name(LOST), code=0)])
    states = ["Submitted", "DriverRequested", "RunningHealthy", "Succeeded", "ResourceReleased"]
    assert [entry.state for entry in seen.history] == states
    kubeflow = confirm_end(read_progress(build_kubeflow()), build_kubeflow(), [build_driver("pi-driver", code=0)])
    assert [entry.state for entry in kubeflow.history] == ["COMPLETED"]


EXIT_3 = {"phase": "Failed", "containerStatuses": [{"name": "d", "state": {"terminated": {"exitCode": 3}}}]}


@pytest.mark.parametrize(
    "application",
    [
        build_kubeflow("driver container failed with ExitCode: 3, Reason: Error"),
        build_apache("Submitted", "DriverRequested", "Failed", "ResourceReleased", driver_status=EXIT_3),
        build_apache("Submitted", "DriverRequested", "Succeeded", "ResourceReleased"),
        build_apache("Submitted", "DriverRequested", "DriverStartTimedOut", "ResourceReleased"),
        build_apache("Submitted", "Failed", "ResourceReleased", message="Client mode is not supported"),
        build_apache("Submitted", "DriverRequested", "RunningHealthy"),
    ],
    ids=["kubeflow", "exit code", "succeeded", "timed out", "rejected spec", "running"],
)
def test_end_that_was_read_from_a_driver_needs_no_driver_pod(application: dict[str, Any]) -> None:
    seen = read_progress(application)
    assert not seen.has_unread_end
    assert confirm_end(seen, application, [build_driver("pi-driver")]) is seen
