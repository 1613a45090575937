"""Read the progress of a `sparkoperator.k8s.io` SparkApplication, which Kubeflow's operator manages.

Its status has no history, and describes a failure in one sentence. The driver pod is kept until the application is
deleted. A status may have any content. Malformed parts are ignored.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from ..driver.configuration.resource_names import POD_NAME_KEY
from ..kubernetes.names import DRIVER_CONTAINER, LABEL_QUEUE_NAME
from ..kubernetes.pods import get_object, get_text
from ..kubernetes.problems import Problem, Severity
from ..kubernetes.times import read_time
from ..lifecycle.driver_end import get_main_container
from ..log.java_message import shorten_java_message
from ..states.states import ApplicationState, SuspendReason
from .progress import Phase, Progress, SettingNames, StateEntry
from .spark_properties import read_properties

GROUP: Final = "sparkoperator.k8s.io"
VERSIONS: Final = ("v1beta2",)
LABEL_APPLICATION_NAME: Final = "sparkoperator.k8s.io/app-name"


class KubeflowState(StrEnum):
    """A word of `status.applicationState.state`. NEW stands for the empty state of a new application."""

    NEW = "NEW"
    SUBMITTED = "SUBMITTED"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SUBMISSION_FAILED = "SUBMISSION_FAILED"
    PENDING_RERUN = "PENDING_RERUN"
    INVALIDATING = "INVALIDATING"
    SUCCEEDING = "SUCCEEDING"
    FAILING = "FAILING"
    SUSPENDING = "SUSPENDING"
    SUSPENDED = "SUSPENDED"
    RESUMING = "RESUMING"
    UNKNOWN = "UNKNOWN"


_State = KubeflowState
_PHASES: Final[Mapping[str, Phase]] = {
    _State.RUNNING: Phase.RUNNING,
    _State.SUCCEEDING: Phase.STOPPING,
    _State.FAILING: Phase.STOPPING,
    _State.COMPLETED: Phase.ENDED,
    _State.FAILED: Phase.ENDED,
}
ENDED_STATES: Final = frozenset[str](state for state, phase in _PHASES.items() if phase is Phase.ENDED)
_MEANINGS: Final[Mapping[str, ApplicationState]] = {
    _State.SUCCEEDING: ApplicationState.SUCCEEDED,
    _State.COMPLETED: ApplicationState.SUCCEEDED,
    _State.FAILING: ApplicationState.FAILED,
    _State.FAILED: ApplicationState.FAILED,
}
# Another attempt follows: after a backoff, an edit, or a suspension.
_BETWEEN_ATTEMPTS: Final = frozenset(
    {_State.PENDING_RERUN, _State.INVALIDATING, _State.SUSPENDING, _State.SUSPENDED, _State.RESUMING}
)
_SUSPENDED: Final = frozenset({_State.SUSPENDING, _State.SUSPENDED})
_SUBMITTING: Final = frozenset({_State.SUBMITTED, _State.SUBMISSION_FAILED})
# How the operator's messages about a failed submission begin. Messages about a driver begin in another way.
_NOT_SUBMITTED: Final = re.compile(r"failed (to|during) ", re.IGNORECASE)
_EXIT: Final = re.compile(r"driver container failed with ExitCode: (-?\d{1,9}), Reason: (.*)", re.DOTALL)
_SETTINGS: Final = SettingNames(
    memory="spec.driver.memory or spec.driver.memoryOverhead",
    overhead="spec.driver.memoryOverhead",
    size="spec.driver.cores, spec.driver.memory",
    image="spec.image and spec.imagePullSecrets",
    command="spec.driver, spec.image",
    driver="spec.driver",
    template="spec.driver.template or spec.driver.sidecars",
    account="spec.driver.serviceAccount",
    placement="spec.nodeSelector, spec.driver.nodeSelector or spec.driver.affinity",
)
_TYPES: Final = ("Java", "Scala", "Python", "R")


def read_progress(resource: Mapping[str, object]) -> Progress:
    """Return the progress of a SparkApplication.

    Without a status the application is new. An unknown state counts as waiting.

    Args:
        resource: The whole resource as the API returns it.
    """
    status = get_object(resource.get("status"))
    current = get_object(status.get("applicationState"))
    state = get_text(current.get("state")) or _State.NEW
    message = shorten_java_message(get_text(current.get("errorMessage"))) or None
    means = _get_meaning(state, message)
    driver = _build_driver_status(message) if means is ApplicationState.FAILED else None
    present = StateEntry(state, _find_start(status, state, means), message, driver_status=driver, means=means)
    return Progress(
        state=state,
        phase=_PHASES.get(state, Phase.WAITING),
        since=present.time,
        message=message,
        attempt=max(0, _read_count(status, "executionAttempts") - 1),
        history=(present,) if means else (),
        driver_status=driver,
        application_id=get_text(status.get("sparkApplicationId")) or None,
        restart_pending=_is_restart_pending(
            get_object(get_object(resource.get("spec")).get("restartPolicy")), status, state
        ),
        driver_kept=True,
        main_container=get_main_container(read_properties(resource)),
        driver_name=get_text(get_object(status.get("driverInfo")).get("podName")) or None,
        driver_expected=state in _SUBMITTING,
        settings=_SETTINGS,
        suspended_by=_find_suspend_reason(resource, status) if state in _SUSPENDED else None,
    )


def read_history(resource: Mapping[str, object], driver_started: datetime | None) -> tuple[StateEntry, ...]:
    """Return the states of the latest attempt, oldest first. The status contains the times of only some of them.

    Args:
        resource: The whole resource as the API returns it.
        driver_started: When the driver of the latest attempt started, according to its pod. None if unknown.
    """
    status, seen = get_object(resource.get("status")), read_progress(resource)
    current = seen.history[-1] if seen.history else StateEntry(seen.state, seen.since, seen.message)
    created = read_time(get_object(resource.get("metadata")).get("creationTimestamp"))
    submitted = read_time(status.get("lastSubmissionAttemptTime"))
    entries: list[StateEntry] = []
    if created and _read_count(status, "executionAttempts") <= 1 and _read_count(status, "submissionAttempts") <= 1:
        entries.append(StateEntry(_State.NEW, created, means=ApplicationState.SUBMITTED))
    if submitted and current.meaning != ApplicationState.SCHEDULING_FAILURE:
        entries.append(StateEntry(_State.SUBMITTED, submitted, means=ApplicationState.DRIVER_REQUESTED))
        started = max(driver_started, submitted) if driver_started else None
        if started and (seen.phase is not Phase.WAITING or seen.state in _BETWEEN_ATTEMPTS):
            entries.append(StateEntry(_State.RUNNING, started, means=ApplicationState.RUNNING_HEALTHY))
    if seen.state in _BETWEEN_ATTEMPTS and (ended := read_time(status.get("terminationTime"))):
        current = replace(current, time=ended)
    # The operator writes the state RUNNING without a time.
    recorded = {entry.state for entry in entries}
    return tuple(entries) if current.state in recorded and entries else (*entries, current)


def read_executor_states(resource: Mapping[str, object]) -> Mapping[str, str]:
    """Return the states of the executors by the names of their pods: PENDING, RUNNING, COMPLETED, FAILED or UNKNOWN."""
    states = get_object(get_object(resource.get("status")).get("executorState"))
    return {name: state for name, state in states.items() if isinstance(state, str)}


def count_wanted_executors(resource: Mapping[str, object]) -> int:
    """Return the number of executors with which the application starts."""
    spec = get_object(resource.get("spec"))
    dynamic = get_object(spec.get("dynamicAllocation"))
    if dynamic.get("enabled") is True:
        return _read_count(dynamic, "minExecutors")
    return _read_count(get_object(spec.get("executor")), "instances") or 1


def read_application_id(resource: Mapping[str, object], attempt: int) -> str | None:  # noqa: ARG001 - see Dialect
    """Return None: Spark generates the id, and the status contains it once the driver runs."""
    return None


def read_driver_pod_name(resource: Mapping[str, object], identifier: str | None) -> str | None:  # noqa: ARG001
    """Return the name of the driver pod, which all attempts share; None if the application has no name."""
    spec, name = get_object(resource.get("spec")), get_text(get_object(resource.get("metadata")).get("name"))
    fixed = get_text(get_object(spec.get("driver")).get("podName")) or get_text(
        get_object(spec.get("sparkConf")).get(POD_NAME_KEY)
    )
    return fixed or (f"{name}-driver" if name else None)


def find_problems(document: Mapping[str, object]) -> list[Problem]:
    """Return the problems of `document` that can be found without a model of Kubeflow's definition."""
    known = [f"{GROUP}/{version}" for version in VERSIONS]
    if document.get("apiVersion") not in known:
        return [Problem("apiVersion", f"must be {' or '.join(known)}, not {document.get('apiVersion')!r}")]
    if document.get("kind") != "SparkApplication":
        return [Problem("kind", f"must be SparkApplication, not {document.get('kind')!r}")]
    for key in ("metadata", "spec"):
        if not isinstance(document.get(key), Mapping):
            return [Problem(key, "must be an object")]
    spec, found = get_object(document.get("spec")), []
    if spec.get("type") not in _TYPES:
        found.append(Problem("spec.type", f"must be one of {', '.join(_TYPES)}, not {spec.get('type')!r}"))
    missing = [key for key in ("sparkVersion", "mainApplicationFile") if not get_text(spec.get(key))]
    found += [Problem(f"spec.{key}", "is required") for key in missing]
    absent = [key for key in ("driver", "executor") if not isinstance(spec.get(key), Mapping)]
    found += [Problem(f"spec.{key}", "must be an object, which may be empty") for key in absent]
    template = get_object(get_object(spec.get("executor")).get("template"))
    if "terminationGracePeriodSeconds" in get_object(template.get("spec")):
        message = "is ignored by the operator: set spec.executor.terminationGracePeriodSeconds, which needs its webhook"
        path = "spec.executor.template.spec.terminationGracePeriodSeconds"
        found.append(Problem(path, message, Severity.WARNING))
    return found


def _get_meaning(state: str, message: str | None) -> ApplicationState | None:
    if state == _State.FAILED and _NOT_SUBMITTED.match(message or ""):
        return ApplicationState.SCHEDULING_FAILURE
    return _MEANINGS.get(state)


def _build_driver_status(message: str | None) -> Mapping[str, object] | None:
    """Return a pod status with the exit code and reason in a message about the driver's end; None if it has neither."""
    ended = _EXIT.match(message or "")
    if ended is None:
        return None
    terminated = {"exitCode": int(ended[1]), "reason": ended[2].strip()}
    return {
        "phase": "Failed",
        "containerStatuses": [{"name": DRIVER_CONTAINER, "state": {"terminated": terminated}}],
    }


def _find_suspend_reason(resource: Mapping[str, object], status: Mapping[str, object]) -> SuspendReason | None:
    """Return why an attempt was suspended; None if there was none. Kueue sets `spec.suspend` in its queues."""
    if not _read_count(status, "executionAttempts"):
        return None
    labels = get_object(get_object(resource.get("metadata")).get("labels"))
    return SuspendReason.KUEUE_EVICTION if get_text(labels.get(LABEL_QUEUE_NAME)) else SuspendReason.SPEC_SUSPEND


def _find_start(status: Mapping[str, object], state: str, means: ApplicationState | None) -> datetime | None:
    submitted, ended = (read_time(status.get(key)) for key in ("lastSubmissionAttemptTime", "terminationTime"))
    if state in _SUBMITTING:
        return submitted
    if means is ApplicationState.SCHEDULING_FAILURE:
        # An earlier terminationTime belongs to the driver of an earlier attempt.
        return max(filter(None, (submitted, ended)), default=None)
    return ended if state in _MEANINGS else None


def _is_restart_pending(policy: Mapping[str, object], status: Mapping[str, object], state: str) -> bool:
    if state in _BETWEEN_ATTEMPTS:
        return True
    kind = policy.get("type")
    if state == _State.SUCCEEDING:
        return kind == "Always"
    if state == _State.FAILING:
        left = _read_count(status, "executionAttempts") <= _read_count(policy, "onFailureRetries")
        return kind == "Always" or (kind == "OnFailure" and left)
    return False


def _read_count(holder: Mapping[str, object], key: str) -> int:
    number = holder.get(key)
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else 0
