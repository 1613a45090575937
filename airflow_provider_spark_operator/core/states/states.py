"""The states of a SparkApplication, sets of states, and the defaults and backoff of restarts.

The words are those of the `spark.apache.org/v1` CRD. The sets list their members, so that a new state does not change
the meaning of a set.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

# Defaults of the Apache operator, for the models and for readers without a model.
RESTART_ATTEMPTS: Final = 3
RESTART_BACKOFF_MILLIS: Final = 30_000


class ApplicationState(StrEnum):
    """A word of `status.currentState.currentStateSummary`."""

    SUBMITTED = "Submitted"
    SCHEDULED_TO_RESTART = "ScheduledToRestart"
    DRIVER_REQUESTED = "DriverRequested"
    DRIVER_STARTED = "DriverStarted"
    DRIVER_READY = "DriverReady"
    INITIALIZED_BELOW_THRESHOLD_EXECUTORS = "InitializedBelowThresholdExecutors"
    RUNNING_HEALTHY = "RunningHealthy"
    RUNNING_WITH_PARTIAL_CAPACITY = "RunningWithPartialCapacity"
    RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS = "RunningWithBelowThresholdExecutors"
    DRIVER_START_TIMED_OUT = "DriverStartTimedOut"
    EXECUTORS_START_TIMED_OUT = "ExecutorsStartTimedOut"
    DRIVER_READY_TIMED_OUT = "DriverReadyTimedOut"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    SCHEDULING_FAILURE = "SchedulingFailure"
    DRIVER_EVICTED = "DriverEvicted"
    RESOURCE_RELEASED = "ResourceReleased"
    TERMINATED_WITHOUT_RELEASE_RESOURCES = "TerminatedWithoutReleaseResources"
    SUSPENDED = "Suspended"


class SuspendReason(StrEnum):
    """Why an application or a cluster is suspended: a word of `status.currentState.suspendReason`."""

    SPEC_SUSPEND = "SpecSuspend"
    KUEUE_EVICTION = "KueueEviction"


def read_suspend_reason(record: Mapping[str, object]) -> SuspendReason:
    """Return the reason of a record of the state Suspended. Without one, `spec.suspend` is assumed."""
    is_eviction = record.get("suspendReason") == SuspendReason.KUEUE_EVICTION
    return SuspendReason.KUEUE_EVICTION if is_eviction else SuspendReason.SPEC_SUSPEND


class ApplicationOutcome(StrEnum):
    """How an application has ended: a word of `status.outcome`."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


INITIALIZING = frozenset({ApplicationState.SUBMITTED, ApplicationState.SCHEDULED_TO_RESTART})
STARTING = frozenset(
    {
        ApplicationState.DRIVER_REQUESTED,
        ApplicationState.DRIVER_STARTED,
        ApplicationState.DRIVER_READY,
        ApplicationState.INITIALIZED_BELOW_THRESHOLD_EXECUTORS,
    }
)
RUNNING = frozenset(
    {
        ApplicationState.RUNNING_HEALTHY,
        ApplicationState.RUNNING_WITH_PARTIAL_CAPACITY,
        ApplicationState.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS,
    }
)
DRIVER_RUNS = RUNNING | {ApplicationState.DRIVER_READY, ApplicationState.INITIALIZED_BELOW_THRESHOLD_EXECUTORS}
INFRASTRUCTURE_FAILURE = frozenset(
    {
        ApplicationState.DRIVER_START_TIMED_OUT,
        ApplicationState.EXECUTORS_START_TIMED_OUT,
        ApplicationState.SCHEDULING_FAILURE,
    }
)
STILL_RUNNABLE = frozenset(
    {
        ApplicationState.DRIVER_START_TIMED_OUT,
        ApplicationState.DRIVER_READY_TIMED_OUT,
        ApplicationState.EXECUTORS_START_TIMED_OUT,
    }
)
"""The stops of a driver that has not ended, and could still run."""
FAILURE = INFRASTRUCTURE_FAILURE | {
    ApplicationState.DRIVER_READY_TIMED_OUT,
    ApplicationState.FAILED,
    ApplicationState.DRIVER_EVICTED,
}
STOPPING = FAILURE | {ApplicationState.SUCCEEDED}
TERMINATED = frozenset({ApplicationState.RESOURCE_RELEASED, ApplicationState.TERMINATED_WITHOUT_RELEASE_RESOURCES})


def choose_backoff_millis(
    *, general: int | None, failure: int | None, scheduling_failure: int | None, failed: bool, failed_to_schedule: bool
) -> int | None:
    """Return the backoff that a restartConfig sets, in the fallback order of the Apache operator.

    Args:
        general: Value of `restartBackoffMillis`. None if it is not set.
        failure: Value of `restartBackoffMillisForFailure`. None if it is not set.
        scheduling_failure: Value of `restartBackoffMillisForSchedulingFailure`. None if it is not set.
        failed: Whether the attempt failed in any way, so that `failure` applies.
        failed_to_schedule: Whether the attempt ended with a scheduling failure, so that `scheduling_failure` applies.
    """
    if failed_to_schedule and scheduling_failure is not None:
        return scheduling_failure
    if failed and failure is not None:
        return failure
    return general
