"""The defaults of restarts, and the choice of the backoff for restarts and for the retries of a task."""

from typing import Final

# Defaults of the Apache operator, for the models and for readers without a model.
RESTART_ATTEMPTS: Final = 3
RESTART_BACKOFF_MILLIS: Final = 30_000


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
