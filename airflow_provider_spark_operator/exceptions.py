"""The exceptions of tasks whose Spark application did not succeed: one class for each kind of failure.

Airflow retries a task that raises one of them, as the task specifies. A retry policy or a callback can distinguish them
by class. If a retry cannot help (the document is not an application, or the connection is contradictory), tasks raise
Airflow's `AirflowFailException` instead.
"""

from collections.abc import Sequence
from datetime import timedelta

from .airflow_compat import AirflowException, AirflowFailException, mask_secrets

__all__ = [
    "SparkApplicationConflict",
    "SparkApplicationDeleted",
    "SparkApplicationDeletedByUser",
    "SparkApplicationError",
    "SparkApplicationFailed",
    "SparkApplicationForbidden",
    "SparkApplicationNotFound",
    "SparkApplicationTimedOut",
    "SparkBudgetExceeded",
    "SparkCheckFailed",
    "SparkClusterDeleted",
    "SparkClusterDeletedByUser",
    "SparkInfrastructureFailed",
    "SparkSchedulingFailed",
    "SparkStreamStalled",
]


class SparkApplicationError(AirflowException):
    """The base class of the exceptions for Spark applications.

    A task raises this class itself if an application could not be submitted or followed.

    Args:
        message: Message of the exception: what failed, the cause, and what to do. The secrets that Airflow masks in
            logs are masked, because callbacks also receive the message. The other parameters are the attributes.

    Attributes:
        state: The state in which the application failed, for example "Failed" or "DriverEvicted". None if no state was
            seen.
        reason: The reason of the failure, a constant of `core.states.reasons`, for example "OOMKilled". None if the
            failure has not been classified.
        retry_worthy: Whether a retry can succeed. False if it would certainly fail in the same way.
        retry_delay: The delay before a restart that the application's restartConfig sets, as a timedelta. None if the
            application has no restartConfig.
        out_of_memory: Which of "driver" and "executor" was out of memory. Empty if neither was, or if it is unknown.
        lacks_capacity: Whether the cluster had no room for the application: a quota was used up, or no node had room
            for the driver.
    """

    def __init__(
        self,
        message: str,
        *,
        state: str | None = None,
        reason: str | None = None,
        retry_worthy: bool = True,
        retry_delay: timedelta | None = None,
        out_of_memory: Sequence[str] = (),
        lacks_capacity: bool = False,
    ) -> None:
        super().__init__(mask_secrets(message))
        self.state = state
        self.reason = reason
        self.retry_worthy = retry_worthy
        self.retry_delay = retry_delay
        self.out_of_memory = tuple(out_of_memory)
        self.lacks_capacity = lacks_capacity


class SparkApplicationNotFound(SparkApplicationError):
    """The application, or the pod whose log was requested, does not exist."""


class SparkApplicationConflict(SparkApplicationError):
    """The name belongs to another application, or the application has changed so that the request is not possible."""


class SparkApplicationForbidden(SparkApplicationError):
    """The cluster does not permit the request. The message names the missing permission."""


class SparkApplicationFailed(SparkApplicationError):
    """The application itself failed: its driver ended with an exit code other than 0."""


class SparkInfrastructureFailed(SparkApplicationError):
    """The infrastructure failed, for example by an eviction, or because the driver or the executors did not start."""


class SparkSchedulingFailed(SparkApplicationError):
    """The driver could not be created, or no node had room for it."""


class SparkBudgetExceeded(SparkApplicationError):
    """The application used more than `max_core_hours` or `max_cost`, and the task ended it.

    A retry would use as much again, so `retry_worthy` is False. Without a retry policy, the task is not retried.
    """


class SparkStreamStalled(SparkApplicationError):
    """The streaming queries of the application made no progress for too long, and the task ended it.

    A retry starts it again, and it continues after the last committed batch. See `Streaming`.
    """


class SparkCheckFailed(SparkApplicationError):
    """The program succeeded, but reported that a check of its result failed. See `on_failed_check`.

    A retry would probably find the same, so `retry_worthy` is False, and `SparkRetryPolicy` does not retry.
    """


class SparkApplicationDeleted(SparkApplicationError):
    """A user or another program deleted the application before it ended."""


class SparkApplicationDeletedByUser(SparkApplicationDeleted, AirflowFailException):
    """Raised instead of `SparkApplicationDeleted` if the task has no retry policy: the task is not retried."""


class SparkClusterDeleted(SparkApplicationError):
    """A user or another program deleted the SparkCluster before it was ready."""


class SparkClusterDeletedByUser(SparkClusterDeleted, AirflowFailException):
    """Raised instead of `SparkClusterDeleted` if the task has no retry policy: the task is not retried."""


class SparkApplicationTimedOut(SparkApplicationError):
    """The task, or the wait of the hook, timed out before the application ended.

    A task deletes the application, unless `delete_on_kill` is False. The hook leaves the application running.
    """


# The keys are the values of `core.verdict.verdict.FailureKind`. They are repeated here, so that a DAG file that catches
# one of these exceptions does not load the core.
_BY_FAILURE_KIND: dict[str, type[SparkApplicationError]] = {
    "application": SparkApplicationFailed,
    "infrastructure": SparkInfrastructureFailed,
    "scheduling": SparkSchedulingFailed,
    "budget": SparkBudgetExceeded,
    "check": SparkCheckFailed,
}


def build_deletion(sentence: str, *, policy: object | None) -> SparkApplicationDeleted:
    """Return the exception for an application that was deleted while its task waited.

    A retry would undo the deletion by the user, so the task fails without a retry. Airflow does not ask the retry
    policy of a task about such an exception. A task with a policy therefore gets an exception that the policy can
    judge.

    Args:
        sentence: The message, which names what was deleted.
        policy: The retry policy of the task; None if the task has none.
    """
    if policy is not None:
        return SparkApplicationDeleted(sentence)
    return SparkApplicationDeletedByUser(_describe_final(sentence))


def build_cluster_deletion(sentence: str, *, policy: object | None) -> SparkClusterDeleted:
    """Return the exception for a SparkCluster that was deleted while its task waited.

    Args:
        sentence: The message, which names what was deleted.
        policy: See `build_deletion`.
    """
    return SparkClusterDeleted(sentence) if policy is not None else SparkClusterDeletedByUser(_describe_final(sentence))


def build_budget_failure(sentence: str, reason: str, *, policy: object | None) -> SparkApplicationError:
    """Return the exception for an application that its task ended because of its budget.

    Args:
        sentence: The message, with the figures and what to do.
        reason: A constant of `core.states.reasons`.
        policy: See `build_deletion`.
    """
    error = build_failure("budget", sentence, reason=reason, retry_worthy=False)
    return error if policy is not None else rule_out_retry(error, None)


def build_failure(
    kind: str | None,
    sentence: str,
    *,
    state: str | None = None,
    reason: str | None = None,
    retry_worthy: bool = True,
    retry_delay: timedelta | None = None,
    out_of_memory: Sequence[str] = (),
    lacks_capacity: bool = False,
) -> SparkApplicationError:
    """Return the exception for a failed verdict.

    Args:
        kind: A value of `core.verdict.verdict.FailureKind`. None or an unknown value counts as a failure of the
            application itself.
        sentence: The message, with the name, the state, the reason and the exit code of the application.
        state: See `SparkApplicationError`, which also describes the next arguments.
        reason: The reason of the failure.
        retry_worthy: Whether a retry can succeed.
        retry_delay: The delay before a retry.
        out_of_memory: The roles that were out of memory.
        lacks_capacity: Whether the cluster had no room for the application.
    """
    return _BY_FAILURE_KIND.get(kind or "", SparkApplicationFailed)(
        sentence,
        state=state,
        reason=reason,
        retry_worthy=retry_worthy,
        retry_delay=retry_delay,
        out_of_memory=out_of_memory,
        lacks_capacity=lacks_capacity,
    )


def rule_out_retry(error: SparkApplicationError, reason: str | None) -> SparkApplicationError:
    """Return the same exception in a form after which Airflow does not retry the task.

    Airflow before 3.3 knows no other way to fail a task without a retry. The new exception is an instance of the class
    of `error` and of `AirflowFailException`.

    Args:
        error: The exception of the task.
        reason: Why a retry is ruled out, for the message.
    """
    return _build_final_class(type(error))(
        f"{error}\nNot retried: {reason}" if reason else str(error),
        state=error.state,
        reason=error.reason,
        retry_worthy=error.retry_worthy,
        retry_delay=error.retry_delay,
        out_of_memory=error.out_of_memory,
        lacks_capacity=error.lacks_capacity,
    )


def _build_final_class(kind: type[SparkApplicationError]) -> type[SparkApplicationError]:
    return type(kind.__name__, (kind, AirflowFailException), {"__doc__": kind.__doc__, "__module__": kind.__module__})


def _describe_final(sentence: str) -> str:
    return f"{sentence}, and is not submitted again. To run it again, clear the task"
