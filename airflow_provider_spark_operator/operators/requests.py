"""What a worker asks of the cluster: that an application exist, and that its success count as taken."""

import logging
from typing import TYPE_CHECKING

from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_spark_operator.exceptions import SparkApplicationError

if TYPE_CHECKING:
    from airflow_provider_spark_operator.follow.reference import ApplicationReference
    from airflow_provider_spark_operator.follow.submit import Submission
    from airflow_provider_spark_operator.operators.document import JsonObject
    from airflow_provider_spark_operator.operators.kill import Engagement
    from airflow_provider_spark_operator.triggers.loop import LoopThread

logger = logging.getLogger(__name__)

# A request that is under way when the time is over takes effect all the same: only afterwards can it be undone.
_SUBMISSION_GRACE_SECONDS = 10.0


def submit(
    loop: "LoopThread", engagement: "Engagement", document: "JsonObject", noun: str = "application"
) -> "Submission":
    """Create the application, or take over the one that an earlier try left.

    Args:
        loop: To ask in.
        engagement: Who submits, and where.
        document: What.
        noun: What it is, for messages.

    Raises:
        AirflowFailException: The document is no valid application; a retry would not help.
        SparkApplicationError: It could not be submitted.
    """
    from airflow_provider_spark_operator.core.problems import InvalidResource
    from airflow_provider_spark_operator.follow.errors import DeletionStuck, NameTaken
    from airflow_provider_spark_operator.follow.submit import submit as submit_document
    from airflow_provider_spark_operator.kube.connection import open_client
    from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError

    async def send() -> "Submission":
        async with await open_client(engagement.access) as client:
            return await submit_document(client, document, engagement.namespace, engagement.stamp)

    try:
        submission = loop.run(send(), grace=_SUBMISSION_GRACE_SECONDS)
    except InvalidResource as error:
        raise AirflowFailException(f"the {noun} is not valid: {error}") from error
    except (ConfigurationError, DeletionStuck, KubeError, NameTaken) as error:
        raise SparkApplicationError(f"the {noun} was not submitted: {error}") from error
    done = "taken over from an earlier try" if submission.adopted else "submitted"
    logger.info("%s is %s (uid %s)", submission.reference, done, submission.reference.uid)
    return submission


def acknowledge(loop: "LoopThread", engagement: "Engagement", reference: "ApplicationReference") -> None:
    """Have the end count once: a task that is cleared later runs anew instead of finding it."""
    from airflow_provider_spark_operator.follow.submit import acknowledge as acknowledge_success
    from airflow_provider_spark_operator.kube.connection import open_client
    from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError

    async def send() -> bool:
        async with await open_client(engagement.access) as client:
            return await acknowledge_success(client, reference, engagement.stamp)

    try:
        loop.run(send())
    except (ConfigurationError, KubeError) as error:
        logger.warning("the end is not marked as taken note of; a later try would find it: %s", error)
