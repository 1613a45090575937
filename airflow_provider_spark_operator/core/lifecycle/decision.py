"""The result of `decide()`: the actions to carry out and the status to write."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

from ..kueue.steps import QueueAction
from ..models.status import ApplicationStatus

AT_ONCE: Final = timedelta(0)
# A longer wait has no use, and may not fit a timer.
_LONGEST_WAIT: Final = timedelta(days=1)


@dataclass(frozen=True)
class AddFinalizer:
    """Add the finalizer to the resource before anything is created for it."""


@dataclass(frozen=True)
class RemoveFinalizer:
    """Remove the finalizer, so that the API server deletes the resource."""


@dataclass(frozen=True)
class CreateAttempt:
    """Build and create the driver and its other resources, then decide again with the outcome."""

    attempt_id: int


@dataclass(frozen=True)
class ConfirmAbsence:
    """Look for the driver pod with a live read by name, then decide again."""


@dataclass(frozen=True)
class DeleteDriver:
    """Delete the attempt's driver pod; the garbage collector deletes its other resources.

    Attributes:
        attempt_id: The id of the attempt.
        force: Delete without a grace period, because the pod did not terminate in time.
    """

    attempt_id: int
    force: bool = False


@dataclass(frozen=True)
class ReadPods:
    """Read the driver and executor pods of all attempts with a live read, then decide again."""


@dataclass(frozen=True)
class DeletePod:
    """Delete exactly this driver pod, of whichever attempt; the garbage collector deletes what it owns.

    Attributes:
        name: The name of the pod.
        uid: Its uid. Another pod of the same name is not deleted.
        force: Delete without a grace period, because the pod did not terminate in time.
    """

    name: str
    uid: str
    force: bool = False


@dataclass(frozen=True)
class DeleteAttemptResources:
    """Delete by name what a failed creation left, because no driver may own it."""

    attempt_id: int


@dataclass(frozen=True)
class DeleteApplication:
    """Delete the SparkApplication: its time to live has expired."""


Action: TypeAlias = (
    AddFinalizer
    | RemoveFinalizer
    | CreateAttempt
    | ConfirmAbsence
    | DeleteDriver
    | ReadPods
    | DeletePod
    | DeleteAttemptResources
    | DeleteApplication
    | QueueAction
)


@dataclass(frozen=True)
class Decision:
    """What to do next: carry out `actions`, then write `status`.

    Attributes:
        reason: A constant of `core.states.reasons`.
        message: A sentence for the user.
        actions: What to do, in this order.
        status: The status to write, None to leave the status unchanged.
        requeue_after: When to reconcile again; None waits for an event.
    """

    reason: str
    message: str
    actions: tuple[Action, ...]
    status: ApplicationStatus | None
    requeue_after: timedelta | None


@dataclass(frozen=True)
class Settings:
    """The settings of the controller on which decisions depend.

    Attributes:
        restart_lost_drivers: Whether the restart policy applies to an application whose driver pod was deleted before
            its end was seen. It never applies if containers of the driver had ended: the job may have succeeded.
        suspend_hold_requeue_interval: How often an application or a cluster is reconciled while `spec.suspend` holds
            it. A change of the field takes effect at once.
    """

    reconcile_interval: timedelta = timedelta(seconds=120)
    missing_driver_grace_period: timedelta = timedelta(seconds=60)
    missing_driver_requeue_interval: timedelta = timedelta(seconds=15)
    suspend_hold_requeue_interval: timedelta = timedelta(seconds=1800)
    trim_state_transition_history: bool = True
    restart_lost_drivers: bool = True
    operator_name: str = "spark-kubernetes-operator"


def limit_wait(after: timedelta) -> timedelta:
    """Return the time until the next decision: at least 0, and at most a day."""
    return min(max(after, AT_ONCE), _LONGEST_WAIT)
