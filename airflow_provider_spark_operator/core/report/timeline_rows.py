"""The rows of the chart of a timeline: for the terminal and for pictures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from ..dialects.progress import ExecutorState
from ..kubernetes.times import format_duration
from ..states.states import FAILURE, INITIALIZING, RUNNING, STARTING, ApplicationState
from .attempts import Attempt, StateSpan
from .pod_spans import PodSpan, count_unknown_executors
from .timeline import Timeline
from .waits import WaitKind

MAX_EXECUTORS: Final = 20
_SECOND: Final = timedelta(seconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)


class Tone(StrEnum):
    """The meaning of the color of a bar."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RELEASED = "released"
    DRIVER = "driver"
    EXECUTOR = "executor"

    @property
    def label(self) -> str:
        """The word in a legend: an application that has ended can also retain its resources."""
        return "ended" if self is Tone.RELEASED else self.value


@dataclass(frozen=True)
class Bar:
    """One row with one bar.

    Attributes:
        label: The name of the state or the executor, or `driver`.
        begin: When the bar begins.
        end: When it ends.
        tone: What its colour says.
        lasted: Its duration.
        detail: How a driver or an executor ended, or that the application was in a queue. Empty if nothing is known.
    """

    label: str
    begin: datetime
    end: datetime
    tone: Tone
    lasted: str
    detail: str = ""


@dataclass(frozen=True)
class Group:
    """Rows below a title: an attempt, or the executors."""

    title: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Part:
    """A part of a run.

    Attributes:
        begin: When it begins.
        end: When it ends.
        tone: What the run did. A program that runs has the tone of an executor while executors run, and else that of a
            driver. If not all executors are known, its tone is `running`.
    """

    begin: datetime
    end: datetime
    tone: Tone

    @property
    def label(self) -> str:
        """The word for what the run did."""
        return _PARTS.get(self.tone, self.tone.label)


_PARTS: Final[Mapping[Tone, str]] = {Tone.DRIVER: "driver only", Tone.EXECUTOR: "with executors"}


def list_parts(timeline: Timeline) -> list[Part]:
    """Return the parts of a run in the order of the states."""
    begin, parts = timeline.begin or timeline.end, list[Part]()
    counts = () if count_unknown_executors(timeline.executors) else timeline.counts
    for state in (state for attempt in timeline.attempts for state in attempt.states if state.begin):
        tone = choose_tone(state.apache_state)
        part = Part(max(state.begin or begin, begin), min(state.end or timeline.end, timeline.end), tone)
        if part.begin < part.end:
            parts += _divide(part, counts) if counts and tone is Tone.RUNNING else [part]
    return parts


def _divide(part: Part, counts: Sequence[tuple[datetime, int]]) -> Iterator[Part]:
    begin, tone = part.begin, Tone.DRIVER
    for time, number in counts:
        following = Tone.EXECUTOR if number else Tone.DRIVER
        if begin < time < part.end and following is not tone:
            yield Part(begin, time, tone)
            begin = time
        if time < part.end:
            tone = following
    yield Part(begin, part.end, tone)


def describe_parts(timeline: Timeline) -> str:
    """Return what a run spent its time with, for example `starting 6s (20 %), running 23s (80 %)`."""
    begin, parts = timeline.begin or timeline.end, list_parts(timeline)
    words = []
    for tone in Tone:
        lasted = sum((part.end - part.begin for part in parts if part.tone is tone), timedelta())
        if lasted >= (_SECOND if tone in _ENDS else _MILLISECOND):
            share = int(100 * lasted / (timeline.end - begin) + 0.5)
            words.append(f"{_PARTS.get(tone, tone.label)} {_format_lasted(lasted)} ({share or '<1'} %)")
    return ", ".join(words)


def build_groups(timeline: Timeline) -> list[Group]:
    """Return the rows of a timeline. States after the end and very short ones have no row, nor has what has no time."""
    groups = [Group(_describe_attempt(each), _build_states(each, timeline)) for each in timeline.attempts]
    groups[:0] = _build_missing(timeline)
    known = [span for span in timeline.executors if span.begin]
    if known:
        if len(known) > MAX_EXECUTORS:  # those that failed come first
            known.sort(key=lambda span: span.state is not ExecutorState.FAILED)
        bars = tuple(_build_pod(span, Tone.EXECUTOR, timeline) for span in known[:MAX_EXECUTORS])
        more = f", the first {MAX_EXECUTORS}" if len(known) > MAX_EXECUTORS else ""
        most = max((count for _, count in timeline.counts), default=0)
        groups.append(Group(f"executors: {len(known)}{more}; at most {most} at once", bars))
    return [group for group in groups if group.bars]


def list_tones(groups: Sequence[Group]) -> list[Tone]:
    """Return the meanings of the colours in the rows, for a legend."""
    used = {bar.tone for group in groups for bar in group.bars}
    return [tone for tone in Tone if tone in used]


def describe_timeline(timeline: Timeline) -> str:
    """Return the title of the chart: the name, the outcome or the state, and the duration."""
    summary = timeline.summary
    outcome = summary.state if timeline.is_live else str(summary.verdict.outcome)
    kind = f" ({summary.verdict.failure_kind})" if summary.verdict.failure_kind else ""
    lasted = f", {format_duration(summary.duration)}" if timeline.begin and summary.duration else ""
    return f"{summary.namespace}/{summary.name}: {outcome}{kind}{lasted}"


def choose_ticks(span: timedelta, most: int) -> list[timedelta]:
    """Return round times from the beginning: two at least if the span contains them, and at most `most`."""
    total = span.total_seconds()
    step = next((step for step in _STEPS if total // step < max(2, most)), max(total, 1.0))
    return [timedelta(seconds=index * step) for index in range(int(total // step) + 1)]


_STEPS: Final[Sequence[float]] = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600),
    *(86400 * days for days in (1, 2, 7, 14, 28, 91, 365, 3650)),
)


def number_missing(timeline: Timeline) -> str:
    """Return the numbers of the attempts that the status no longer contains, such as `1-3`; empty if there are none."""
    last = timeline.missing_attempts
    return f"1-{last}" if last > 1 else "1" if last else ""


def _build_missing(timeline: Timeline) -> list[Group]:
    """Return one row for the attempts that the status no longer contains, if their time is known."""
    end = timeline.attempts[0].begin if timeline.missing_attempts else None
    if timeline.begin is None or end is None or end < timeline.begin:
        return []
    title = f"attempt {number_missing(timeline)}: no longer in the status"
    lasted = _format_lasted(end - timeline.begin)
    return [Group(title, (Bar("states unknown", timeline.begin, end, Tone.WAITING, lasted),))]


def _describe_attempt(attempt: Attempt) -> str:
    """Return the title of an attempt: how it ended, and how long its resources were retained after its end."""
    title = f"attempt {attempt.number}{f': {attempt.stop.state}' if attempt.stop else ''}"
    for state in attempt.states:
        if state.apache_state == ApplicationState.TERMINATED_WITHOUT_RELEASE_RESOURCES and state.begin:
            lasted = state.end - state.begin if state.end else timedelta()  # a last state has no duration
            retained = f"were retained for {_format_lasted(lasted)}" if lasted else "are retained"
            return f"{title}; its resources {retained}"
    return title


def _build_states(attempt: Attempt, timeline: Timeline) -> tuple[Bar, ...]:
    """Return the bars of the states, and below them the bar of the driver if its container has started."""
    states = tuple(bar for state in attempt.states if (bar := _build_state(state, timeline)))
    driver = attempt.driver
    return (*states, _build_pod(driver, Tone.DRIVER, timeline)) if driver and driver.begin else states


def _build_state(state: StateSpan, timeline: Timeline) -> Bar | None:
    if state.begin is None:
        return None
    end, tone = max(min(state.end or timeline.end, timeline.end), state.begin), choose_tone(state.apache_state)
    least = _SECOND
    if tone not in _ENDS:
        run = timeline.end - (timeline.begin or timeline.end)
        least = min(_SECOND, run / 100) if state.end and tone is not Tone.RUNNING else timedelta()
    if end - state.begin < least:
        return None  # its row would look empty
    detail = "in the queue" if tone is Tone.WAITING and _is_queued(timeline, state.begin) else ""
    return Bar(state.state, state.begin, end, tone, _format_lasted(end - state.begin), detail)


def _is_queued(timeline: Timeline, time: datetime) -> bool:
    queues = [wait for wait in timeline.waits if wait.kind is WaitKind.QUEUE]
    return any(wait.begin <= time and (wait.end is None or time < wait.end) for wait in queues)


def _build_pod(span: PodSpan, tone: Tone, timeline: Timeline) -> Bar:
    begin = span.begin or timeline.end
    end = max(span.end or (timeline.end if span.state is ExecutorState.RUNNING else begin), begin)
    label = "driver" if tone is Tone.DRIVER else span.name
    shown = Tone.FAILED if span.state is ExecutorState.FAILED else tone
    return Bar(label, begin, end, shown, format_duration(end - begin), span.detail)


def _format_lasted(duration: timedelta) -> str:
    """Return how long a state lasted, in milliseconds if it was below a second."""
    short = duration < _SECOND
    return f"{duration // _MILLISECOND}ms" if short else format_duration(duration)


def choose_tone(apache_state: str) -> Tone:
    """Return the meaning of a state of `spark.apache.org`."""
    for tone, states in _TONES.items():
        if apache_state in states:
            return tone
    return Tone.RELEASED


_ENDS: Final = (Tone.SUCCEEDED, Tone.FAILED, Tone.RELEASED)
_TONES: Final = {
    Tone.WAITING: INITIALIZING | {ApplicationState.SUSPENDED},
    Tone.STARTING: STARTING,
    Tone.RUNNING: RUNNING,
    Tone.SUCCEEDED: frozenset({ApplicationState.SUCCEEDED}),
    Tone.FAILED: FAILURE,
}
