"""How the operator of each dialect writes the progress of an application into its status."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ..core.dialects import kubeflow
from ..core.dialects.base import Dialect
from ..core.dialects.dialect import APACHE, KUBEFLOW
from ..core.dialects.kubeflow import KubeflowState
from ..core.kubernetes.json_object import JsonObject
from ..core.states.states import ApplicationState
from ..crds.definitions import build_custom_resource_definitions


@dataclass(frozen=True)
class StateChange:
    """One state that an application enters.

    Attributes:
        state: The state, as the dialect writes it.
        message: A message for the user.
        reason: A constant of `core.states.reasons`.
        driver: The status of the driver pod.
        suspend_reason: Why the application is suspended: "SpecSuspend" or "KueueEviction".
        attempt: The number of the attempt, from 0.
    """

    state: str
    message: str | None = None
    reason: str | None = None
    driver: Mapping[str, Any] | None = None
    suspend_reason: str | None = None
    attempt: int = 0


@dataclass(frozen=True)
class DialectStates:
    """The states of one dialect, and how its operator writes them.

    Attributes:
        waiting: The states until the operator requests the driver.
        running: The states from the start of the driver until all pods run.
        succeeding: The states from the success of the driver to the end of the application.
        failing: The states from the failure of the driver to the end of the application.
        suspended: The states from the suspension of a running application until its pods are deleted.
        resuming: The states between a suspension and the request of another driver.
        write: Writes a change into the status of an application.
        read_state: Reads the state of an application; None if it has no state.
        definitions: Returns the CustomResourceDefinitions of the dialect.
        example: The spec of a valid application.
    """

    waiting: tuple[str, ...]
    running: tuple[str, ...]
    succeeding: tuple[str, ...]
    failing: tuple[str, ...]
    suspended: tuple[str, ...]
    resuming: tuple[str, ...]
    write: Callable[[JsonObject, StateChange], JsonObject]
    read_state: Callable[[Mapping[str, Any]], str | None]
    definitions: Callable[[], list[JsonObject]]
    example: Mapping[str, Any]


def find_states(dialect: Dialect) -> DialectStates:
    """Return the states of the applications of a dialect.

    Raises:
        ValueError: The module does not describe the dialect.
    """
    states = _STATES.get(dialect.group)
    if states is None:
        supported = ", ".join(_STATES)
        raise ValueError(f"ScriptedCluster does not support SparkApplications of {dialect.group}. Use {supported}")
    return states


def _write_apache(document: JsonObject, change: StateChange) -> JsonObject:
    entry: JsonObject = {"currentStateSummary": str(change.state), "lastTransitionTime": datetime.now(UTC).isoformat()}
    entry |= {"message": change.message} if change.message else {}
    entry |= {"reason": change.reason} if change.reason else {}
    entry |= {"lastObservedDriverStatus": change.driver} if change.driver else {}
    entry |= {"suspendReason": change.suspend_reason} if change.suspend_reason else {}
    status = document.setdefault("status", {})
    history = status.setdefault("stateTransitionHistory", {})
    history[str(len(history))] = entry
    status["currentState"] = entry
    status["currentAttemptSummary"] = {"attemptInfo": {"id": change.attempt}}
    return document


def _write_kubeflow(document: JsonObject, change: StateChange) -> JsonObject:
    status = document.setdefault("status", {})
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    current: JsonObject = {"state": str(change.state)}
    message = change.message if change.driver is None else _describe_driver(change.driver)
    before = (status.get("applicationState") or {}).get("errorMessage")
    if message or (before and change.state == KubeflowState.FAILED):
        current["errorMessage"] = message or before
    if change.state in (KubeflowState.SUBMITTED, KubeflowState.SUBMISSION_FAILED):
        attempts = status.get("submissionAttempts", 0) + 1
        status |= {"submissionAttempts": attempts, "lastSubmissionAttemptTime": now, "submissionID": f"{attempts}"}
        status["driverInfo"] = {"podName": KUBEFLOW.read_driver_pod_name(document, None)}
    if change.state == KubeflowState.SUBMITTED:
        status["executionAttempts"] = status.get("executionAttempts", 0) + 1
        status["sparkApplicationId"] = f"spark-{document['metadata']['uid'][:8]}-{status['executionAttempts']}"
    if change.state in (KubeflowState.SUCCEEDING, KubeflowState.FAILING, KubeflowState.FAILED):
        status.setdefault("terminationTime", now)
    status["applicationState"] = current
    return document


def _describe_driver(driver: Mapping[str, Any]) -> str | None:
    for container in driver.get("containerStatuses") or ():
        ended = container["state"].get("terminated") or {}
        if ended.get("exitCode"):
            return f"driver container failed with ExitCode: {ended['exitCode']}, Reason: {ended.get('reason', '')}"
    return None


_STATES: Final[Mapping[str, DialectStates]] = {
    APACHE.group: DialectStates(
        waiting=(ApplicationState.SUBMITTED, ApplicationState.DRIVER_REQUESTED),
        running=(ApplicationState.DRIVER_STARTED, ApplicationState.DRIVER_READY, ApplicationState.RUNNING_HEALTHY),
        succeeding=(ApplicationState.SUCCEEDED, ApplicationState.RESOURCE_RELEASED),
        failing=(ApplicationState.FAILED, ApplicationState.TERMINATED_WITHOUT_RELEASE_RESOURCES),
        suspended=(ApplicationState.SUSPENDED,),
        resuming=(ApplicationState.SUBMITTED,),
        write=_write_apache,
        read_state=lambda item: ((item.get("status") or {}).get("currentState") or {}).get("currentStateSummary"),
        definitions=build_custom_resource_definitions,
        example={"mainClass": "A", "jars": "local:///a.jar", "runtimeVersions": {"sparkVersion": "4.3.0"}},
    ),
    KUBEFLOW.group: DialectStates(
        waiting=(KubeflowState.SUBMITTED,),
        running=(KubeflowState.RUNNING,),
        succeeding=(KubeflowState.SUCCEEDING, KubeflowState.COMPLETED),
        failing=(KubeflowState.FAILING, KubeflowState.FAILED),
        suspended=(KubeflowState.SUSPENDING, KubeflowState.SUSPENDED),
        resuming=(KubeflowState.RESUMING,),
        write=_write_kubeflow,
        read_state=lambda item: ((item.get("status") or {}).get("applicationState") or {}).get("state"),
        definitions=lambda: [build_kubeflow_definition()],
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


_OPEN: Final[JsonObject] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SPEC: Final[JsonObject] = _OPEN | {
    "required": ["driver", "executor", "mainApplicationFile", "sparkVersion", "type"],
    "properties": {
        "type": {"type": "string", "enum": ["Java", "Python", "Scala", "R"]},
        "sparkVersion": {"type": "string"},
        "mainApplicationFile": {"type": "string"},
        "mode": {"type": "string", "enum": ["cluster", "client"]},
        "driver": _OPEN,
        "executor": _OPEN,
    },
}
_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": {"metadata": {"type": "object"}, "spec": _SPEC, "status": _OPEN},
}
_NAMES: Final[JsonObject] = {"kind": "SparkApplication", "plural": "sparkapplications", "shortNames": ["sparkapp"]}


def build_kubeflow_definition() -> JsonObject:
    """Return the definition as a new document, with the required fields and enumerations of Kubeflow's chart.

    All other fields are accepted unchecked.
    """
    versions = [
        {
            "name": version,
            "served": True,
            "storage": version == kubeflow.VERSIONS[0],
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": deepcopy(_SCHEMA)},
        }
        for version in kubeflow.VERSIONS
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"sparkapplications.{kubeflow.GROUP}"},
        "spec": {"group": kubeflow.GROUP, "scope": "Namespaced", "names": deepcopy(_NAMES), "versions": versions},
    }
