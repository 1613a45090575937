"""The states of a SparkApplication and sets of states.

The words are those of the `spark.apache.org/v1` CRD. The sets list their members, so that a new state does not change
the meaning of a set.
"""

from collections.abc import Mapping
from enum import StrEnum


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
