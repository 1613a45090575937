"""How the operator of each dialect writes the life of an application into its status."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from airflow_provider_spark_operator.core.dialects.dialect import APACHE, KUBEFLOW
from airflow_provider_spark_operator.core.dialects.kubeflow import driver_pod_name
from airflow_provider_spark_operator.core.dialects.record import Dialect

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class StateChange:
    """One state that an application enters.

    Attributes:
        state: The dialect's word.
        message: For a person.
        reason: A constant of `core.reasons`.
        driver: The driver pod's status.
    """

    state: str
    message: str | None = None
    reason: str | None = None
    driver: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Life:
    """The words of one dialect for the parts of a life, and how they are written.

    Attributes:
        waiting: Until the driver is asked for.
        running: From the driver's start until everything runs.
        succeeding: From the driver's good end to the application's.
        failing: The same for a bad end.
        written: The application with the change in its status.
    """

    waiting: tuple[str, ...]
    running: tuple[str, ...]
    succeeding: tuple[str, ...]
    failing: tuple[str, ...]
    written: Callable[[JsonObject, StateChange], JsonObject]


def life_in(dialect: Dialect) -> Life:
    """The life of applications of this dialect."""
    return _LIVES[dialect.group]


def state_of(document: Mapping[str, Any], dialect: Dialect) -> str | None:
    """The state word that is written in the application; None where there is none."""
    status = document.get("status") or {}
    if dialect is KUBEFLOW:
        return (status.get("applicationState") or {}).get("state")
    return (status.get("currentState") or {}).get("currentStateSummary")


def _apache(document: JsonObject, change: StateChange) -> JsonObject:
    entry: JsonObject = {"currentStateSummary": change.state, "lastTransitionTime": datetime.now(UTC).isoformat()}
    entry |= {"message": change.message} if change.message else {}
    entry |= {"reason": change.reason} if change.reason else {}
    entry |= {"lastObservedDriverStatus": change.driver} if change.driver else {}
    status = document.setdefault("status", {})
    history = status.setdefault("stateTransitionHistory", {})
    history[str(len(history))] = entry
    status["currentState"] = entry
    status.setdefault("currentAttemptSummary", {"attemptInfo": {"id": 0}})
    return document


def _kubeflow(document: JsonObject, change: StateChange) -> JsonObject:
    status = document.setdefault("status", {})
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    told: JsonObject = {"state": change.state}
    message = change.message if change.driver is None else _driver_sentence(change.driver)
    before = (status.get("applicationState") or {}).get("errorMessage")
    if message or (before and change.state == "FAILED"):
        told["errorMessage"] = message or before
    if change.state in ("SUBMITTED", "SUBMISSION_FAILED"):
        name = document["metadata"]["name"]
        attempts = status.get("submissionAttempts", 0) + 1
        status |= {"submissionAttempts": attempts, "lastSubmissionAttemptTime": now, "submissionID": f"{attempts}"}
        status["driverInfo"] = {"podName": driver_pod_name(document, name)}
    if change.state == "SUBMITTED":
        status["executionAttempts"] = status.get("executionAttempts", 0) + 1
        status["sparkApplicationId"] = f"spark-{document['metadata']['uid'][:8]}-{status['executionAttempts']}"
    if change.state in ("SUCCEEDING", "FAILING", "FAILED"):
        status.setdefault("terminationTime", now)
    status["applicationState"] = told
    return document


def _driver_sentence(driver: Mapping[str, Any]) -> str | None:
    for container in driver.get("containerStatuses") or ():
        ended = container["state"].get("terminated") or {}
        if ended.get("exitCode"):
            return f"driver container failed with ExitCode: {ended['exitCode']}, Reason: {ended.get('reason', '')}"
    return None


_LIVES: Final[Mapping[str, Life]] = {
    APACHE.group: Life(
        waiting=("Submitted", "DriverRequested"),
        running=("DriverStarted", "DriverReady", "RunningHealthy"),
        succeeding=("Succeeded", "ResourceReleased"),
        failing=("Failed", "TerminatedWithoutReleaseResources"),
        written=_apache,
    ),
    KUBEFLOW.group: Life(
        waiting=("SUBMITTED",),
        running=("RUNNING",),
        succeeding=("SUCCEEDING", "COMPLETED"),
        failing=("FAILING", "FAILED"),
        written=_kubeflow,
    ),
}
