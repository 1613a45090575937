"""Applications, pods and Events as the API returns them."""

from datetime import datetime
from typing import Any

from airflow_provider_spark_operator.core.kubernetes.names import (
    ANNOTATION_DAG_ID,
    ANNOTATION_MAP_INDEX,
    ANNOTATION_RUN_ID,
    ANNOTATION_TASK_ID,
    ANNOTATION_TRY_NUMBER,
    LABEL_APPLICATION_NAME,
    LABEL_APPLICATION_SELECTOR,
    LABEL_ROLE,
)
from tests.builders import NOW, build_application_document, seconds


def at(second: float) -> datetime:
    """Return the time `second` seconds after the submission."""
    return NOW + seconds(second)


def build_history(*moves: tuple[str, float], first: int = 0) -> dict[str, Any]:
    """Return a history of states with their times in seconds after the submission."""
    return {
        str(first + position): {"currentStateSummary": state, "lastTransitionTime": at(second).isoformat()}
        for position, (state, second) in enumerate(moves)
    }


def build_application(*moves: tuple[str, float], attempt: int = 0, **modifiers: Any) -> dict[str, Any]:
    """Return a SparkApplication of spark.apache.org with these states."""
    history = build_history(*moves)
    status = {
        "currentState": history[str(len(moves) - 1)],
        "stateTransitionHistory": history,
        "currentAttemptSummary": {"attemptInfo": {"id": attempt}},
    }
    return build_application_document(status=status, **modifiers)


def build_kubeflow(state: str, message: str = "", **status: Any) -> dict[str, Any]:
    """Return a SparkApplication of Kubeflow: submitted after 1 s, and terminated after 60 s if `status` has no time."""
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "pi", "namespace": "jobs", "uid": "u", "creationTimestamp": at(0).isoformat()},
        "spec": {"executor": {"instances": 2}},
        "status": {
            "applicationState": {"state": state, "errorMessage": message},
            "lastSubmissionAttemptTime": at(1).isoformat(),
            "terminationTime": at(60).isoformat() if state in ("COMPLETED", "FAILED", "FAILING") else None,
            "executionAttempts": 1,
            "submissionAttempts": 1,
            "sparkApplicationId": "spark-abc",
            **status,
        },
    }


def build_annotations(*, index: str = "-1") -> dict[str, str]:
    """Return the annotations of an application that a task submitted."""
    return {
        ANNOTATION_DAG_ID: "sales",
        ANNOTATION_TASK_ID: "load",
        ANNOTATION_RUN_ID: "manual__1",
        ANNOTATION_MAP_INDEX: index,
        ANNOTATION_TRY_NUMBER: "2",
    }


def build_spark_pod(
    name: str,
    *,
    role: str = "executor",
    application_id: str = "pi-0",
    label: str = LABEL_APPLICATION_NAME,
    started: float | None = 10,
    ended: float | None = None,
    exit_code: int = 0,
    reason: str = "Completed",
    ready: bool = True,
) -> dict[str, Any]:
    """Return a pod of the application `pi`: pending without `started`, running, or terminated at `ended`."""
    state: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
    phase = "Pending"
    if started is not None:
        state, phase = {"running": {"startedAt": at(started).isoformat()}}, "Running"
    if started is not None and ended is not None:
        times = {"startedAt": at(started).isoformat(), "finishedAt": at(ended).isoformat()}
        state = {"terminated": {"exitCode": exit_code, "reason": reason, **times}}
        phase = "Failed" if exit_code else "Succeeded"
    labels = {label: "pi", LABEL_ROLE: role, LABEL_APPLICATION_SELECTOR: application_id}
    return {
        "metadata": {"name": name, "namespace": "jobs", "uid": f"uid-of-{name}", "labels": labels},
        "spec": {"containers": [{"name": f"spark-kubernetes-{role}"}]},
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": str(phase == "Running" and ready)}],
            "containerStatuses": [{"name": f"spark-kubernetes-{role}", "ready": ready, "state": state}],
        },
    }


def build_event(reason: str, second: float, *, pod: str = "", message: str = "") -> dict[str, Any]:
    """Return an Event about a pod, or about the application if `pod` is empty."""
    subject = (
        {"kind": "Pod", "name": pod, "uid": f"uid-of-{pod}"} if pod else {"kind": "SparkApplication", "name": "pi"}
    )
    time = at(second).isoformat()
    return {
        "involvedObject": subject,
        "reason": reason,
        "message": message,
        "firstTimestamp": time,
        "lastTimestamp": time,
    }
