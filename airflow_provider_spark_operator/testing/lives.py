"""How the operator of each dialect writes the life of an application into its status."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from airflow_provider_spark_operator.core.dialects.dialect import APACHE, KUBEFLOW
from airflow_provider_spark_operator.core.dialects.record import Dialect
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.crds.definitions import custom_resource_definitions
from airflow_provider_spark_operator.testing.definitions import kubeflow_definition


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
        state: The state word that is written in the application; None where there is none.
        definitions: The CustomResourceDefinitions of the dialect.
        example: The spec of an application.
    """

    waiting: tuple[str, ...]
    running: tuple[str, ...]
    succeeding: tuple[str, ...]
    failing: tuple[str, ...]
    written: Callable[[JsonObject, StateChange], JsonObject]
    state: Callable[[Mapping[str, Any]], str | None]
    definitions: Callable[[], list[JsonObject]]
    example: Mapping[str, Any]


def life_in(dialect: Dialect) -> Life:
    """The life of applications of this dialect."""
    return _LIVES[dialect.group]


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
        attempts = status.get("submissionAttempts", 0) + 1
        status |= {"submissionAttempts": attempts, "lastSubmissionAttemptTime": now, "submissionID": f"{attempts}"}
        status["driverInfo"] = {"podName": KUBEFLOW.read_driver_pod_name(document, None)}
    if change.state == "SUBMITTED":
        status["executionAttempts"] = status.get("executionAttempts", 0) + 1
        status["sparkApplicationId"] = f"spark-{document['metadata']['uid'][:8]}-{status['executionAttempts']}"
    if change.state in ("SUCCEEDING", "FAILING", "FAILED"):
        status.setdefault("terminationTime", now)
    status["applicationState"] = told
    return document


def _apache_state(document: Mapping[str, Any]) -> str | None:
    return ((document.get("status") or {}).get("currentState") or {}).get("currentStateSummary")


def _kubeflow_state(document: Mapping[str, Any]) -> str | None:
    return ((document.get("status") or {}).get("applicationState") or {}).get("state")


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
        state=_apache_state,
        definitions=custom_resource_definitions,
        example={"mainClass": "A", "jars": "local:///a.jar", "runtimeVersions": {"sparkVersion": "4.3.0"}},
    ),
    KUBEFLOW.group: Life(
        waiting=("SUBMITTED",),
        running=("RUNNING",),
        succeeding=("SUCCEEDING", "COMPLETED"),
        failing=("FAILING", "FAILED"),
        written=_kubeflow,
        state=_kubeflow_state,
        definitions=lambda: [kubeflow_definition()],
        example={
            "type": "Java",
            "sparkVersion": "4.0.0",
            "mainApplicationFile": "local:///a.jar",
            "mainClass": "A",
            "driver": {},
            "executor": {},
        },
    ),
}
