"""The dialect of `sparkoperator.k8s.io`, which Kubeflow's operator manages.

Its status has no history, and describes a failure in one sentence. The driver pod is kept until the application is
deleted. A status may have any content. Malformed parts are ignored.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Final

from ..driver.configuration.resource_names import POD_NAME_KEY
from ..kubernetes.json_object import JsonObject, KubernetesObject, is_integer
from ..kubernetes.names import DRIVER_CONTAINER, LABEL_QUEUE_NAME
from ..kubernetes.pods import get_object, get_text
from ..kubernetes.problems import InvalidResource, Problem, Severity
from ..kubernetes.times import read_time
from ..lifecycle.driver_end import get_main_container
from ..parameters.arguments import DEFAULT_TTL_SECONDS, KEEP
from ..parameters.parameter_types import RestartPolicy, is_pending, read_flag
from ..parameters.parameters import MEMORY_KEYS, Parameters
from ..parameters.pod_settings import ROLES
from ..states.states import ApplicationState, SuspendReason
from . import kubeflow_spec
from .base import Dialect, shorten_java_message
from .progress import ExecutorState, Phase, Progress, SettingNames, StateEntry

GROUP: Final = "sparkoperator.k8s.io"
VERSIONS: Final[tuple[str, ...]] = ("v1beta2",)


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
    limit="spec.driver.coreLimit",
)
_EXECUTOR_STATES: Final[Mapping[str, ExecutorState]] = {
    "PENDING": ExecutorState.PENDING,
    "RUNNING": ExecutorState.RUNNING,
    "COMPLETED": ExecutorState.ENDED,
    "FAILED": ExecutorState.FAILED,
}
_POLICIES: Final = ("Never", "OnFailure", "Always")
_TYPES: Final = ("Java", "Scala", "Python", "R")


class Kubeflow(Dialect):
    """The applications of `sparkoperator.k8s.io`, which has a field for most parameters.

    The operator keeps the driver pod until the application is deleted. It creates ingresses with names from its own
    configuration.
    """

    group = GROUP
    operator = "Kubeflow's operator"
    installation = (
        "install Kubeflow's Spark operator, as with `helm install spark-operator spark-operator --repo "
        "https://kubeflow.github.io/spark-operator`, or write the application for spark.apache.org"
    )
    versions = VERSIONS
    states = tuple(state for state in KubeflowState if state is not KubeflowState.NEW)
    ended_states = frozenset[str](state for state, phase in _PHASES.items() if phase is Phase.ENDED)
    healthy_states = frozenset({_State.RUNNING, _State.SUCCEEDING, _State.COMPLETED})
    failed_states = frozenset({_State.FAILED, _State.FAILING, _State.SUBMISSION_FAILED, _State.INVALIDATING})
    running: ClassVar[str] = _State.RUNNING
    success: ClassVar[str] = _State.COMPLETED
    application_label = "sparkoperator.k8s.io/app-name"
    # The webhook of the operator adds the owner of the driver pod, if the webhook is installed.
    owned_driver = False
    submits_before_status = True
    reruns_after_edit = True
    suspended_by_kueue = True

    def get_phase(self, state: str) -> Phase:
        return _PHASES.get(state, Phase.WAITING)

    def read_progress(self, resource: KubernetesObject) -> Progress:
        # Without a status the application is new. An unknown state counts as waiting.
        status = get_object(resource.get("status"))
        current = get_object(status.get("applicationState"))
        state = get_text(current.get("state")) or _State.NEW
        message = shorten_java_message(get_text(current.get("errorMessage"))) or None
        equivalent = _find_equivalent(state, message)
        driver = _build_driver_status(message) if equivalent is ApplicationState.FAILED else None
        present = StateEntry(
            state, _find_start(status, state, equivalent), message, driver_status=driver, equivalent=equivalent
        )
        return Progress(
            state=state,
            phase=self.get_phase(state),
            since=present.time,
            message=message,
            attempt=max(0, _read_count(status, "executionAttempts") - 1),
            history=(present,) if equivalent else (),
            driver_status=driver,
            application_id=get_text(status.get("sparkApplicationId")) or None,
            restart_pending=_is_restart_pending(
                get_object(get_object(resource.get("spec")).get("restartPolicy")), status, state
            ),
            driver_kept=True,
            main_container=get_main_container(self.read_properties(resource)),
            driver_name=get_text(get_object(status.get("driverInfo")).get("podName")) or None,
            driver_expected=state in _SUBMITTING,
            settings=_SETTINGS,
            suspended_by=_find_suspend_reason(resource, status) if state in _SUSPENDED else None,
        )

    def read_history(self, resource: KubernetesObject, driver_started: datetime | None) -> tuple[StateEntry, ...]:
        # The status contains only the latest attempt, and the times of only some of its states.
        status, seen = get_object(resource.get("status")), self.read_progress(resource)
        current = seen.history[-1] if seen.history else StateEntry(seen.state, seen.since, seen.message)
        created = read_time(get_object(resource.get("metadata")).get("creationTimestamp"))
        submitted = read_time(status.get("lastSubmissionAttemptTime"))
        entries: list[StateEntry] = []
        if created and _read_count(status, "executionAttempts") <= 1 and _read_count(status, "submissionAttempts") <= 1:
            entries.append(StateEntry(_State.NEW, created, equivalent=ApplicationState.SUBMITTED))
        if submitted and current.apache_state != ApplicationState.SCHEDULING_FAILURE:
            entries.append(StateEntry(_State.SUBMITTED, submitted, equivalent=ApplicationState.DRIVER_REQUESTED))
            started = max(driver_started, submitted) if driver_started else None
            if started and (seen.phase is not Phase.WAITING or seen.state in _BETWEEN_ATTEMPTS):
                entries.append(StateEntry(_State.RUNNING, started, equivalent=ApplicationState.RUNNING_HEALTHY))
        if seen.state in _BETWEEN_ATTEMPTS and (ended := read_time(status.get("terminationTime"))):
            current = replace(current, time=ended)
        # The operator writes the state RUNNING without a time.
        recorded = {entry.state for entry in entries}
        return tuple(entries) if current.state in recorded and entries else (*entries, current)

    def read_executor_states(self, resource: KubernetesObject) -> Mapping[str, ExecutorState]:
        states = get_object(get_object(resource.get("status")).get("executorState"))
        return {
            name: _EXECUTOR_STATES.get(state, ExecutorState.UNKNOWN)
            for name, state in states.items()
            if isinstance(state, str)
        }

    def count_wanted_executors(self, resource: KubernetesObject) -> int:
        spec = get_object(resource.get("spec"))
        dynamic = get_object(spec.get("dynamicAllocation"))
        if dynamic.get("enabled") is True:
            return _read_count(dynamic, "minExecutors")
        return _read_count(get_object(spec.get("executor")), "instances") or 1

    def read_driver_pod_name(self, resource: KubernetesObject, identifier: str | None) -> str | None:
        # All attempts share this name.
        spec, name = get_object(resource.get("spec")), get_text(get_object(resource.get("metadata")).get("name"))
        fixed = get_text(get_object(spec.get("driver")).get("podName")) or get_text(
            self.read_properties(resource).get(POD_NAME_KEY)
        )
        return fixed or (f"{name}-driver" if name else None)

    def find_problems(self, document: KubernetesObject) -> list[Problem]:
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
            message = (
                "is ignored by the operator: set spec.executor.terminationGracePeriodSeconds, which needs its webhook"
            )
            path = "spec.executor.template.spec.terminationGracePeriodSeconds"
            found.append(Problem(path, message, Severity.WARNING))
        return found

    def find_unsupported(self, parameters: Parameters) -> list[Problem]:
        absent = [name for name in ("cluster", "timeouts") if getattr(parameters, name) is not None]
        found = [Problem(name, "is not supported by Kubeflow's operator") for name in absent]
        if parameters.has_no_executors:
            found.append(Problem("executor_instances", "must be at least 1 for Kubeflow's operator"))
        labels = parameters.labels if isinstance(parameters.labels, Mapping) else {}
        reserved = [key for key in labels if isinstance(key, str) and key.startswith(f"{GROUP}/")]
        found += [Problem("labels", f"{key} is reserved: choose another label") for key in reserved]
        return [*found, *_find_policy_problems(parameters.restart_policy), *_find_queue_problems(parameters)]

    def read_restart_config(self, document: KubernetesObject) -> Mapping[str, object]:
        policy = get_object(get_object(document.get("spec")).get("restartPolicy"))
        if not isinstance(policy.get("type"), str):
            return {}
        retries = [policy.get(key) for key in ("onFailureRetries", "onSubmissionFailureRetries")]
        config: dict[str, object] = {"restartPolicy": policy["type"]}
        config["maxRestartAttempts"] = sum(number for number in retries if is_integer(number))
        intervals = {
            "restartBackoffMillisForFailure": policy.get("onFailureRetryInterval"),
            "restartBackoffMillisForSchedulingFailure": policy.get("onSubmissionFailureRetryInterval"),
        }
        millis = {key: 1000 * value for key, value in intervals.items() if is_integer(value)}
        if "restartBackoffMillisForFailure" in millis:
            config["restartBackoffMillis"] = millis["restartBackoffMillisForFailure"]
        return config | millis

    def disable_restarts(self, document: JsonObject) -> JsonObject:
        if not self.read_restart_config(document):
            return document
        return document | {"spec": document["spec"] | {"restartPolicy": {"type": "Never"}}}

    def read_ttl(self, document: KubernetesObject) -> float | None:
        seconds = get_object(document.get("spec")).get("timeToLiveSeconds")
        return max(0.0, float(seconds)) if is_integer(seconds) else None

    def write_ttl(self, document: JsonObject, seconds: float | None) -> JsonObject:
        # A change of the spec would run the application again, so a success does not shorten the time.
        spec = dict(document["spec"])
        if seconds == KEEP:
            spec.pop("timeToLiveSeconds", None)
        elif seconds is not None:
            spec["timeToLiveSeconds"] = math.ceil(seconds)
        elif spec.get("timeToLiveSeconds") is None:
            spec["timeToLiveSeconds"] = DEFAULT_TTL_SECONDS
        return document | {"spec": spec}

    def read_memory(self, document: KubernetesObject) -> dict[str, str]:
        spec = get_object(document.get("spec"))
        conf, found = self.read_properties(document), {}
        for key in MEMORY_KEYS:
            _, role, field = key.split(".")
            value = get_object(spec.get(role)).get(field) or conf.get(key)
            if isinstance(value, str):
                found[key] = value
        return found

    def read_sizes(self, document: KubernetesObject) -> Mapping[str, object]:
        spec = get_object(document.get("spec"))
        fields = {
            "spark.kubernetes.memoryOverheadFactor": spec.get("memoryOverheadFactor"),
            **self.read_memory(document),
        }
        for role in ROLES:
            fields[f"spark.{role}.cores"] = get_object(spec.get(role)).get("cores")
            fields[f"spark.kubernetes.{role}.request.cores"] = get_object(spec.get(role)).get("coreRequest")
        return {**self.read_properties(document), **{key: value for key, value in fields.items() if value is not None}}

    def write_memory(self, document: JsonObject, memory: Mapping[str, str]) -> JsonObject:
        spec = dict(document["spec"])
        for key, value in memory.items():
            _, role, field = key.split(".")
            spec[role] = {**(spec.get(role) or {}), field: value}
        return document | {"spec": spec}

    def write_parameters(self, document: JsonObject, parameters: Parameters) -> JsonObject:
        unsupported = self.find_unsupported(parameters)
        if unsupported:
            raise InvalidResource(unsupported)
        return kubeflow_spec.write_parameters(document, parameters)


def _find_queue_problems(parameters: Parameters) -> list[Problem]:
    allocation = parameters.dynamic_allocation
    unknown = allocation is None or is_pending(allocation)
    if parameters.kueue_queue is None or unknown or read_flag(allocation) is False:
        return []
    message = f"cannot be combined with dynamic_allocation for {Kubeflow.operator}: Kueue rejects such applications"
    return [Problem("kueue_queue", message)]


def _find_policy_problems(given: object) -> list[Problem]:
    parts = given if isinstance(given, Mapping) else vars(given) if isinstance(given, RestartPolicy) else {}
    policy = parts.get("policy", given)
    if is_pending(policy):
        return []
    if policy not in _POLICIES:
        allowed = ", ".join(_POLICIES[:-1])
        message = f"{policy} is not supported by {Kubeflow.operator}: use {allowed} or {_POLICIES[-1]}"
        return [Problem("restart_policy", message)]
    if policy == "Always" and parts.get("attempts") is not None:
        message = f"attempts cannot be set with the policy Always: {Kubeflow.operator} restarts without a limit"
        return [Problem("restart_policy", message)]
    if policy == "Always" and parts.get("backoff") is not None:
        message = f"backoff cannot be set with the policy Always: {Kubeflow.operator} restarts without a delay"
        return [Problem("restart_policy", message)]
    return []


def _find_equivalent(state: str, message: str | None) -> ApplicationState | None:
    if state == _State.FAILED and _NOT_SUBMITTED.match(message or ""):
        return ApplicationState.SCHEDULING_FAILURE
    return _MEANINGS.get(state)


def _build_driver_status(message: str | None) -> Mapping[str, object] | None:
    """Return a pod status with the exit code and reason in a message about the driver's end; None if it has neither."""
    ended = _EXIT.match(message or "")
    if ended is None:
        return None
    terminated = {"exitCode": int(ended[1]), "reason": ended[2].strip()}
    return {"phase": "Failed", "containerStatuses": [{"name": DRIVER_CONTAINER, "state": {"terminated": terminated}}]}


def _find_suspend_reason(resource: KubernetesObject, status: Mapping[str, object]) -> SuspendReason | None:
    """Return why an attempt was suspended; None if there was none. Kueue sets `spec.suspend` in its queues."""
    if not _read_count(status, "executionAttempts"):
        return None
    labels = get_object(get_object(resource.get("metadata")).get("labels"))
    return SuspendReason.KUEUE_EVICTION if get_text(labels.get(LABEL_QUEUE_NAME)) else SuspendReason.SPEC_SUSPEND


def _find_start(status: Mapping[str, object], state: str, equivalent: ApplicationState | None) -> datetime | None:
    submitted, ended = (read_time(status.get(key)) for key in ("lastSubmissionAttemptTime", "terminationTime"))
    if state in _SUBMITTING:
        return submitted
    if equivalent is ApplicationState.SCHEDULING_FAILURE:
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
