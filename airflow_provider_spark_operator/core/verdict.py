"""What a progress means to somebody who waits: how it ended, whose fault it was, what to do about it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from airflow_provider_spark_operator.core import pods, reasons
from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress, SettingNames, StateEntry, last_stop
from airflow_provider_spark_operator.core.names import DRIVER_CONTAINER
from airflow_provider_spark_operator.core.states import ApplicationState

_State = ApplicationState


class Outcome(StrEnum):
    """Whether to go on waiting."""

    WAITING = "Waiting"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class FailureKind(StrEnum):
    """Whose failure it is: the program's, the cluster's, or of the attempt to put one on the other."""

    APPLICATION = "application"
    INFRASTRUCTURE = "infrastructure"
    SCHEDULING = "scheduling"


@dataclass(frozen=True)
class Verdict:
    """A judgement; `reason` is a constant of `core.reasons`, `sentence` is for a person.

    `retry_worthy` is False where the same application would surely fail the same way again.
    """

    outcome: Outcome
    failure_kind: FailureKind | None
    retry_worthy: bool
    reason: str
    sentence: str


def verdict(progress: Progress) -> Verdict:
    """Judge `progress`. Only an ended application has succeeded or failed: until then a restart may follow.

    Ended states do not say how it went; the last stopping state of the last attempt does, and where there
    is none, the application was cancelled.
    """
    if progress.phase is not Phase.ENDED:
        sentence = f"The application is in progress: {progress.state}."
        return Verdict(Outcome.WAITING, None, False, reasons.IN_PROGRESS, sentence)
    stop = last_stop(progress.history)
    if stop is None:
        sentence = "The application was cancelled: its resources were released before it had ended."
        return Verdict(Outcome.FAILED, FailureKind.INFRASTRUCTURE, True, reasons.CANCELLED, sentence)
    if stop.meaning == _State.SUCCEEDED:
        return Verdict(Outcome.SUCCEEDED, None, False, reasons.SUCCEEDED, "The application succeeded.")
    return _failure(stop, progress)


@dataclass(frozen=True)
class _Cause:
    kind: FailureKind
    retry_worthy: bool
    reason: str
    what: str
    advice: str = ""


# The runtime had the container, but could not run its command.
_START_FAILURES: Final = frozenset({"StartError", "ContainerCannotRun"})
# Pod reasons with which a kubelet refuses a pod that the scheduler has given to its node.
_REJECTIONS: Final = frozenset(
    {"OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage", "UnexpectedAdmissionError"}
)
# What to do about each reason of a pod's condition DisruptionTarget.
_AFTER_DISRUPTION: Final[Mapping[str, str]] = {
    "PreemptionByScheduler": "give the driver a higher priority (priorityClassName in {driver}), or try again",
    "DeletionByTaintManager": "its node was lost or is being emptied: try again, another node will take it",
    "EvictionByEvictionAPI": "somebody has evicted it, as for emptying its node: try again, or protect it by a "
    "PodDisruptionBudget",
    "DeletionByPodGC": "its node is gone: try again, another one will take it",
    "TerminationByKubelet": "its node was shut down or needed the room: try again",
}
_JAVA_ERROR: Final = re.compile(r'^Exception in thread "[^"\n]*" (.+)$', re.MULTILINE)
# How the messages of the Apache operator begin that refuse a spec.
_REFUSALS: Final = ("client mode", "driverhttproutelist[", "drivergrpcroutelist[")
_TIMEOUTS: Final[Mapping[str, tuple[FailureKind, str, str, str]]] = {
    _State.DRIVER_START_TIMED_OUT: (
        FailureKind.INFRASTRUCTURE,
        reasons.DRIVER_START_TIMED_OUT,
        "the driver did not start in time",
        "see the driver pod's events, or raise driverStartTimeoutMillis",
    ),
    _State.DRIVER_READY_TIMED_OUT: (
        FailureKind.INFRASTRUCTURE,
        reasons.DRIVER_READY_TIMED_OUT,
        "the driver started but was not ready in time",
        "see the driver's log and readiness probe, or raise driverReadyTimeoutMillis",
    ),
    _State.EXECUTORS_START_TIMED_OUT: (
        FailureKind.INFRASTRUCTURE,
        reasons.EXECUTORS_START_TIMED_OUT,
        "too few executors were ready in time",
        "see the executor pods' events, lower initExecutors where it is set, or raise executorStartTimeoutMillis",
    ),
}


def _failure(stop: StateEntry, progress: Progress) -> Verdict:
    cause = _cause(stop, progress.settings)
    attempts = f" in attempt {progress.attempt + 1}" if progress.attempt else ""
    advice = f"; {cause.advice}" if cause.advice else ""
    sentence = f"{stop.state}{attempts}: {cause.what.rstrip('.')}{advice}."
    return Verdict(Outcome.FAILED, cause.kind, cause.retry_worthy, cause.reason, sentence)


def _cause(stop: StateEntry, settings: SettingNames) -> _Cause:
    status = stop.driver_status or {}
    if stop.meaning == _State.SCHEDULING_FAILURE:
        return _refusal(stop)
    if stop.meaning == _State.DRIVER_EVICTED:
        said = pods.text(status.get("message"))
        what = "the driver pod was evicted from its node" + (f": {said}" if said else "")
        advice = f"raise what the driver requests to what it uses, memory by {settings.overhead}"
        return _Cause(FailureKind.INFRASTRUCTURE, True, reasons.DRIVER_EVICTED, what, advice)
    if stop.meaning in _TIMEOUTS:
        return _obstacle(status, settings) or _timeout(stop)
    if stop.reason == reasons.DRIVER_INTERRUPTED:
        return _interrupted(status, stop.message or "the driver pod was deleted while it ran", settings)
    if not status:
        return _unseen(stop)
    if pods.is_taken_away(status):
        said = pods.disruption(status) or _said_of_pod(status)
        return _interrupted(status, "the driver pod was taken away" + (f" ({said})" if said else ""), settings)
    what = _lower_first(stop.message or "the driver failed")
    return _rejected(status) or _terminated(status, settings) or _failed(what)


def _failed(what: str) -> _Cause:
    return _Cause(FailureKind.APPLICATION, True, reasons.DRIVER_FAILED, what)


def _refusal(stop: StateEntry) -> _Cause:
    message = stop.message or "the driver's resources could not be created"
    what = _of_spark_submit(message) or _without_stack_trace(message)
    if stop.reason == reasons.SPEC_UNBUILDABLE:
        return _Cause(FailureKind.SCHEDULING, False, reasons.SPEC_UNBUILDABLE, what)
    return _Cause(FailureKind.SCHEDULING, True, reasons.SCHEDULING_FAILED, what)


def _of_spark_submit(message: str) -> str | None:
    """What spark-submit failed for and its first cause, where `message` holds all that it wrote, as Kubeflow's do."""
    beginning = message.partition(": ")[0]
    error = _JAVA_ERROR.search(message)
    if error is None:
        return None
    causes = message[error.end() :].split("\nCaused by: ")[1:]
    said = [error[1], *(cause.partition("\n")[0] for cause in causes[-1:])]
    return ": ".join([beginning, *(part.strip().rstrip(".") for part in said)])


def _without_stack_trace(message: str) -> str:
    """What happened and its first cause, of a message that ends with Java's trace, as the Apache operator's do."""
    said, *causes = message.split("\nCaused by: ")
    if not (causes or "\n\tat " in said):
        return message
    what = ": ".join(part.partition("\n\t")[0].strip().rstrip(".") for part in (said, *causes[-1:]))
    return what.replace(". StackTrace: ", ": ", 1)


def driver_obstacle(status: Mapping[str, object], settings: SettingNames) -> str | None:
    """What keeps a driver pod with this status from running, and what to do; None if its status names nothing."""
    cause = _obstacle(status, settings)
    return f"{cause.what.rstrip('.')}; {cause.advice}" if cause else None


def _timeout(stop: StateEntry) -> _Cause:
    kind, reason, what, advice = _TIMEOUTS[stop.meaning]
    if stop.reason == reasons.EXECUTORS_START_TIMED_OUT and stop.message:
        what = _lower_first(stop.message)  # no status is recorded of executors: what they wait for is only there
    return _Cause(kind, True, reason, what, advice)


def _obstacle(status: Mapping[str, object], settings: SettingNames) -> _Cause | None:
    """What kept a driver pod from running, as far as its status says so."""
    scheduled = pods.condition(status, "PodScheduled")
    if pods.text(scheduled.get("status")).lower() == "false":
        what = f"no node could take the driver pod: {pods.text(scheduled.get('message')) or 'no reason given'}"
        advice = f"ask for less ({settings.size}), or add nodes that fit"
        if pods.text(scheduled.get("reason")) == "SchedulingGated":
            advice = "whatever has set its scheduling gates, as a queue does, has to lift them"
        return _Cause(FailureKind.SCHEDULING, True, reasons.UNSCHEDULABLE, what, advice)
    waiting = [container for container in pods.all_containers(status) if container.waiting]
    for container in waiting:
        detail = ": ".join(part for part in (container.reason, container.message) if part)
        if container.reason in pods.PULL_FAILURES:
            image = f" {container.image}" if container.image else ""
            what = f"the image{image} of the driver's container {container.name} could not be pulled: {detail}"
            advice = f"check {settings.image}"
            return _Cause(FailureKind.INFRASTRUCTURE, True, reasons.IMAGE_UNAVAILABLE, what, advice)
        if container.reason in pods.CREATION_FAILURES:
            what = f"the driver's container {container.name} could not be created: {detail}"
            advice = "create or mend what it refers to"
            return _Cause(FailureKind.INFRASTRUCTURE, True, reasons.CONTAINER_REFUSED, what, advice)
    return None


def _unseen(stop: StateEntry) -> _Cause:
    """A failure without the pod's status: the spec was refused, or the driver had gone before it was seen to end."""
    message = stop.message or "the driver pod is gone, and nobody saw it end"
    # The Apache operator writes no reason; of what it refuses, the words are all there is.
    if stop.reason == reasons.SPEC_UNSUPPORTED or (not stop.reason and message.lower().startswith(_REFUSALS)):
        return _Cause(FailureKind.SCHEDULING, False, reasons.SPEC_UNSUPPORTED, message)
    return _Cause(FailureKind.INFRASTRUCTURE, True, reasons.DRIVER_LOST, _lower_first(message))


def _interrupted(status: Mapping[str, object], what: str, settings: SettingNames) -> _Cause:
    disruption = pods.text(pods.condition(status, "DisruptionTarget").get("reason"))
    advice = _AFTER_DISRUPTION.get(disruption, "try again").format(driver=settings.driver)
    return _Cause(FailureKind.INFRASTRUCTURE, True, reasons.DRIVER_INTERRUPTED, _lower_first(what), advice)


def _rejected(status: Mapping[str, object]) -> _Cause | None:
    if pods.text(status.get("reason")) not in _REJECTIONS:
        return None
    what = f"the node that was to take the driver pod had no room for it: {_said_of_pod(status)}"
    return _Cause(FailureKind.SCHEDULING, True, reasons.UNSCHEDULABLE, what, "try again, or ask for less")


def _said_of_pod(status: Mapping[str, object]) -> str:
    words = (pods.text(status.get("reason")), pods.text(status.get("message")))
    return ": ".join(word for word in words if word)


def _terminated(status: Mapping[str, object], settings: SettingNames) -> _Cause | None:
    containers = pods.all_containers(status)
    ended = [each for each in containers if each.exit_code]
    # A container that was restarted runs, or waits; how it ended before is why.
    ended = ended or [each.previous for each in containers if each.previous and each.previous.exit_code]
    failed = min(ended, key=_precedence, default=None)
    if failed is None:
        said = _said_of_pod(status)
        return _failed(f"the driver pod failed ({said})") if said else None
    return _ended_container(failed, status, settings)


def _precedence(container: pods.Container) -> int:
    """Which of several containers that failed says why: the one out of memory, else the one that runs Spark."""
    if container.reason == reasons.OUT_OF_MEMORY:
        return 0
    return 1 if container.name == DRIVER_CONTAINER else 2


def _ended_container(failed: pods.Container, status: Mapping[str, object], settings: SettingNames) -> _Cause:
    if failed.reason in _START_FAILURES:
        what = f"the driver's container {failed.name} could not be started: {failed.message or failed.reason}"
        advice = f"check its command and image ({settings.command})"
        return _Cause(FailureKind.INFRASTRUCTURE, True, reasons.CONTAINER_REFUSED, what, advice)
    what = f"container {failed.name} of the driver ended with {pods.exit_words(failed)}"
    if failed.reason == reasons.OUT_OF_MEMORY:
        advice = _memory_advice(failed.name, status, settings)
        return _Cause(FailureKind.APPLICATION, False, reasons.OUT_OF_MEMORY, what, advice)
    init_names = {container.name for container in pods.containers(status, "initContainerStatuses")}
    reason = reasons.INIT_CONTAINER_FAILED if failed.name in init_names else reasons.DRIVER_FAILED
    return _Cause(FailureKind.APPLICATION, True, reason, what)


def _memory_advice(name: str, status: Mapping[str, object], settings: SettingNames) -> str:
    """Which setting to raise: Spark's are those of its own container, which has Spark's name or is the only one."""
    names = [container.name for container in pods.containers(status)]
    sparks = settings.memory
    if name == DRIVER_CONTAINER or names == [name]:
        return f"raise {sparks}"
    template = f"the memory limit of {name} in {settings.template}"
    if name in names and DRIVER_CONTAINER not in names:
        return f"raise {sparks} where it runs Spark, else {template}"
    return f"raise {template}"


def _lower_first(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
