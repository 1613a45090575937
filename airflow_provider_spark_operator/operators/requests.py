"""The requests of a worker to the cluster: submit a resource, and acknowledge its end."""

import logging

from airflow_provider_spark_operator.core.dialects.dialect import find_alternatives
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.exceptions import SparkApplicationError
from airflow_provider_spark_operator.follow.errors import DeletionStuck, NameTaken
from airflow_provider_spark_operator.follow.patience import retry
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.submit import IfExists, Submission
from airflow_provider_spark_operator.follow.submit import acknowledge as acknowledge_success
from airflow_provider_spark_operator.follow.submit import submit as submit_document
from airflow_provider_spark_operator.follow.versions import KindNotServed
from airflow_provider_spark_operator.kube.connection import open_client
from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError
from airflow_provider_spark_operator.operators.kill import Engagement
from airflow_provider_spark_operator.triggers.loop import LoopThread

logger = logging.getLogger(__name__)

# A request in progress at the timeout still takes effect. It can be undone only after it has finished.
_SUBMISSION_GRACE_SECONDS = 10.0
# The result of the task is known. It must not wait long, but the acknowledgement must survive a credential rotation.
_ACKNOWLEDGEMENT_SECONDS = 60.0


def submit(
    loop: LoopThread, engagement: Engagement, document: JsonObject, if_exists: str, noun: str = "application"
) -> Submission:
    """Create the application, or adopt the one of an earlier try.

    Args:
        loop: The loop for requests.
        engagement: The try that submits.
        document: The application.
        if_exists: What to do with an application of the same name: a value of `follow.replace.IfExists`.
        noun: What the resource is, for messages.

    Raises:
        InvalidResource: The document is not valid.
        SparkApplicationError: The document could not be submitted.
    """

    async def send() -> Submission:
        async with await open_client(engagement.access) as client:
            return await submit_document(
                client, document, engagement.namespace, engagement.stamp, if_exists=IfExists(if_exists)
            )

    try:
        submission = loop.run(send(), grace=_SUBMISSION_GRACE_SECONDS)
    # The message names the cause: a chained exception would print it a second time in the task log.
    except (ConfigurationError, DeletionStuck, KubeError, NameTaken) as error:
        hint = _suggest_api_version(error) if noun == "application" else ""
        raise SparkApplicationError(f"could not submit the {noun}: {error}{hint}") from None
    done = "adopted from an earlier try" if submission.adopted else "submitted"
    logger.info("%s was %s (uid %s)", submission.reference, done, submission.reference.uid)
    return submission


def _suggest_api_version(error: Exception) -> str:
    """Return what to do if the cluster has another operator than the one that the application is for."""
    if not isinstance(error, KindNotServed) or error.versions:
        return ""
    return "".join(
        f'. For {dialect.operator}, set api_version="{dialect.group}/{dialect.versions[0]}"'
        for dialect in find_alternatives(error.group)
    )


def acknowledge(loop: LoopThread, engagement: Engagement, reference: ApplicationReference) -> None:
    """Record on the resource that its end is known: a task that is cleared later submits a new one.

    Args:
        loop: The loop for requests.
        engagement: The try that records.
        reference: The resource.
    """

    async def send() -> bool:
        async with await open_client(engagement.access) as client:
            return await acknowledge_success(client, reference, engagement.stamp)

    subject = f"recording the end of {reference}"
    try:
        loop.run(retry(send, subject, logger.log, seconds=_ACKNOWLEDGEMENT_SECONDS))
    except (ConfigurationError, KubeError) as error:
        logger.warning("could not record the end on the resource; a later try may adopt it again: %s", error)
