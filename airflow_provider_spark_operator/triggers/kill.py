"""Delete what a deferred task has submitted, if a person has killed the task."""

import logging
from collections.abc import Awaitable, Callable, Mapping

from asgiref.sync import sync_to_async

from airflow_provider_spark_operator.follow.cancel import CancelOutcome
from airflow_provider_spark_operator.follow.patience import retry
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.stamp import TaskStamp
from airflow_provider_spark_operator.triggers.task_instance import LEFT_RUNNING, Fate, read_fate_of_deferred


async def delete_if_killed(
    stamp: TaskStamp,
    delete: Callable[[], Awaitable[Mapping[ApplicationReference, CancelOutcome]]],
    subject: str,
    log: logging.Logger,
) -> None:
    """Ask Airflow about the task, delete if it was killed, and log the outcome. Tolerates an outage; never raises.

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
        outcomes = await retry(delete, f"deletion of {subject}", log.log)
    except Exception as error:
        # Nobody waits for this task any more: the log is the only place for the error.
        log.warning("%s could not be deleted and may still run: %s", subject, str(error) or type(error).__name__)
    else:
        for reference, outcome in outcomes.items():
            log.info("the task was killed; %s: %s", reference, outcome)
