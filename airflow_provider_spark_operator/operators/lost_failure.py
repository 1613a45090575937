"""Report the failure of an application whose try was lost before it reported the failure.

A try is lost if its worker dies, or if its trigger fires before the scheduler has recorded the deferral. The next try
is then the first that can report what happened to the application.
"""

import logging

from ..airflow_compat import RetryAction
from ..exceptions import SparkApplicationError
from ..follow.access.reference import ApplicationDeleted
from ..follow.narration.narrator import Narration
from ..follow.submission.adoption import find_unreported_failure
from ..follow.watching.shared_watch import share_hub
from ..follow.watching.wait import wait_for_end
from ..hooks.loop import LoopThread
from ..hooks.task_log import TaskLog
from ..kube.errors import ConfigurationError, KubeError
from ..triggers.event import ApplicationEvent, EventKind
from ..triggers.spark_application_runtime import build_event
from . import requests, results
from .current_try import TaskTry

logger = logging.getLogger(__name__)


def report_lost_failure(loop: LoopThread, task_try: TaskTry) -> None:
    """Raise the failure of an earlier try if the retry policy would not have retried it; otherwise log the failure.

    Without a policy Airflow retries every failure, so there is nothing to report. If a user has cleared the task, the
    task runs again in any case.

    Args:
        loop: The loop for requests.
        task_try: The current try.

    Raises:
        SparkApplicationError: The failure of the earlier try, or the API could not be read.
    """
    task_instance, policy = task_try.context["ti"], task_try.task.retry_policy
    # Airflow never resets the number of a try. Clearing a task adds its retries to the tries that are used up.
    first_try = task_instance.max_tries - (task_try.task.retries or 0) + 1
    if policy is None or task_instance.try_number <= first_try:
        return
    event = _read_lost_end(loop, task_try)
    if event is None or event.kind is not EventKind.ENDED:
        return
    error = results.build_error(event, None)
    if error is None:
        return
    requests.acknowledge(loop, task_try, results.reference_of(event))
    decision = policy.evaluate(error, task_instance.try_number - 1, task_instance.max_tries, task_try.context)
    if decision.action is RetryAction.FAIL:
        raise error
    logger.warning(
        "the application of an earlier try failed, and the worker or triggerer of that try was lost before it could "
        "report the failure. This try submits a new application. The failure was: %s",
        error,
    )


def _read_lost_end(loop: LoopThread, task_try: TaskTry) -> ApplicationEvent | None:
    async def read() -> ApplicationEvent | None:
        async with share_hub(task_try.access) as hub:
            found = await find_unreported_failure(hub.client, task_try.stamp, task_try.namespace, task_try.resource)
            if found is None:
                return None
            return build_event(await wait_for_end(hub, found, Narration(TaskLog(found, logger))))

    try:
        return loop.run(read())
    except ApplicationDeleted:
        return None
    except (ConfigurationError, KubeError) as error:
        raise SparkApplicationError(f"could not list the applications of earlier tries: {error}") from None
