"""The result of `decide()`: the actions to carry out and the status to write."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from airflow_provider_spark_operator.core.models.status import ApplicationStatus


@dataclass(frozen=True)
class AddFinalizer:
    """Put our finalizer on the resource before anything is created for it."""


@dataclass(frozen=True)
class RemoveFinalizer:
    """Let the deleted resource go."""


@dataclass(frozen=True)
class CreateAttempt:
    """Build and create the driver and everything beside it; repeat with the outcome."""

    attempt_id: int


@dataclass(frozen=True)
class ConfirmAbsence:
    """Look for the driver pod by a live read, then decide again."""


@dataclass(frozen=True)
class DeleteDriver:
    """Delete the attempt's driver pod; all else follows by garbage collection.

    `force` means grace period 0, for a pod that did not finish terminating in time.
    """

    attempt_id: int
    force: bool = False


@dataclass(frozen=True)
class DeleteAttemptResources:
    """Delete by name whatever a failed creation has left: no driver may own it."""

    attempt_id: int


@dataclass(frozen=True)
class DeleteApplication:
    """Delete the SparkApplication itself: its time to live is over."""


Action: TypeAlias = (
    AddFinalizer
    | RemoveFinalizer
    | CreateAttempt
    | ConfirmAbsence
    | DeleteDriver
    | DeleteAttemptResources
    | DeleteApplication
)


@dataclass(frozen=True)
class Decision:
    """What to do now, in this order: `actions`, then write `status` where it is not None.

    `requeue_after` asks for another look after that time; None waits for an event.
    `reason` is a constant of `core.reasons`; `message` is the sentence for a person.
    """

    reason: str
    message: str = ""
    actions: tuple[Action, ...] = ()
    status: ApplicationStatus | None = None
    requeue_after: timedelta | None = None


@dataclass(frozen=True)
class Settings:
    """The controller's own settings, as far as decisions depend on them (durations as timedelta)."""

    reconcile_interval: timedelta = timedelta(seconds=120)
    missing_driver_grace_period: timedelta = timedelta(seconds=60)
    missing_driver_requeue_interval: timedelta = timedelta(seconds=15)
    trim_state_transition_history: bool = True
    operator_name: str = "spark-kubernetes-operator"
