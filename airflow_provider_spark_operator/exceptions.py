"""What a task raises when its Spark application does not end well: one class per kind of failure.

All of them may be retried as the task asks for; a retry policy or a callback tells them apart by class.
What no retry can mend (a document that is no application, a connection that contradicts itself) is
Airflow's own `AirflowFailException` instead.
"""

from collections.abc import Sequence
from datetime import timedelta

from airflow.sdk.exceptions import AirflowException, AirflowFailException


class SparkApplicationError(AirflowException):
    """An application did not do what its task asked for; the message is one sentence for a person.

    Attributes:
        state: The state word that decided (`Failed`, `DriverEvicted`); None where none was seen.
        reason: The constant of `core.reasons` behind it; None where there is no verdict.
        retry_worthy: False where the same application would surely fail the same way again.
        retry_delay: How long the application's own restartConfig has it wait before it is tried again; None
            where it does not say.
        out_of_memory: Which of `driver` and `executor` was killed for want of memory, as far as it was seen.
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
    ) -> None:
        super().__init__(message)
        self.state = state
        self.reason = reason
        self.retry_worthy = retry_worthy
        self.retry_delay = retry_delay
        self.out_of_memory = tuple(out_of_memory)


class SparkApplicationFailed(SparkApplicationError):
    """The application itself failed: its driver ended with an exit code other than 0."""


class SparkInfrastructureFailed(SparkApplicationError):
    """Something beneath the application failed: an eviction, executors or a driver that never started."""


class SparkSchedulingFailed(SparkApplicationError):
    """The operator could not have the application's resources created in the cluster."""


class SparkApplicationDeleted(SparkApplicationError):
    """The application was deleted before it ended, and not by its task: by a person or another program."""


class SparkApplicationDeletedByUser(SparkApplicationDeleted, AirflowFailException):
    """A deletion that fails the task without a retry, because the task has no retry policy to decide otherwise."""


class SparkClusterDeleted(SparkApplicationError):
    """A person or another program deleted the SparkCluster before its task saw it ready."""


class SparkClusterDeletedByUser(SparkClusterDeleted, AirflowFailException):
    """A deletion that fails the task without a retry, because the task has no retry policy to decide otherwise."""


class SparkApplicationTimedOut(SparkApplicationError):
    """The task's time was over before the application ended; unless told otherwise it is cancelled."""


# The keys are the words of `core.verdict.FailureKind`; they are spelled out, so that a DAG file that
# catches one of these exceptions loads nothing of the core.
_BY_FAILURE_KIND: dict[str, type[SparkApplicationError]] = {
    "application": SparkApplicationFailed,
    "infrastructure": SparkInfrastructureFailed,
    "scheduling": SparkSchedulingFailed,
}


def build_deletion(sentence: str, *, policy: object | None) -> SparkApplicationDeleted:
    """Return the exception for an application that was deleted while its task waited.

    A retry would undo what a person has done, so the task fails without one. Airflow does not ask the retry policy of a
    task about such an exception; a task that has a policy gets one that the policy can judge.

    Args:
        sentence: The message, which names what was deleted.
        policy: The task's retry policy; None if the task has none.
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


def build_failure(
    kind: str | None,
    sentence: str,
    *,
    state: str | None = None,
    reason: str | None = None,
    retry_worthy: bool = True,
    retry_delay: timedelta | None = None,
    out_of_memory: Sequence[str] = (),
) -> SparkApplicationError:
    """The exception for a failed verdict.

    Args:
        kind: A word of `core.verdict.FailureKind`; unknown or None counts as the application's own failure.
        sentence: What happened, with the application's name, state, reason and exit code.
        state: See `SparkApplicationError`, as for all that follow.
        reason: As there.
        retry_worthy: As there.
        retry_delay: As there.
        out_of_memory: As there.
    """
    return _BY_FAILURE_KIND.get(kind or "", SparkApplicationFailed)(
        sentence,
        state=state,
        reason=reason,
        retry_worthy=retry_worthy,
        retry_delay=retry_delay,
        out_of_memory=out_of_memory,
    )


def _describe_final(sentence: str) -> str:
    return f"{sentence}, and is not submitted again; to run it again, clear the task"
