"""The drivers of the attempts of an application."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from ..dialects.dialect import dialect_of
from ..dialects.progress import ExecutorState, Progress
from ..kubernetes import pods
from ..kubernetes.json_object import KubernetesObject, read_time
from ..states.states import RUNNING, STARTING, ApplicationState
from .attempts import Attempt
from .pod_spans import PodSpan, read_pod

# The states in which a driver runs: it was requested before.
_STARTED: Final = (STARTING | RUNNING) - {ApplicationState.DRIVER_REQUESTED}
_REGULAR: Final = frozenset({0})


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
    for pod in sorted(drivers, key=_read_creation_text):
        if number := _find_attempt(attempts, pod):
            found[number] = read_pod(pod, _REGULAR)

    def find_driver(attempt: Attempt) -> PodSpan | None:
        pod = found.get(attempt.number)
        return _close(pod, attempt) if pod else _read_states(attempt, resource, seen)

    return tuple(replace(attempt, driver=find_driver(attempt)) for attempt in attempts)


def _find_attempt(attempts: Sequence[Attempt], pod: KubernetesObject) -> int | None:
    """Return the number of the attempt in which a pod was created. Times of pods have no fractions of seconds."""
    created = read_time(_read_creation_text(pod))
    begun = [one for one in attempts if created and one.begin and one.begin.replace(microsecond=0) <= created]
    # Kubeflow's operator records an attempt after it has created the driver.
    chosen = begun[-1:] or (attempts[:1] if created else attempts[-1:])
    return chosen[0].number if chosen else None


def _read_creation_text(pod: KubernetesObject) -> str:
    return pods.get_text(pods.get_object(pod.get("metadata")).get("creationTimestamp"))


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
