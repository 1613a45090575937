"""How far an application is, whatever kind of resource it is written as."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from airflow_provider_spark_operator.core.pods import text
from airflow_provider_spark_operator.core.reasons import DRIVER_INTERRUPTED
from airflow_provider_spark_operator.core.states import (
    INITIALIZING,
    RUNNING,
    STARTING,
    STOPPING,
    ApplicationState,
)


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
class SettingNames:
    """Where users of a kind of resource set what an advice may be about; those of `spark.apache.org`, unless said.

    Attributes:
        memory: Of the driver, with and without what is outside of its heap.
        overhead: Of the driver's memory, what is outside of its heap.
        size: What the driver asks of a node.
        image: The driver's image, and how it is pulled.
        command: What decides which command the driver's container runs.
        driver: The driver as a whole.
        template: The driver's pod template.
    """

    memory: str = "spark.driver.memory or spark.driver.memoryOverhead"
    overhead: str = "spark.driver.memoryOverhead"
    size: str = "spark.driver.cores, spark.driver.memory"
    image: str = "spark.kubernetes.container.image and spark.kubernetes.container.image.pullSecrets"
    command: str = "spec.driverSpec, spark.kubernetes.container.image"
    driver: str = "spec.driverSpec"
    template: str = "spec.driverSpec.podTemplateSpec"


@dataclass(frozen=True)
class StateEntry:
    """A state that the application entered at `time`, and the driver pod's status if that was recorded.

    `reason` is a constant of `core.reasons`, where whoever drives the application has written one. `means` is
    the state of `spark.apache.org` that a word of another kind of resource amounts to, where there is one.
    `log_lines` are the last lines of the driver's log, where our controller has kept them.
    """

    state: str
    time: datetime | None = None
    message: str | None = None
    driver_status: Mapping[str, object] | None = None
    reason: str | None = None
    means: ApplicationState | None = None
    log_lines: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """The state in a word of `spark.apache.org`, as far as there is one."""
        return self.means or self.state


@dataclass(frozen=True)
class Progress:
    """How far an application is.

    `history` is the current attempt's, or longer, oldest first. `driver_status` is the driver pod's
    status with the last stop of the current attempt. `attempt` counts from 0. `restart_pending`: the
    driver has ended, and another attempt follows or may follow. `driver_kept`: the driver pod outlives the
    application's end, and says more about it than the resource: see `with_driver_status`. `driver_expected`: the
    driver was asked for, and does not run yet. `driver_abandoned`: the operator has given up, but a driver that it
    did not expect may still run; only its pod says whether and how the application has ended. `reason` is that of
    the present state, a constant of `core.reasons`. `driver_name` is the name of the latest attempt's driver pod,
    where the resource says it.
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
    driver_kept: bool = False
    driver_expected: bool = False
    driver_abandoned: bool = False
    reason: str | None = None
    driver_name: str | None = None
    settings: SettingNames = SettingNames()


def last_stop(history: tuple[StateEntry, ...]) -> StateEntry | None:
    """The entry with which the latest attempt in `history` stopped; None if it never did."""
    for entry in reversed(history):
        if entry.meaning in STOPPING:
            return entry
        if entry.meaning in INITIALIZING:
            return None
    return None


def kept_lines(seen: Progress) -> tuple[str, ...]:
    """The last lines of the driver's log that the status of the latest attempt quotes."""
    stop = last_stop(seen.history)
    return stop.log_lines if stop else ()


def had_driver(seen: Progress) -> bool:
    """Whether a driver pod existed in the latest attempt, as far as the status says."""
    if seen.driver_status or any(entry.meaning in STARTING | RUNNING for entry in seen.history):
        return True
    stop = last_stop(seen.history)
    # A status without a history has no entry of the driver's start.
    return seen.driver_kept and stop is not None and stop.meaning != ApplicationState.SCHEDULING_FAILURE


def driver_period(seen: Progress) -> tuple[datetime | None, datetime | None]:
    """When the driver of the latest attempt was requested, and when it ended, where the status says so."""
    stop = last_stop(seen.history)
    begin: datetime | None = None
    for entry in reversed(seen.history):
        if entry.meaning in STARTING | RUNNING:
            begin = entry.time
        elif entry.meaning in INITIALIZING:
            break
    return begin, stop.time if stop else None


def with_driver_deleted(seen: Progress) -> Progress:
    """`seen`, whose driver ended because its pod was deleted."""
    stop = last_stop(seen.history)
    if stop is None or stop.meaning != ApplicationState.FAILED:
        return seen
    interrupted = replace(stop, reason=DRIVER_INTERRUPTED, message="The driver pod was deleted while it ran")
    history = tuple(interrupted if entry is stop else entry for entry in seen.history)
    return replace(seen, history=history)


def with_driver_end(seen: Progress, status: Mapping[str, object]) -> Progress:
    """`seen`, whose operator has given up a driver that ran to its end, with that end.

    Args:
        seen: The progress of the application.
        status: The status of the driver pod.
    """
    failed = text(status.get("phase")) != "Succeeded"
    means = ApplicationState.FAILED if failed else ApplicationState.SUCCEEDED
    end = StateEntry(seen.state, seen.since, None, driver_status=status, means=means)
    ended = replace(seen, phase=Phase.ENDED, history=(end,), driver_status=status, driver_abandoned=False)
    return with_driver_status(ended, status) if failed else ended


def with_driver_lost(seen: Progress) -> Progress:
    """`seen`, whose operator has given up a driver that ran, and whose driver pod no longer exists."""
    end = StateEntry(seen.state, seen.since, None, means=ApplicationState.FAILED)
    return replace(seen, phase=Phase.ENDED, history=(end,), driver_abandoned=False)


def with_driver_status(seen: Progress, status: Mapping[str, object]) -> Progress:
    """`seen`, whose driver failed, with what the driver pod's own status says about that."""
    stop = last_stop(seen.history)
    if stop is None or stop.meaning != ApplicationState.FAILED:
        return seen
    evicted = str(status.get("reason", "")).lower() == "evicted"
    means = ApplicationState.DRIVER_EVICTED if evicted else stop.means
    history = (*seen.history[:-1], replace(stop, driver_status=status, means=means))
    return replace(seen, history=history, driver_status=status)
