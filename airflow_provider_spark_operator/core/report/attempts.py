"""The attempts of an application, and the states of each attempt with their times."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ..dialects.progress import Phase, Progress, StateEntry, find_last_stop
from ..states.states import INITIALIZING, TERMINATED, ApplicationState
from .pod_spans import PodSpan


@dataclass(frozen=True)
class StateSpan:
    """A state and the time that an application spent in it.

    Attributes:
        state: The state in the words of the dialect.
        apache_state: The equivalent state of `spark.apache.org`, or the state itself if there is none.
        begin: When the application entered the state. None if unknown.
        end: When the application left the state. None if it is still in the state, or if the time is unknown. The last
            state of an application that has ended has no duration.
        message: The message of the status. None if there is none.
        reason: A constant of `core.states.reasons`. None if the operator writes no reasons.
    """

    state: str
    apache_state: str
    begin: datetime | None
    end: datetime | None
    message: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Attempt:
    """One attempt.

    Attributes:
        number: Its number, from 1.
        states: Its states, oldest first; at least one.
        stop: The state with which it stopped. None if it has not stopped, or was cancelled.
        is_over: Whether it has ended.
        driver: Its driver. None if it had none, or if nothing is known about it.
    """

    number: int
    states: tuple[StateSpan, ...]
    stop: StateEntry | None
    is_over: bool
    driver: PodSpan | None = None

    @property
    def begin(self) -> datetime | None:
        """When it was submitted or scheduled. None if unknown."""
        return next((state.begin for state in self.states if state.begin), None)

    @property
    def suspended(self) -> datetime | None:
        """When it was suspended, which stops its driver. None if it was not, or if the time is unknown."""
        return next((state.begin for state in self.states if state.apache_state == ApplicationState.SUSPENDED), None)

    @property
    def end(self) -> datetime | None:
        """When its driver ended or was stopped. None if it has not ended, or if the time is unknown."""
        if self.stop is not None and self.stop.time is not None:
            return max(self.stop.time, self.begin or self.stop.time)
        if self.suspended:
            return self.suspended
        last = self.states[-1]
        return (last.begin if last.apache_state in TERMINATED else last.end) if self.is_over else None


def list_attempts(history: Sequence[StateEntry], seen: Progress) -> tuple[Attempt, ...]:
    """Split the recorded states of an application into attempts, oldest first.

    Args:
        history: The states as the dialect's `read_history` returns them.
        seen: The progress of the application.
    """
    groups: list[list[StateEntry]] = []
    for entry in history:
        if not groups or (entry.apache_state in INITIALIZING and groups[-1][-1].apache_state not in INITIALIZING):
            groups.append([])
        groups[-1].append(entry)
    spans = _build_spans(history, seen.phase is Phase.ENDED)
    attempts, position = [], 0
    for index, group in enumerate(groups):
        number = max(1, seen.attempt + 1 - (len(groups) - 1 - index))
        states = spans[position : position + len(group)]
        is_last = index == len(groups) - 1
        is_over = not is_last or seen.phase in (Phase.STOPPING, Phase.ENDED) or seen.suspended_by is not None
        attempts.append(Attempt(number, states, find_last_stop(tuple(group)), is_over))
        position += len(group)
    return tuple(attempts)


def _build_spans(history: Sequence[StateEntry], has_ended: bool) -> tuple[StateSpan, ...]:
    """Return a span for each state. Times of documents may run backwards; a state lasts at least no time."""
    spans = []
    for index, entry in enumerate(history):
        is_last = index == len(history) - 1
        following = entry.time if is_last and has_ended else None
        if not is_last:
            following = next((later.time for later in history[index + 1 :] if later.time), None)
        end = max(following, entry.time) if following and entry.time else following
        spans.append(StateSpan(entry.state, entry.apache_state, entry.time, end, entry.message, entry.reason))
    return tuple(spans)
