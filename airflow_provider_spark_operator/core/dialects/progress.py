"""How far an application is, whatever kind of resource it is written as."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from airflow_provider_spark_operator.core.states import INITIALIZING, STOPPING


class Phase(StrEnum):
    """What a state means to somebody who waits; the states' own words differ from kind to kind."""

    WAITING = "Waiting"
    """No driver runs yet."""
    RUNNING = "Running"
    """The driver runs."""
    STOPPING = "Stopping"
    """The driver has ended; clean-up, and perhaps another attempt, follow."""
    ENDED = "Ended"
    """Nothing will follow."""


@dataclass(frozen=True)
class StateEntry:
    """A state that the application entered at `time`, and the driver pod's status if that was recorded.

    `reason` is a constant of `core.reasons`, where whoever drives the application has written one.
    """

    state: str
    time: datetime | None = None
    message: str | None = None
    driver_status: Mapping[str, object] | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Progress:
    """How far an application is.

    `history` is the current attempt's, or longer, oldest first. `driver_status` is the driver pod's
    status with the last stop of the current attempt. `attempt` counts from 0. `restart_pending`: the
    driver has ended, and another attempt follows or may follow.
    """

    state: str
    phase: Phase
    since: datetime | None = None
    message: str | None = None
    attempt: int = 0
    history: tuple[StateEntry, ...] = ()
    driver_status: Mapping[str, object] | None = None
    application_id: str | None = None
    restart_pending: bool = False


def last_stop(history: tuple[StateEntry, ...]) -> StateEntry | None:
    """The entry with which the latest attempt in `history` stopped; None if it never did."""
    for entry in reversed(history):
        if entry.state in STOPPING:
            return entry
        if entry.state in INITIALIZING:
            return None
    return None
