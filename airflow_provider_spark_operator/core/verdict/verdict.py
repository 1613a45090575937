"""Judge the progress of an application: its outcome, the kind of a failure, the cause, and what to do about it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from ..dialects.progress import (
    Phase,
    Progress,
    SettingNames,
    StateEntry,
    compute_seconds_per_state,
    find_last_stop,
    had_driver,
    is_spec_refused,
)
from ..kubernetes import pods
from ..lifecycle.driver_end import find_driver_container
from ..log.executor_refusals import REFUSED
from ..states import reasons
from ..states.states import ApplicationState, SuspendReason
from .advice import NO_ROOM, QUOTA_EXCEEDED, advise_on_missing_object, advise_on_refusal, advise_on_scheduling

_State = ApplicationState


class Outcome(StrEnum):
    """Whether an application has ended, and how. UNKNOWN: only its driver pods, which were not read, show this."""

    WAITING = "Waiting"
    UNKNOWN = "Unknown"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class FailureKind(StrEnum):
    """The origin of a failure: the application, the infrastructure, its scheduling, a check, or the task's budget."""

    APPLICATION = "application"
    INFRASTRUCTURE = "infrastructure"
    SCHEDULING = "scheduling"
    BUDGET = "budget"
    CHECK = "check"


@dataclass(frozen=True)
class Verdict:
    """The judgement on an application, which every surface shows.

    Attributes:
        outcome: Whether the application has ended, and how.
        failure_kind: The origin of the failure. None without a failure.
        retry_worthy: Whether another run of the same application may succeed. False if it would certainly fail in the
            same way. Unlike `SparkRetryPolicy`, this does not rule out a failure of the program.
        reason: A constant of `core.states.reasons`.
        sentence: The outcome, its cause and what to do, for users.
        state: The state that determined the outcome, in the words of the dialect. Before the end, the current state.
        application_id: Spark's id of the latest attempt. None if unknown.
        attempts: How often the operator has started the application.
        seconds_per_state: Seconds that the application spent in each state, in the order of the states.
        had_driver: Whether a driver pod existed.
        out_of_memory: Which of "driver" and "executor" was out of memory. Empty if neither was.
        lacks_capacity: Whether the cluster had no room for the application: a quota was used up, or no node had room
            for the driver.
    """

    outcome: Outcome
    failure_kind: FailureKind | None
    retry_worthy: bool
    reason: str
    sentence: str
    state: str = ""
    application_id: str | None = None
    attempts: int = 1
    seconds_per_state: Mapping[str, float] = field(default_factory=dict)
    had_driver: bool = True
    out_of_memory: tuple[str, ...] = ()
    lacks_capacity: bool = False

    @property
    def has_cause_in_log(self) -> bool:
        """Whether the log of the driver can name the cause of the failure.

        If the driver was killed, the status of its container names the cause. The log then shows something else.
        """
        return self.failure_kind is FailureKind.APPLICATION and self.reason != reasons.OUT_OF_MEMORY


def judge_progress(progress: Progress, warnings: Sequence[str] = ()) -> Verdict:
    """Return the verdict on `progress`. Before the application has ended, the outcome is WAITING: a restart may follow.

    The terminated states do not record the result. The last stopping state of the latest attempt records it. If there
    is no such state, the application was cancelled.

    Args:
        progress: The progress of the application.
        warnings: The latest warnings about the driver pod, `<reason>: <message>`, oldest first. Only they name a volume
            without which the pod did not start.
    """
    verdict = _judge_outcome(progress, warnings)
    # ResourceReleased does not show the result; the state before it does.
    stop = find_last_stop(progress.history) if verdict.outcome in (Outcome.SUCCEEDED, Outcome.FAILED) else None
    return replace(
        verdict,
        state=stop.state if stop else progress.state,
        application_id=progress.application_id,
        attempts=progress.attempt + 1,
        seconds_per_state=compute_seconds_per_state(progress),
        had_driver=verdict.outcome is Outcome.SUCCEEDED or had_driver(progress),
    )


def _judge_outcome(progress: Progress, warnings: Sequence[str]) -> Verdict:
    if progress.phase is not Phase.ENDED:
        sentence = _SUSPENSIONS.get(progress.suspended_by, f"The application is in progress: {progress.state}.")
        return Verdict(Outcome.WAITING, None, False, reasons.IN_PROGRESS, sentence)
    stop = find_last_stop(progress.history)
    if stop is None:
        sentence = "The application ended without a result: its resources were deleted before its latest attempt ended."
        reported = Verdict(Outcome.FAILED, FailureKind.INFRASTRUCTURE, True, reasons.CANCELLED, sentence)
    elif stop.apache_state == _State.SUCCEEDED:
        return Verdict(Outcome.SUCCEEDED, None, False, reasons.SUCCEEDED, "The application succeeded.")
    else:
        reported = _judge_failure(stop, progress, warnings)
    if progress.has_unread_end:
        sentence = f"{reported.sentence} The end is unknown until the driver pod is read: a driver may still run."
        return Verdict(Outcome.UNKNOWN, None, False, reasons.END_UNKNOWN, sentence)
    return reported


_SUSPENSIONS: Final[Mapping[SuspendReason | None, str]] = {
    SuspendReason.SPEC_SUSPEND: "The application is suspended by spec.suspend.",
    SuspendReason.KUEUE_EVICTION: "Kueue has evicted the application, which waits for another admission.",
}


@dataclass(frozen=True)
class _Cause:
    kind: FailureKind
    retry_worthy: bool
    reason: str
    description: str
    advice: str = ""
    lacks_capacity: bool = False
    out_of_memory: bool = False


# The container runtime could not run the command.
_START_FAILURES: Final = frozenset({"StartError", "ContainerCannotRun"})
# A kubelet or a container runtime reports these about a command, an image or a user that is wrong on every node. Other
# causes can disappear: a ConfigMap is created, an image is pushed, or another node has another architecture.
_PERMANENT: Final = re.compile(
    r"executable file not found"
    r'|\bexec: "[^"]*": (?:[^:"]*: )?(?:no such file or directory|permission denied|is a directory)'
    r"|no command specified|has runAsNonRoot and image|breaks the non-root policy"
)
# Pod reasons with which a kubelet rejects a pod that was scheduled to its node.
_REJECTIONS: Final = frozenset(
    {"OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage", "UnexpectedAdmissionError"}
)
# Advice for each reason of the pod condition DisruptionTarget.
_AFTER_DISRUPTION: Final[Mapping[str, str]] = {
    "PreemptionByScheduler": "give the driver a higher priority (priorityClassName in {driver}), or retry",
    "DeletionByTaintManager": "the node of the driver was lost or is being drained; a retry runs on another node",
    "EvictionByEvictionAPI": "the driver was evicted through the API, for example to drain its node; "
    "retry, or protect it with a PodDisruptionBudget",
    "DeletionByPodGC": "the node of the driver no longer exists; a retry runs on another node",
    "TerminationByKubelet": "the node of the driver shut down or was short of resources; retry",
}
_FIX_REFERENCES: Final = "create or fix the objects that the container refers to"
_MOUNT_FAILURES: Final = ("FailedMount: ", "FailedAttachVolume: ")
_TIMEOUTS: Final[Mapping[str, tuple[FailureKind, str, str, str]]] = {
    _State.DRIVER_START_TIMED_OUT: (
        FailureKind.INFRASTRUCTURE,
        reasons.DRIVER_START_TIMED_OUT,
        "the driver did not start in time",
        "check the driver pod's events, or raise driverStartTimeoutMillis",
    ),
    _State.DRIVER_READY_TIMED_OUT: (
        FailureKind.INFRASTRUCTURE,
        reasons.DRIVER_READY_TIMED_OUT,
        "the driver started but was not ready in time",
        "check the driver's log and readiness probe, or raise driverReadyTimeoutMillis",
    ),
    _State.EXECUTORS_START_TIMED_OUT: (
        FailureKind.INFRASTRUCTURE,
        reasons.EXECUTORS_START_TIMED_OUT,
        "too few executors were ready in time",
        "check the executor pods' events, lower initExecutors if it is set, or raise executorStartTimeoutMillis",
    ),
}


def _judge_failure(stop: StateEntry, progress: Progress, warnings: Sequence[str]) -> Verdict:
    cause = _find_cause(stop, progress, warnings)
    attempts = f" in attempt {progress.attempt + 1}" if progress.attempt else ""
    advice = f"; {cause.advice}" if cause.advice else ""
    sentence = f"{stop.state}{attempts}: {cause.description.rstrip('.')}{advice}."
    return Verdict(
        Outcome.FAILED,
        cause.kind,
        cause.retry_worthy,
        cause.reason,
        sentence,
        out_of_memory=("driver",) if cause.out_of_memory else (),
        lacks_capacity=cause.lacks_capacity,
    )


def _find_cause(stop: StateEntry, progress: Progress, warnings: Sequence[str]) -> _Cause:
    status, settings = stop.driver_status or {}, progress.settings
    if (message := stop.message or "").startswith(REFUSED):  # the controller has read the log of the driver
        return _blame_refusal(message, settings.of_executors)
    if stop.apache_state == _State.SCHEDULING_FAILURE:
        return _explain_refusal(stop, settings)
    if stop.apache_state == _State.DRIVER_EVICTED:
        message = pods.get_text(status.get("message"))
        description = "the driver pod was evicted from its node" + (f": {message}" if message else "")
        advice = f"raise the requests of the driver to its actual usage; for memory, raise {settings.overhead}"
        return _Cause(FailureKind.INFRASTRUCTURE, True, reasons.DRIVER_EVICTED, description, advice)
    if stop.apache_state in _TIMEOUTS:
        return _find_obstacle(status, settings) or _explain_timeout(stop, settings, warnings)
    if stop.reason == reasons.DRIVER_INTERRUPTED:
        return _explain_interruption(status, stop.message or "the driver pod was deleted while it ran", settings)
    if not status or stop.reason == reasons.DRIVER_LOST:
        return _explain_missing_status(stop)
    if pods.is_taken_away(status):
        detail = pods.describe_disruption(status) or _describe_pod(status)
        return _explain_interruption(
            status, "the driver pod was disrupted" + (f" ({detail})" if detail else ""), settings
        )
    description = _lower_first_letter(stop.message or "the driver failed")
    return _explain_rejection(status) or _explain_termination(status, progress) or _blame_application(description)


def _blame_application(description: str) -> _Cause:
    return _Cause(FailureKind.APPLICATION, True, reasons.DRIVER_FAILED, description)


def _explain_refusal(stop: StateEntry, settings: SettingNames) -> _Cause:
    description = stop.message or "the driver's resources could not be created"
    if stop.reason in (reasons.SPEC_UNBUILDABLE, reasons.NAME_TAKEN):
        return _Cause(FailureKind.SCHEDULING, False, stop.reason, description)
    return _blame_refusal(description, settings)


def _blame_refusal(description: str, settings: SettingNames) -> _Cause:
    advice, is_full = advise_on_refusal(description, settings), QUOTA_EXCEEDED in description
    return _Cause(FailureKind.SCHEDULING, True, reasons.SCHEDULING_FAILED, description, advice, is_full)


def describe_driver_obstacle(status: Mapping[str, object], settings: SettingNames) -> str | None:
    """Describe what keeps a driver pod with this status from running, and what to do; None if nothing does."""
    cause = _find_obstacle(status, settings)
    return f"{cause.description.rstrip('.')}; {cause.advice}" if cause else None


def _explain_timeout(stop: StateEntry, settings: SettingNames, warnings: Sequence[str]) -> _Cause:
    kind, reason, description, advice = _TIMEOUTS[stop.apache_state]
    mounts = [warning for warning in warnings if warning.startswith(_MOUNT_FAILURES)]
    if stop.apache_state == _State.DRIVER_START_TIMED_OUT and mounts:
        description = f"{description}: {mounts[-1]}"
        advice = advise_on_missing_object(mounts[-1], settings) or advice
    if stop.reason == reasons.EXECUTORS_START_TIMED_OUT and stop.message:
        description = _lower_first_letter(
            stop.message
        )  # no status of executors is recorded, so only the message names the obstacle
    return _Cause(kind, True, reason, description, advice)


def _find_obstacle(status: Mapping[str, object], settings: SettingNames) -> _Cause | None:
    """Return the obstacle that kept a driver pod from running; None if the status shows none."""
    scheduled = pods.find_condition(status, "PodScheduled")
    if pods.get_text(scheduled.get("status")).lower() == "false":
        message = pods.get_text(scheduled.get("message"))
        description = f"the driver pod could not be scheduled: {message or 'no reason given'}"
        advice, is_full = advise_on_scheduling(scheduled, settings), any(text in message for text in NO_ROOM)
        return _Cause(FailureKind.SCHEDULING, True, reasons.UNSCHEDULABLE, description, advice, is_full)
    waiting = [container for container in pods.list_all_containers(status) if container.waiting]
    for container in waiting:
        detail = ": ".join(part for part in (container.reason, container.message) if part)
        if container.reason in pods.PULL_FAILURES:
            image = f" {container.image}" if container.image else ""
            description = f"the image{image} of the driver's container {container.name} could not be pulled: {detail}"
            advice = f"check {settings.image}"
            can_change = container.reason != "InvalidImageName"
            return _Cause(FailureKind.INFRASTRUCTURE, can_change, reasons.IMAGE_UNAVAILABLE, description, advice)
        if container.reason in pods.CREATION_FAILURES:
            description = f"the driver's container {container.name} could not be created: {detail}"
            is_permanent = _PERMANENT.search(detail) is not None
            advice = f"check its command, user and image ({settings.command})" if is_permanent else _FIX_REFERENCES
            advice = advise_on_missing_object(detail, settings) or advice
            return _Cause(FailureKind.INFRASTRUCTURE, not is_permanent, reasons.CONTAINER_REFUSED, description, advice)
    return None


def _explain_missing_status(stop: StateEntry) -> _Cause:
    """Explain a failure without a pod status: a rejected spec, or a driver pod whose end was not observed."""
    message = stop.message or "the driver pod no longer exists, and its result is unknown"
    if is_spec_refused(stop):
        return _Cause(FailureKind.SCHEDULING, False, reasons.SPEC_UNSUPPORTED, message)
    # A status is recorded only if containers had ended: the application may have succeeded.
    return _Cause(FailureKind.INFRASTRUCTURE, not stop.driver_status, reasons.DRIVER_LOST, _lower_first_letter(message))


def _explain_interruption(status: Mapping[str, object], description: str, settings: SettingNames) -> _Cause:
    disruption = pods.get_text(pods.find_condition(status, "DisruptionTarget").get("reason"))
    advice = _AFTER_DISRUPTION.get(disruption, "retry").format(driver=settings.driver)
    return _Cause(
        FailureKind.INFRASTRUCTURE, True, reasons.DRIVER_INTERRUPTED, _lower_first_letter(description), advice
    )


def _explain_rejection(status: Mapping[str, object]) -> _Cause | None:
    reason = pods.get_text(status.get("reason"))
    if reason not in _REJECTIONS:
        return None
    description = f"the node rejected the driver pod: {_describe_pod(status)}"
    return _Cause(
        FailureKind.SCHEDULING,
        True,
        reasons.UNSCHEDULABLE,
        description,
        "retry, or reduce the resource requests of the driver",
        lacks_capacity=reason.startswith("OutOf"),
    )


def _describe_pod(status: Mapping[str, object]) -> str:
    words = (pods.get_text(status.get("reason")), pods.get_text(status.get("message")))
    return ": ".join(word for word in words if word)


def _explain_termination(status: Mapping[str, object], progress: Progress) -> _Cause | None:
    containers = pods.list_all_containers(status)
    main = find_driver_container({"status": status}, progress.main_container)
    ended = [each for each in containers if each.exit_code]
    # A restarted container runs or waits again: the end of its previous run is the cause.
    ended = ended or [each.previous for each in containers if each.previous and each.previous.exit_code]
    # Running out of memory explains a failure best, then the end of Spark's container.
    failed = min(ended, key=lambda each: (each.reason != reasons.OUT_OF_MEMORY, each.name != main), default=None)
    if failed is None:
        detail = _describe_pod(status)
        return _blame_application(f"the driver pod failed ({detail})") if detail else None
    return _explain_container(failed, main, status, progress.settings)


def _explain_container(
    failed: pods.ContainerStatus, main: str | None, status: Mapping[str, object], settings: SettingNames
) -> _Cause:
    if failed.reason in _START_FAILURES:
        description = f"the driver's container {failed.name} could not be started: {failed.message or failed.reason}"
        advice = f"check its command and image ({settings.command})"
        can_change = _PERMANENT.search(failed.message) is None
        return _Cause(FailureKind.INFRASTRUCTURE, can_change, reasons.CONTAINER_REFUSED, description, advice)
    description = f"container {failed.name} of the driver ended with {pods.describe_exit(failed)}"
    if failed.reason == reasons.OUT_OF_MEMORY:
        advice = _advise_on_memory(failed.name, main, status, settings)
        return _Cause(FailureKind.APPLICATION, False, reasons.OUT_OF_MEMORY, description, advice, out_of_memory=True)
    init_names = {container.name for container in pods.list_containers(status, "initContainerStatuses")}
    reason = reasons.INIT_CONTAINER_FAILED if failed.name in init_names else reasons.DRIVER_FAILED
    has_full_heap = failed.name == main and failed.exit_code == pods.HEAP_FULL
    return _Cause(FailureKind.APPLICATION, True, reason, description, out_of_memory=has_full_heap)


def _advise_on_memory(name: str, main: str | None, status: Mapping[str, object], settings: SettingNames) -> str:
    """Return the setting to raise: Spark's for the container of Spark, or for the only one."""
    names = [container.name for container in pods.list_containers(status)]
    sparks = settings.memory
    if names == [name] or name == main:
        return f"raise {sparks}"
    template = f"the memory limit of {name} in {settings.template}"
    if name in names and main is None:
        return f"if container {name} runs Spark, raise {sparks}; otherwise raise {template}"
    return f"raise {template}"


def _lower_first_letter(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
