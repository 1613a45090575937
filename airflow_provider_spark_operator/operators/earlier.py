"""What has become of an earlier try that could not tell it.

A try is lost where its worker dies, or where its trigger fires before the scheduler has taken note of the deferral. If
its application has failed since, the next try is the first that can say so.
"""

import logging
from typing import TYPE_CHECKING

from airflow.sdk.definitions.retry_policy import RetryAction

from airflow_provider_spark_operator.exceptions import SparkApplicationError
from airflow_provider_spark_operator.operators import requests, results
from airflow_provider_spark_operator.triggers.event import EventKind

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.definitions.retry_policy import RetryPolicy

    from airflow_provider_spark_operator.operators.kill import Engagement
    from airflow_provider_spark_operator.triggers.event import ApplicationEvent
    from airflow_provider_spark_operator.triggers.loop import LoopThread

logger = logging.getLogger(__name__)


def settle(
    loop: "LoopThread", engagement: "Engagement", context: "Context", policy: "RetryPolicy | None", retries: int
) -> None:
    """Raise an earlier try's failure if the policy would have ended the task with it; else tell it, and go on.

    Without a policy a failure is tried again whatever it is, and nothing is looked for; nor where a person has
    cleared the task, who wants it to run.

    Args:
        loop: To ask in.
        engagement: The present try.
        context: Of the task.
        policy: The task's.
        retries: The task's.

    Raises:
        SparkApplicationError: The failure, or the API could not be asked.
    """
    task_instance = context["ti"]
    # Airflow counts a task's tries through; clearing it adds its retries to the tries that it has used up.
    first_try = task_instance.max_tries - retries + 1
    if policy is None or task_instance.try_number <= first_try:
        return
    event = _untold_end(loop, engagement)
    if event is None or event.kind is not EventKind.ENDED:
        return
    error = results.error_of(event, None)
    if error is None:
        return
    requests.acknowledge(loop, engagement, results.reference_of(event))
    decision = policy.evaluate(error, task_instance.try_number - 1, task_instance.max_tries, context)
    if decision.action is RetryAction.FAIL:
        raise error
    logger.warning("an earlier try could not tell that its application had failed; it is tried again: %s", error)


def _untold_end(loop: "LoopThread", engagement: "Engagement") -> "ApplicationEvent | None":
    from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
    from airflow_provider_spark_operator.follow.narrator import Narration
    from airflow_provider_spark_operator.follow.owned import untold_failure
    from airflow_provider_spark_operator.follow.wait import wait_for_end
    from airflow_provider_spark_operator.follow.watch import shared_hub
    from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError
    from airflow_provider_spark_operator.triggers.outcome import describe_end
    from airflow_provider_spark_operator.triggers.task_log import TaskLog

    async def look() -> "ApplicationEvent | None":
        async with shared_hub(engagement.access) as hub:
            found = await untold_failure(hub.client, engagement.stamp, engagement.namespace, engagement.resource)
            if found is None:
                return None
            return describe_end(await wait_for_end(hub, found, Narration(TaskLog(found, logger))))

    try:
        return loop.run(look())
    except ApplicationDeleted:
        return None
    except (ConfigurationError, KubeError) as error:
        raise SparkApplicationError(f"earlier tries' applications could not be looked for: {error}") from None
