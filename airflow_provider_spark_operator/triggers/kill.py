"""Delete the resources of a deferred task if a user has stopped the task."""

import logging
from collections.abc import Awaitable, Callable, Mapping

from asgiref.sync import sync_to_async

from ..follow.access.outage_tolerance import retry
from ..follow.access.reference import ApplicationReference
from ..follow.submission.cancel import CancelOutcome, describe_outcome
from ..follow.submission.stamp import TaskStamp
from .task_instance import LEFT_RUNNING, Fate, read_fate_of_deferred


async def delete_if_killed(
    stamp: TaskStamp,
    delete: Callable[[], Awaitable[Mapping[ApplicationReference, CancelOutcome]]],
    subject: str,
    log: logging.Logger,
) -> None:
    """Delete resources if Airflow reports that a user has stopped the task, and log the outcome. Never raises.

    Args:
        stamp: The stamp of the task.
        delete: Deletes what the task has submitted. It is repeated while the API is not available.
        subject: What is deleted, for messages.
        log: The logger of the trigger.
    """
    try:
        if await sync_to_async(read_fate_of_deferred)(stamp) is Fate.MOVED:
            log.info(LEFT_RUNNING, subject)
            return
    except Exception as error:
        log.warning("could not delete %s, which may still be running: %s", subject, str(error) or type(error).__name__)
    else:
        await delete_and_log(delete, subject, log)


async def delete_and_log(
    delete: Callable[[], Awaitable[Mapping[ApplicationReference, CancelOutcome]]], subject: str, log: logging.Logger
) -> None:
    """Delete the resources of a task that was stopped, and log the outcome. Never raises. See `delete_if_killed`."""
    try:
        outcomes = await retry(delete, f"deletion of {subject}", log.log)
    except Exception as error:
        # No task receives an event any more: only the log can report the error.
        log.warning("could not delete %s, which may still be running: %s", subject, str(error) or type(error).__name__)
    else:
        for reference, outcome in outcomes.items():
            log.info("the task was stopped; %s", describe_outcome(outcome, reference))
