"""The attempts of an application: the states of each attempt with their times, and its driver."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ..dialects.dialect import dialect_of
from ..dialects.progress import ExecutorState, Phase, Progress, StateEntry, find_last_stop
from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.times import read_time
from ..states.states import INITIALIZING, RUNNING, STARTING, TERMINATED, ApplicationState
from ..verdict.driver_facts import read_creation
from .pod_spans import PodSpan, read_pod

# The states in which a driver runs: it was requested before.
_STARTED: Final = (STARTING | RUNNING) - {ApplicationState.DRIVER_REQUESTED}
_REGULAR: Final = frozenset({0})


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


def add_drivers(
    attempts: Sequence[Attempt], resource: KubernetesObject, seen: Progress, drivers: Iterable[KubernetesObject]
) -> tuple[Attempt, ...]:
    """Return the attempts with their drivers. The states describe a driver whose pod no longer exists.

    Args:
        attempts: The attempts, oldest first.
        resource: The application.
        seen: Its progress.
        drivers: The driver pods that exist.
    """
    found: dict[int, PodSpan] = {}
    for pod in sorted(drivers, key=read_creation):
        if number := _find_attempt(attempts, pod):
            found[number] = read_pod(pod, _REGULAR)

    def find_driver(attempt: Attempt) -> PodSpan | None:
        pod = found.get(attempt.number)
        return _close(pod, attempt) if pod else _read_states(attempt, resource, seen)

    return tuple(replace(attempt, driver=find_driver(attempt)) for attempt in attempts)


def _find_attempt(attempts: Sequence[Attempt], pod: KubernetesObject) -> int | None:
    """Return the number of the attempt in which a pod was created. Times of pods have no fractions of seconds."""
    created = read_time(read_creation(pod))
    begun = [one for one in attempts if created and one.begin and one.begin.replace(microsecond=0) <= created]
    # Kubeflow's operator records an attempt after it has created the driver.
    chosen = begun[-1:] or (attempts[:1] if created else attempts[-1:])
    return chosen[0].number if chosen else None


def _close(driver: PodSpan, attempt: Attempt) -> PodSpan:
    """Return a driver that ends at the latest with its attempt."""
    if driver.end is not None or not attempt.is_over or attempt.end is None:
        return driver
    state = driver.state if driver.state is ExecutorState.FAILED else _judge(attempt)
    return replace(driver, state=state, end=max(attempt.end, driver.begin or attempt.end))


def _read_states(attempt: Attempt, resource: KubernetesObject, seen: Progress) -> PodSpan | None:
    begun = [state.begin for state in attempt.states if state.apache_state in _STARTED and state.begin]
    if not begun:
        return None
    dialect = dialect_of(resource.get("apiVersion"))
    identifier = dialect.read_application_id(resource, attempt.number - 1)
    name = dialect.read_driver_pod_name(resource, identifier) or seen.driver_name or ""
    return PodSpan(name, _judge(attempt), begun[0], _find_end(attempt, begun[0]))


def _find_end(attempt: Attempt, begin: datetime) -> datetime | None:
    return max(attempt.end, begin) if attempt.is_over and attempt.end else None


def _judge(attempt: Attempt) -> ExecutorState:
    if not attempt.is_over:
        return ExecutorState.RUNNING
    failed = attempt.stop is not None and attempt.stop.apache_state != ApplicationState.SUCCEEDED
    return ExecutorState.FAILED if failed else ExecutorState.ENDED
