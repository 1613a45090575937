"""The timeline of an application: its attempts and their states, its executors, and the events that stand out."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import takewhile
from typing import Final

from ..dialects.dialect import dialect_of
from ..dialects.progress import ExecutorState, Progress, SettingNames, StateEntry
from ..kubernetes import pods
from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..states.states import DRIVER_RUNS, RUNNING, TERMINATED, ApplicationState
from ..verdict.verdict import Outcome
from .attempts import Attempt, add_drivers, list_attempts
from .events import find_pod_names, select_events
from .executors import is_dynamic, select_pods
from .observed_pods import Absence
from .pod_spans import PodSpan, count_over_time, list_executor_spans
from .resources import Resources, estimate_requests
from .summary import ApplicationSummary, summarize
from .waits import Wait, list_waits

# States that an application enters when it loses executors.
_REDUCED: Final = frozenset(
    {ApplicationState.RUNNING_WITH_PARTIAL_CAPACITY, ApplicationState.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS}
)
_OUT_OF_MEMORY: Final = "out of memory"
# The page of the Spark view marks the lanes by the same words.
_CAUSES: Final[Mapping[str, re.Pattern[str]]] = {
    _OUT_OF_MEMORY: pods.OUT_OF_MEMORY,
    "preempted": re.compile(r"\bPreempt"),
    "evicted": re.compile(r"\bEvict|\bDeletionByTaintManager\b"),
}


class MarkKind(StrEnum):
    """What happened at a mark."""

    ATTEMPT_FAILED = "AttemptFailed"
    RESTARTED = "Restarted"
    SUSPENDED = "Suspended"
    RESUMED = "Resumed"
    EXECUTOR_FAILED = "ExecutorFailed"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True)
class Mark:
    """An event that stands out.

    Attributes:
        time: When it happened.
        kind: What happened.
        text: A short description, for example `attempt 2`.
    """

    time: datetime
    kind: MarkKind
    text: str


@dataclass(frozen=True)
class Timeline:
    """The timeline of an application.

    Attributes:
        summary: The summary at the same time.
        begin: When the application was created; its first known state if that is unknown. None if no time is known.
        end: When the application ended, or now. Not before `begin`. Its operator can retain its resources for longer.
        is_live: Whether the application has not ended.
        attempts: The attempts that the status records, oldest first.
        executors: The executors that are known, in the order of their start.
        counts: The number of running executors from each time on.
        marks: The events that stand out, oldest first.
        waits: What the application and its pods have waited for, as far as pods, Events and states show it.
        requests: What a driver and an executor request, by role: for pods whose own requests are unknown. A role whose
            requests are unknown is absent.
        estimated: The roles whose requests come from the specification, because no pod shows them.
        uid: The uid of the application.
        team: Its label `team`. Empty if it has none.
    """

    summary: ApplicationSummary
    begin: datetime | None
    end: datetime
    is_live: bool
    attempts: tuple[Attempt, ...]
    executors: tuple[PodSpan, ...]
    counts: tuple[tuple[datetime, int], ...]
    marks: tuple[Mark, ...]
    waits: tuple[Wait, ...] = ()
    requests: Mapping[str, Resources] = field(default_factory=dict)
    estimated: frozenset[str] = frozenset()
    uid: str = ""
    team: str = ""

    @property
    def missing_attempts(self) -> int:
        """How many attempts the status no longer contains.

        The status contains the states of the latest attempt and of the one before it.
        """
        return self.attempts[0].number - 1 if self.attempts else 0

    @property
    def has_lost_executors(self) -> bool:
        """Whether neither pods nor Events show the executors of an application that has run.

        Spark deletes its executors at the end, and their Events do not name the application.
        """
        has_ended = self.summary.verdict.outcome is not Outcome.WAITING
        has_run = any(state.apache_state in RUNNING for attempt in self.attempts for state in attempt.states)
        return has_ended and has_run and not self.executors

    def has_run_before(self, time: datetime) -> bool:
        """Return whether a driver ran before a time, so that its executors may have been deleted by then."""
        states = (state for attempt in self.attempts for state in attempt.states if state.apache_state in DRIVER_RUNS)
        return any(state.begin and state.begin < time for state in states)


def build_timeline(
    resource: KubernetesObject,
    now: datetime,
    *,
    all_pods: Sequence[KubernetesObject] | None = None,
    events: Collection[KubernetesObject] = (),
    absences: Mapping[str, Absence] | None = None,
    queue_causes: Sequence[tuple[datetime, str]] = (),
) -> Timeline:
    """Build the timeline of a live or finished application. Never raises on a malformed document.

    Args:
        resource: The application as the API returns it.
        now: The current time, with an offset.
        all_pods: Pods, among them those of the application. None if they were not read.
        events: Events of the namespace. They describe executors whose pods no longer exist.
        absences: The deletions of pods in `all_pods` that no longer exist, by their uids.
        queue_causes: Why it was not admitted to its queue, with the times at which this was read, oldest first.
    """
    dialect, summary = dialect_of(resource.get("apiVersion")), summarize(resource, now, all_pods, events)
    seen, known = summary.progress, all_pods or ()
    metadata, drivers = pods.get_object(resource.get("metadata")), select_pods(resource, known, ROLE_DRIVER)
    started = _find_driver_start(select_pods(resource, drivers, ROLE_DRIVER, seen.application_id))
    history = _replace_end(dialect.read_history(resource, started), dialect.read_progress(resource), seen)
    attempts = add_drivers(list_attempts(history, seen), resource, seen, drivers)
    spans = list_executor_spans(resource, seen, known, events, absences)
    executors = _close(spans, attempts, absences, may_shrink=is_dynamic(resource))
    times = [state.begin for attempt in attempts for state in attempt.states if state.begin]
    begin = summary.created or min(times, default=None)
    is_live = summary.ended is None and summary.verdict.outcome is Outcome.WAITING
    last = now if is_live else summary.ended or max(times, default=now)
    own_pods = [*drivers, *select_pods(resource, known, ROLE_EXECUTOR)]
    own_events = select_events(resource, find_pod_names(resource, seen, own_pods), events)
    shown = _find_requests(attempts, executors)
    estimates = {role: estimate_requests(resource, role) for role in (ROLE_DRIVER, ROLE_EXECUTOR) if role not in shown}
    estimated = {role: requests for role, requests in estimates.items() if requests}
    return Timeline(
        summary=summary,
        begin=begin,
        end=max(last, begin) if begin else last,
        is_live=is_live,
        attempts=attempts,
        executors=executors,
        counts=count_over_time(executors),
        marks=tuple(sorted(_list_marks(attempts, executors, summary), key=lambda mark: mark.time)),
        waits=list_waits(attempts, summary.queue, own_pods, own_events, queue_causes),
        requests=shown | estimated,
        estimated=frozenset(estimated),
        uid=pods.get_text(metadata.get("uid")),
        team=pods.get_text(pods.get_object(metadata.get("labels")).get("team")),
    )


def _find_requests(attempts: Sequence[Attempt], executors: Sequence[PodSpan]) -> dict[str, Resources]:
    """Return what the latest pod of each role requests."""
    spans = {ROLE_DRIVER: [attempt.driver for attempt in attempts if attempt.driver], ROLE_EXECUTOR: executors}
    known = {role: [span.requested for span in each if span.requested] for role, each in spans.items()}
    return {role: requests[-1] for role, requests in known.items() if requests}


def _replace_end(recorded: Sequence[StateEntry], reported: Progress, judged: Progress) -> tuple[StateEntry, ...]:
    """Return the recorded states with those in which the judged history differs from the reported one."""
    pairs = zip(reported.history, judged.history, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return (*recorded[: len(recorded) - len(reported.history[same:])], *judged.history[same:])


def _find_driver_start(drivers: Iterable[KubernetesObject]) -> datetime | None:
    """Return when the container of the youngest driver started; None if no driver has."""
    times = [
        container.started
        for pod in drivers
        for container in pods.list_containers(pods.get_status(pod))
        if container.started
    ]
    return max(times, default=None)


def _close(
    spans: Iterable[PodSpan],
    attempts: Sequence[Attempt],
    absences: Mapping[str, Absence] | None,
    *,
    may_shrink: bool,
) -> tuple[PodSpan, ...]:
    """Return the executors, each of which ends at the latest with the driver of its attempt."""
    losses = [
        state.begin
        for attempt in attempts
        for state in attempt.states
        if state.apache_state in _REDUCED and state.begin is not None
    ]
    ends = sorted(attempt.end for attempt in attempts if attempt.is_over and attempt.end)
    closed = []
    for span in spans:
        absence = (absences or {}).get(span.uid)
        begin = span.begin or span.scheduled
        end = next((end for end in ends if begin and end >= begin), None)
        # If no list of pods contained an executor, it ended earlier than its driver.
        is_listed = bool(span.uid) or not (may_shrink or absences is not None)
        if (
            span.end is None
            and absence is not None
            and (end is None or end > (absence.seen if may_shrink else absence.missed))
        ):
            missed = min(absence.missed, end or absence.missed)
            closed.append(_estimate_end(span, replace(absence, missed=missed), losses))
        elif span.end is None and end is not None and is_listed:
            state = span.state if span.state is ExecutorState.FAILED else ExecutorState.ENDED
            closed.append(replace(span, state=state, end=end))
        else:
            closed.append(span)
    return tuple(closed)


def _estimate_end(span: PodSpan, absence: Absence, losses: Iterable[datetime]) -> PodSpan:
    """Return an executor that ends when the application lost executors, or else in the middle between two lists."""
    half = (absence.missed - absence.seen) / 2
    loss = next((loss for loss in losses if absence.seen <= loss <= absence.missed), None)
    end, doubt = (loss, timedelta()) if loss else (absence.seen + half, half)
    begin = span.begin or span.scheduled
    return replace(span, state=ExecutorState.UNKNOWN, end=max(end, begin or end), doubt=doubt if begin else timedelta())


def _list_marks(
    attempts: Sequence[Attempt], executors: Iterable[PodSpan], summary: ApplicationSummary
) -> Iterator[Mark]:
    for position, attempt in enumerate(attempts):
        is_last = attempt is attempts[-1]
        if attempt.begin and attempt.number > 1:
            was_suspended = position > 0 and attempts[position - 1].suspended is not None
            kind = MarkKind.RESUMED if was_suspended else MarkKind.RESTARTED
            yield Mark(attempt.begin, kind, f"attempt {attempt.number}")
        if attempt.suspended:
            yield Mark(attempt.suspended, MarkKind.SUSPENDED, f"attempt {attempt.number} suspended")
        if (
            not is_last
            and attempt.stop
            and attempt.stop.time
            and attempt.stop.apache_state != ApplicationState.SUCCEEDED
        ):
            yield Mark(attempt.stop.time, MarkKind.ATTEMPT_FAILED, attempt.stop.state)
    for span in executors:
        if span.state is ExecutorState.FAILED and span.end:
            yield Mark(span.end, MarkKind.EXECUTOR_FAILED, f"{span.name}: {span.detail}" if span.detail else span.name)
    if summary.ended is None:
        return
    stop = attempts[-1].stop if attempts else None
    succeeded = stop is not None and stop.apache_state == ApplicationState.SUCCEEDED
    cancelled = stop is None and summary.state in TERMINATED
    text = "Cancelled" if cancelled else (stop.state if stop else summary.state)
    yield Mark(summary.ended, MarkKind.SUCCEEDED if succeeded else MarkKind.FAILED, text)


def describe_losses(timeline: Timeline) -> str:
    """Return how the attempt before the latest one ended, and why executors were lost. Empty if nothing was lost.

    Args:
        timeline: The timeline of the run.
    """
    settings = timeline.summary.progress.settings.of_executors
    return " ".join((*_describe_restart(timeline.attempts), *_describe_lost_executors(timeline, settings)))


def _describe_restart(attempts: Sequence[Attempt]) -> Iterator[str]:
    if len(attempts) < 2:
        return
    before, latest = attempts[-2:]
    last = before.stop or before.states[-1]
    how = "was suspended" if before.suspended else f"ended in the state {last.state}"
    detail = (before.driver.detail if before.driver else "") or ("" if before.suspended else last.reason)
    how += f": {detail}" if detail else ""
    yield f"Attempt {latest.number} follows attempt {before.number}, which {how}."


def _describe_lost_executors(timeline: Timeline, settings: SettingNames) -> Iterator[str]:
    causes, spans = Counter(_list_causes(timeline)), timeline.executors
    if not causes:
        return
    verb = "was" if causes.total() == 1 else "were"
    numbers = ", ".join(f"{number} {cause}" for cause, number in causes.most_common())
    yield f"{causes.total()} of {len(spans)} executors {verb} lost: {numbers}."
    if _OUT_OF_MEMORY in causes:
        yield f"To give each executor more memory, raise {settings.memory}."


def _list_causes(timeline: Timeline) -> Iterator[str]:
    """Yield the cause of each lost executor. One that is stopped before its loss ends with a regular exit code."""
    ends = [attempt.end for attempt in timeline.attempts if attempt.end]
    for span in timeline.executors:
        cause = next((cause for cause, words in _CAUSES.items() if words.search(span.detail)), "")
        if cause or (span.state is ExecutorState.FAILED and not _outlived_driver(span, ends)):
            yield cause or "for another reason"


def _outlived_driver(span: PodSpan, ends: Iterable[datetime]) -> bool:
    """Whether a driver ended while the executor ran, which makes it fail. Pods have times in whole seconds."""
    begin, end = span.begin, span.end
    return bool(begin and end and any(begin < driver and driver - end < timedelta(seconds=1) for driver in ends))
