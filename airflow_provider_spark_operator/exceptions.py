"""What a task raises when its Spark application does not end well: one class per kind of failure.

All of them may be retried as the task asks for; a retry policy or a callback tells them apart by class.
What no retry can mend (a document that is no application, a connection that contradicts itself) is
Airflow's own `AirflowFailException` instead.
"""

from airflow.sdk.exceptions import AirflowException


class SparkApplicationError(AirflowException):
    """An application did not do what its task asked for; the message is one sentence for a person.

    Attributes:
        state: The state word that decided (`Failed`, `DriverEvicted`); None where none was seen.
        reason: The constant of `core.reasons` behind it; None where there is no verdict.
    """

    def __init__(self, message: str, *, state: str | None = None, reason: str | None = None) -> None:
        super().__init__(message)
        self.state = state
        self.reason = reason


class SparkApplicationFailed(SparkApplicationError):
    """The application itself failed: its driver ended with an exit code other than 0."""


class SparkInfrastructureFailed(SparkApplicationError):
    """Something beneath the application failed: an eviction, executors or a driver that never started."""


class SparkSchedulingFailed(SparkApplicationError):
    """The operator could not have the application's resources created in the cluster."""


class SparkApplicationDeleted(SparkApplicationError):
    """The application was deleted, by somebody else, before it ended."""


class SparkApplicationTimedOut(SparkApplicationError):
    """The task's time was over before the application ended; unless told otherwise it is cancelled."""


# The keys are the words of `core.verdict.FailureKind`; they are spelled out, so that a DAG file that
# catches one of these exceptions loads nothing of the core.
_BY_FAILURE_KIND: dict[str, type[SparkApplicationError]] = {
    "application": SparkApplicationFailed,
    "infrastructure": SparkInfrastructureFailed,
    "scheduling": SparkSchedulingFailed,
}


def failure(
    kind: str | None, sentence: str, *, state: str | None = None, reason: str | None = None
) -> SparkApplicationError:
    """The exception for a failed verdict.

    Args:
        kind: A word of `core.verdict.FailureKind`; unknown or None counts as the application's own failure.
        sentence: What happened, with the application's name, state, reason and exit code.
        state: See `SparkApplicationError`.
        reason: See `SparkApplicationError`.
    """
    return _BY_FAILURE_KIND.get(kind or "", SparkApplicationFailed)(sentence, state=state, reason=reason)
