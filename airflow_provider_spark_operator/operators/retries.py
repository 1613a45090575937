"""Ask the retry policy of a task on Airflow before 3.3, which does not ask it, and resume a task that deferred."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..airflow_compat import HAS_RETRY_POLICIES, AirflowFailException, AirflowSkipException, RetryAction
from ..exceptions import SparkApplicationError, rule_out_retry

if TYPE_CHECKING:
    from airflow.sdk import Context

    from ..airflow_compat import RetryDecision, RetryPolicy

logger = logging.getLogger(__name__)


@contextmanager
def ask_policy(policy: "RetryPolicy | None", context: "Context") -> Iterator[None]:
    """Raise the failure of the block so that Airflow does not retry the task, if the policy decides so.

    An older Airflow cannot change the delay before a retry.

    Args:
        policy: The retry policy of the task; None if it has none.
        context: The context of the task.

    Raises:
        SparkApplicationError: The failure of the block.
    """
    if HAS_RETRY_POLICIES or policy is None:
        yield
        return
    try:
        yield
    except SparkApplicationError as error:
        if isinstance(error, AirflowFailException):
            raise
        decision = _decide(policy, error, context)
        if decision is not None and decision.action is RetryAction.FAIL:
            # The new exception has the message of the first one, which would appear a second time in the task log.
            raise rule_out_retry(error, decision.reason).with_traceback(error.__traceback__) from None
        raise


def is_retried(error: BaseException, policy: "RetryPolicy | None", context: "Context") -> bool:
    """Return whether Airflow starts another try after an exception.

    Args:
        error: The exception that the task raises.
        policy: The retry policy of the task; None if it has none.
        context: The context of the task.
    """
    task_instance = context["ti"]
    if task_instance.try_number > (task_instance.max_tries or 0):
        return False
    if isinstance(error, (AirflowFailException, AirflowSkipException)):
        return False
    decision = _decide(policy, error, context) if policy is not None else None
    return decision is None or decision.action is not RetryAction.FAIL


def _decide(policy: "RetryPolicy", error: BaseException, context: "Context") -> "RetryDecision | None":
    """Return the decision of the policy. None if the policy itself failed: `retries` then applies, as on 3.3."""
    task_instance = context["ti"]
    try:
        return policy.evaluate(
            exception=error, try_number=task_instance.try_number, max_tries=task_instance.max_tries, context=context
        )
    except Exception:
        logger.exception("the retry policy failed; the task is retried if it has retries left")
        return None
