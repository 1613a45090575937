"""Explain why a resource has no pods although nothing is wrong: `spec.suspend` holds it, or it waits for Kueue.

A first attempt that is held has no status. Its Events and its Workload show the cause.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ..dialects.dialect import dialect_of
from ..dialects.progress import Phase, Progress
from ..kubernetes import pods
from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.names import LABEL_QUEUE_NAME
from ..kubernetes.times import read_last_time, read_time
from ..kueue import state
from ..log.driver_log import clean_sentence
from ..states import reasons
from ..states.states import INITIALIZING, ApplicationState, SuspendReason, read_suspend_reason

CLEAR_SUSPEND: Final = "set spec.suspend to false"
"""The advice of a `Hold` for a suspended resource."""
_SUSPENSION_PROBLEMS: Final = frozenset({reasons.SUSPEND_CHECK_FAILED, reasons.SUSPEND_RELEASE_FAILED})
_QUEUE_PROBLEMS: Final = frozenset({reasons.KUEUE_ADMISSION_REQUEST_FAILED, reasons.KUEUE_RESOURCE_FLAVOR_READ_FAILED})
_QUEUE_REASONS: Final = frozenset({reasons.KUEUE_ADMISSION_PENDING, reasons.KUEUE_ADMITTED}) | _QUEUE_PROBLEMS
# How messages of Events begin that repeat what this module says itself.
_REPETITION: Final = "waiting for kueue admission"
_MINUTE: Final = 60
_HOUR: Final = 3600
_ELAPSED: Final = re.compile(r" \((?:\d+ (?:h|min|s) ?)+so far\)|, last renewed (?:\d+ (?:h|min|s) ?)+ago")


@dataclass(frozen=True)
class Held:
    """A resource without pods that may be held.

    Attributes:
        uid: Its uid.
        queue: The queue in its labels. Empty if there is none.
        wants_suspension: Whether the user has set `spec.suspend`.
        suspended_by: Why its state is Suspended. None if it is not.
        since: When it entered its state, or was created. None if unknown.
        message: The message of its state. Empty if there is none.
    """

    uid: str
    queue: str
    wants_suspension: bool
    suspended_by: SuspendReason | None
    since: datetime | None
    message: str = ""


@dataclass(frozen=True)
class Hold:
    """What holds a resource.

    Attributes:
        sentence: A clause such as "it waits for Kueue admission in queue team-a".
        since: Since when. None if unknown.
        detail: The cause. Empty if it is not known.
        advice: What to do. Empty if nothing can be done.
    """

    sentence: str
    since: datetime | None = None
    detail: str = ""
    advice: str = ""

    @property
    def cause(self) -> str:
        """The sentence and the detail, which stay the same while nothing changes."""
        return f"{self.sentence}: {self.detail}"

    def describe(self, now: datetime) -> str:
        """Return one line with the sentence, the time that has passed, the cause and the advice.

        Args:
            now: The current time, with an offset.
        """
        lasted = f" ({format_wait(now - self.since)} so far)" if self.since and now > self.since else ""
        detail = f": {self.detail.rstrip('.')}" if self.detail else ""
        return clean_sentence(f"{self.sentence}{lasted}{detail}" + (f"; {self.advice}" if self.advice else ""))


def get_queue(resource: KubernetesObject) -> str:
    """Return the queue of Kueue that the labels of a resource name; empty if they name none."""
    labels = pods.get_object(pods.get_object(resource.get("metadata")).get("labels"))
    return pods.get_text(labels.get(LABEL_QUEUE_NAME))


def find_held_application(seen: Progress, resource: KubernetesObject) -> Held | None:
    """Return an application that `spec.suspend` or Kueue may hold; None if neither can.

    Args:
        seen: The progress of `resource`.
        resource: The application.
    """
    queue, dialect = get_queue(resource), dialect_of(resource.get("apiVersion"))
    suspends = dialect.is_suspended(resource)
    if seen.phase is not Phase.WAITING or seen.driver_expected:
        return None
    if not (queue or suspends or seen.suspended_by):
        return None
    by_user = suspends and not (queue and dialect.suspended_by_kueue)
    return _build_held(resource, by_user, seen.suspended_by, seen.since, seen.message or "")


def find_held_cluster(resource: KubernetesObject) -> Held | None:
    """Return a SparkCluster that `spec.suspend` or Kueue may hold; None if neither can."""
    current = pods.get_object(pods.get_object(resource.get("status")).get("currentState"))
    word = pods.get_text(current.get("currentStateSummary")) or ApplicationState.SUBMITTED
    suspended_by = read_suspend_reason(current) if word == ApplicationState.SUSPENDED else None
    by_user = pods.get_object(resource.get("spec")).get("suspend") is True
    if suspended_by is None and (word not in INITIALIZING or not (by_user or get_queue(resource))):
        return None
    since, message = read_time(current.get("lastTransitionTime")), pods.get_text(current.get("message"))
    return _build_held(resource, by_user, suspended_by, since, message)


def find_hold(held: Held, events: Sequence[KubernetesObject] | None, workload: KubernetesObject | None) -> Hold | None:
    """Return what holds a resource; None if nothing shows that it is held.

    Args:
        held: The resource.
        events: The Events about it, oldest first. None if they may not be read.
        workload: Its Workload. None if there is none, or if it may not be read.
    """
    if held.wants_suspension or held.suspended_by is SuspendReason.SPEC_SUSPEND:
        return _explain_suspension(held, events or ())
    return _explain_queue(held, events, workload)


def find_ignored_queue(resource: KubernetesObject, events: Sequence[KubernetesObject]) -> str | None:
    """Return why the operator ignores the queue of a resource; None if it does not report that.

    Args:
        resource: The resource.
        events: The Events about it, oldest first.
    """
    event = _find_last(events, frozenset({reasons.KUEUE_DISABLED}))
    if event is None or not get_queue(resource):
        return None
    message = pods.get_text(event.get("message")).rstrip(".")
    return f"it is not in queue {get_queue(resource)}: {message or 'the operator does not use Kueue'}"


def select_workload(workloads: Sequence[KubernetesObject], uid: str) -> KubernetesObject | None:
    """Return the Workload of a resource; None if there is none.

    Args:
        workloads: The Workloads with the labels of the resource.
        uid: The uid of the resource.
    """
    owned = [one for one in workloads if state.is_controlled_by(one, uid) and not state.is_being_deleted(one)]
    return owned[0] if owned else None


def format_wait(duration: timedelta) -> str:
    """Format a duration for messages: `45 s`, `12 min` or `3 h 5 min`."""
    seconds = int(duration.total_seconds())
    if seconds < _MINUTE:
        return f"{seconds} s"
    minutes = seconds // _MINUTE
    if seconds < 2 * _HOUR:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def drop_elapsed(sentence: str) -> str:
    """Return a sentence of this package about a wait without the times that have passed, which always change."""
    return _ELAPSED.sub("", sentence)


def _build_held(
    resource: KubernetesObject, by_user: bool, suspended_by: SuspendReason | None, since: datetime | None, message: str
) -> Held:
    metadata = pods.get_object(resource.get("metadata"))
    return Held(
        uid=pods.get_text(metadata.get("uid")),
        queue=get_queue(resource),
        wants_suspension=by_user,
        suspended_by=suspended_by,
        # Kubeflow's operator does not record when it suspended an application.
        since=since or (None if suspended_by else read_time(metadata.get("creationTimestamp"))),
        message=message,
    )


def _explain_suspension(held: Held, events: Sequence[KubernetesObject]) -> Hold:
    problem = _find_last(events, _SUSPENSION_PROBLEMS | {reasons.SUSPEND_HELD})
    failed = problem is not None and problem.get("reason") in _SUSPENSION_PROBLEMS
    cause = pods.get_text(problem.get("message")).rstrip(".") if problem is not None and failed else ""
    if held.suspended_by is None:
        return Hold("spec.suspend is true", None, cause, f"{CLEAR_SUSPEND} to start it")
    if held.wants_suspension:
        advice = f"{CLEAR_SUSPEND} to run it again from the beginning"
        return Hold("it is suspended by spec.suspend", held.since, cause, advice)
    return Hold("it was resumed, and starts when the pods of its last attempt no longer exist", None, cause)


def _explain_queue(
    held: Held, events: Sequence[KubernetesObject] | None, workload: KubernetesObject | None
) -> Hold | None:
    current = _drop_outdated_problems(held, events or (), workload)
    event = _find_last(current, _QUEUE_REASONS)
    reported = pods.get_text(event.get("message")).rstrip(".") if event is not None else ""
    if event is not None and event.get("reason") in _QUEUE_PROBLEMS:
        return Hold(f"Kueue cannot admit it to queue {held.queue}", held.since, reported)
    if held.suspended_by is not None:
        return _explain_evicted(held, current, workload)
    if workload is not None:
        return _explain_workload(held, workload)
    is_pending = event is not None and event.get("reason") == reasons.KUEUE_ADMISSION_PENDING
    if not is_pending and events is not None:
        return None
    since = (event and read_time(event.get("firstTimestamp"))) or held.since
    return Hold(_describe_queue(held), since, _remove_repetition(reported) if is_pending else "")


def _explain_evicted(held: Held, events: Sequence[KubernetesObject], workload: KubernetesObject | None) -> Hold:
    problem = _find_last(events, frozenset({reasons.SUSPEND_RELEASE_FAILED}))
    if problem is not None:
        cause = pods.get_text(problem.get("message")).rstrip(".")
        return Hold("Kueue has evicted it; it waits until its pods are deleted", held.since, cause)
    queue = f" in queue {held.queue}" if held.queue else ""
    detail = (workload and _explain_eviction(workload)) or held.message.rstrip(".")
    return Hold(f"Kueue has evicted it; it waits for another admission{queue}", held.since, detail)


def _drop_outdated_problems(
    held: Held, events: Sequence[KubernetesObject], workload: KubernetesObject | None
) -> list[KubernetesObject]:
    """Drop the Events about problems that the state or the Workload shows as solved: they changed later.

    The operator does not repeat an Event within some minutes, so a problem can be the last Event although it is solved.
    """
    changes = (held.since, state.find_last_change(workload) if workload is not None else None)
    changed = max(filter(None, changes), default=None)

    def is_outdated(event: KubernetesObject) -> bool:
        time = read_last_time(event)
        is_earlier = changed is not None and time is not None and time < changed
        return is_earlier and event.get("reason") in _QUEUE_PROBLEMS | _SUSPENSION_PROBLEMS

    return [event for event in events if not is_outdated(event)]


def _explain_workload(held: Held, workload: KubernetesObject) -> Hold | None:
    is_evicted = state.describe_eviction(workload) is not None
    if state.is_true(workload, state.ADMITTED) and state.is_active(workload) and not is_evicted:
        return None
    since = read_time(pods.get_object(workload.get("metadata")).get("creationTimestamp")) or held.since
    return Hold(_describe_queue(held), since, _explain_eviction(workload) or state.describe_waiting(workload))


def _explain_eviction(workload: KubernetesObject) -> str:
    """Return why a Workload does not get quota again; empty if it was not evicted."""
    if not state.is_active(workload):
        return "the Workload is deactivated (spec.active is false)"
    eviction, until = state.describe_eviction(workload), state.read_requeue_time(workload)
    if eviction is None:
        return ""
    return f"{eviction.rstrip('.')}; it is queued again at {until:%H:%M:%S} UTC" if until else eviction


def _describe_queue(held: Held) -> str:
    return f"it waits for Kueue admission in queue {held.queue}"


def _remove_repetition(message: str) -> str:
    if not message.lower().startswith(_REPETITION):
        return message
    return message.partition(": ")[2]


def _find_last(events: Sequence[KubernetesObject], wanted: frozenset[str]) -> KubernetesObject | None:
    return next((event for event in reversed(events) if event.get("reason") in wanted), None)
