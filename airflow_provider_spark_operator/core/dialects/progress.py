"""The progress of an application, independent of its dialect."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Self

from ..states.reasons import DRIVER_INTERRUPTED, SPEC_UNBUILDABLE, SPEC_UNSUPPORTED
from ..states.states import INITIALIZING, RUNNING, STARTING, STOPPING, ApplicationState, SuspendReason


class Phase(StrEnum):
    """The phase of an application, independent of the state words of its dialect."""

    WAITING = "Waiting"
    """No driver runs yet."""
    RUNNING = "Running"
    """The driver runs."""
    STOPPING = "Stopping"
    """The driver has ended. Cleanup follows, and perhaps another attempt."""
    ENDED = "Ended"
    """The application has ended for good."""


class ExecutorState(StrEnum):
    """The known state of an executor."""

    PENDING = "Pending"
    RUNNING = "Running"
    ENDED = "Ended"
    FAILED = "Failed"
    UNKNOWN = "Unknown"
    """The pod no longer exists, and nothing shows how the executor ended."""


@dataclass(frozen=True)
class SettingNames:
    """The names of settings that advice in messages refers to. The defaults are those of `spark.apache.org`.

    Attributes:
        memory: Memory of the driver, for the heap and for the overhead.
        overhead: Memory overhead of the driver.
        size: Resource requests of the driver.
        image: Image of the driver and its pull secrets.
        command: Settings that determine the command of the driver's container.
        driver: Settings of the driver as a whole.
        template: Pod template of the driver.
        account: Service account of the driver.
        placement: Settings that restrict the nodes of the driver.
        limit: CPU limit of the driver.
    """

    memory: str = "spark.driver.memory or spark.driver.memoryOverhead"
    overhead: str = "spark.driver.memoryOverhead"
    size: str = "spark.driver.cores, spark.driver.memory"
    image: str = "spark.kubernetes.container.image and spark.kubernetes.container.image.pullSecrets"
    command: str = "spec.driverSpec, spark.kubernetes.container.image"
    driver: str = "spec.driverSpec"
    template: str = "spec.driverSpec.podTemplateSpec"
    account: str = "spark.kubernetes.authenticate.driver.serviceAccountName"
    placement: str = "spark.kubernetes.driver.node.selector.* or spec.driverSpec.podTemplateSpec"
    limit: str = "spark.kubernetes.driver.limit.cores"

    @property
    def of_executors(self) -> Self:
        """The settings of executors in place of those of the driver, as far as both have the same names."""
        names = {
            key: getattr(self, key).replace("driver", "executor") for key in ("memory", "size", "account", "limit")
        }
        return replace(self, **names)


@dataclass(frozen=True)
class StateEntry:
    """A state that the application has entered.

    Attributes:
        state: The state in the words of the dialect.
        time: When the application entered the state. None if unknown.
        message: Message of the status. None if there is none.
        driver_status: Status of the driver pod at this time. None if it was not recorded.
        reason: A constant of `core.states.reasons`. None if the operator writes no reasons.
        equivalent: The equivalent state of `spark.apache.org`. None if there is none, or the state is one.
        log_lines: The last lines of the driver's log, if the controller of this package recorded them.
        suspended_by: Why the application was suspended. None if the state is another one.
    """

    state: str
    time: datetime | None = None
    message: str | None = None
    driver_status: Mapping[str, object] | None = None
    reason: str | None = None
    equivalent: ApplicationState | None = None
    log_lines: tuple[str, ...] = ()
    suspended_by: SuspendReason | None = None

    @property
    def apache_state(self) -> str:
        """The equivalent state of `spark.apache.org`, or the state itself if there is none."""
        return self.equivalent or self.state


@dataclass(frozen=True)
class Progress:
    """The progress of an application.

    Attributes:
        state: The current state in the words of the dialect.
        phase: The current phase.
        since: When the application entered the state. None if unknown.
        message: Message of the current state. None if there is none.
        attempt: Number of the attempt; the first is 0.
        history: States of the current attempt, and possibly of earlier ones, oldest first.
        driver_status: Status of the driver pod at the last stop of the current attempt. None if it was not recorded.
        application_id: Spark's id of the attempt. None if unknown.
        restart_pending: Whether the driver has ended, and another attempt may follow.
        driver_kept: Whether the driver pod is kept after the application has ended, and has details that the resource
            lacks. See `with_driver_status`.
        driver_expected: Whether the driver was requested but does not run yet.
        driver_started: Whether the driver has started, but is not ready yet. Its log can be read.
        driver_read: Whether the end comes from the driver pods, see `core.verdict.driver_facts`.
        reason: Reason of the current state, a constant of `core.states.reasons`. None if the operator writes none.
        driver_name: Name of the driver pod of the latest attempt. None if the resource does not contain it.
        main_container: Name of the container that runs Spark. None if the configuration does not set it.
        settings: Names of settings, for messages.
        suspended_by: Why the application is suspended. None if it is not: it has another state.
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
    driver_started: bool = False
    driver_read: bool = False
    reason: str | None = None
    driver_name: str | None = None
    main_container: str | None = None
    settings: SettingNames = SettingNames()
    suspended_by: SuspendReason | None = None

    @property
    def has_unread_end(self) -> bool:
        """Whether the operator reports an end that it did not read from a driver.

        It could not create a driver, or did not find it. The driver may exist nevertheless, for example if the operator
        was killed after it had created the driver. The driver pods show whether the application has ended.
        """
        if self.phase is not Phase.ENDED or self.driver_read:
            return False
        stop = find_last_stop(self.history)
        return stop is None or (stop.apache_state in _UNREAD and not stop.driver_status and not is_spec_refused(stop))


_UNREAD = frozenset({ApplicationState.FAILED, ApplicationState.SCHEDULING_FAILURE})
# How the Apache operator's messages about a rejected spec begin.
_REFUSALS = ("client mode", "driverhttproutelist[", "drivergrpcroutelist[")


def is_spec_refused(stop: StateEntry) -> bool:
    """Return whether the operator rejected the spec, so that it created no driver."""
    # The Apache operator writes no reason: only the message identifies a rejected spec.
    refused = (stop.message or "").lower().startswith(_REFUSALS)
    return stop.reason in (SPEC_UNBUILDABLE, SPEC_UNSUPPORTED) or (not stop.reason and refused)


def find_last_stop(history: tuple[StateEntry, ...]) -> StateEntry | None:
    """Return the entry with which the latest attempt in `history` stopped; None if it has not stopped."""
    for entry in reversed(history):
        if entry.apache_state in STOPPING:
            return entry
        if entry.apache_state in INITIALIZING:
            return None
    return None


def get_log_lines(seen: Progress) -> tuple[str, ...]:
    """Return the last lines of the driver's log that the status of the latest attempt contains."""
    stop = find_last_stop(seen.history)
    return stop.log_lines if stop else ()


def had_driver(seen: Progress) -> bool:
    """Return whether the status shows that the latest attempt had a driver pod."""
    if seen.driver_status or any(entry.apache_state in STARTING | RUNNING for entry in seen.history):
        return True
    stop = find_last_stop(seen.history)
    # A status without a history does not record the start of the driver.
    return seen.driver_kept and stop is not None and stop.apache_state != ApplicationState.SCHEDULING_FAILURE


def is_driver_refused(seen: Progress) -> bool:
    """Return whether the latest attempt ended because its driver pod could not be created."""
    stop = find_last_stop(seen.history)
    return stop is not None and stop.apache_state == ApplicationState.SCHEDULING_FAILURE and not had_driver(seen)


def compute_seconds_per_state(seen: Progress) -> dict[str, float]:
    """Return how long each state of the recorded history lasted, without the last state, which has not ended."""
    seconds: dict[str, float] = {}
    for entry, following in zip(seen.history, seen.history[1:], strict=False):
        if entry.time and following.time:
            lasted = max(0.0, (following.time - entry.time).total_seconds())
            seconds[entry.state] = round(seconds.get(entry.state, 0.0) + lasted, 3)
    return seconds


def find_driver_period(seen: Progress) -> tuple[datetime | None, datetime | None]:
    """Return when the driver of the latest attempt was requested and when it ended; None for a time that is unknown."""
    stop = find_last_stop(seen.history)
    begin: datetime | None = None
    for entry in reversed(seen.history):
        if entry.apache_state in STARTING | RUNNING:
            begin = entry.time
        elif entry.apache_state in INITIALIZING:
            break
    return begin, stop.time if stop else None


def with_driver_deleted(seen: Progress) -> Progress:
    """Return `seen` with a driver that failed because its pod was deleted."""
    stop = find_last_stop(seen.history)
    if stop is None or stop.apache_state != ApplicationState.FAILED:
        return seen
    interrupted = replace(stop, reason=DRIVER_INTERRUPTED, message="The driver pod was deleted while it ran")
    history = tuple(interrupted if entry is stop else entry for entry in seen.history)
    return replace(seen, history=history)


def with_driver_status(seen: Progress, status: Mapping[str, object]) -> Progress:
    """Return `seen` with the status of the driver pod, if the driver failed."""
    stop = find_last_stop(seen.history)
    if stop is None or stop.apache_state != ApplicationState.FAILED:
        return seen
    evicted = str(status.get("reason", "")).lower() == "evicted"
    equivalent = ApplicationState.DRIVER_EVICTED if evicted else stop.equivalent
    history = (*seen.history[:-1], replace(stop, driver_status=status, equivalent=equivalent))
    return replace(seen, history=history, driver_status=status)
