"""The requests of a worker to the cluster: submit a resource, and acknowledge its end."""

import logging

from ..airflow_compat import AirflowTaskTimeout, mask_secrets
from ..core.kubernetes.json_object import JsonObject
from ..core.log import secrets
from ..core.parameters.arguments import IfExists
from ..follow.access.outage_tolerance import retry
from ..follow.access.reference import ApplicationReference
from ..follow.submission.submit import Submission
from ..follow.submission.submit import acknowledge as acknowledge_success
from ..follow.submission.submit import submit as submit_document
from ..hooks.errors import translate_errors
from ..hooks.loop import LoopThread
from .current_try import TaskTry

logger = logging.getLogger(__name__)

# A request in progress at the timeout still takes effect. It can be undone only after it has finished.
_SUBMISSION_GRACE_SECONDS = 10.0
# The result of the task is known. It must not wait long, but the acknowledgement must survive a credential rotation.
_ACKNOWLEDGEMENT_SECONDS = 60.0


def submit(
    loop: LoopThread,
    task_try: TaskTry,
    document: JsonObject,
    noun: str = "application",
    stop_seconds: float | None = None,
) -> Submission:
    """Create the application, or adopt the application of an earlier try.

    Args:
        loop: The loop for requests.
        task_try: The try that submits.
        document: The application.
        noun: What the resource is, for messages.
        stop_seconds: See `follow.submission.submit.submit`.

    Raises:
        InvalidResource: The document is not valid.
        SparkApplicationError: The document could not be submitted.
    """

    async def send() -> Submission:
        async with await task_try.open_client() as client:
            return await submit_document(
                client,
                document,
                task_try.namespace,
                task_try.stamp,
                if_exists=IfExists(task_try.task.if_exists),
                stop_seconds=stop_seconds,
            )

    task_try.may_run = True
    try:
        with translate_errors(f"submit the {noun}"):
            submission = loop.run(send(), grace=_SUBMISSION_GRACE_SECONDS)
    except Exception:
        task_try.may_run = False  # unlike after an interruption, when the request may have been sent
        raise
    logger.info("%s", submission.sentence)
    if task_try.stop_requested:  # the signal arrived before there was a resource to delete
        task_try.stop()
    return submission


def find_secret_places(submission: Submission, document: JsonObject) -> list[secrets.SecretPlace]:
    """Return where the submitted resource contains secrets that this worker has read from connections and variables.

    Args:
        submission: The resource, as the cluster has stored it.
        document: The resource as this try has composed it.
    """
    places = secrets.find_secret_places(submission.resource, mask_secrets)
    if not submission.adopted:
        return places
    # The secrets may have changed since the earlier try.
    own = secrets.find_secret_places(document, mask_secrets)
    return [*places, *([path, 0, None, *decoders] for path, _, _, *decoders in own)]


def acknowledge(loop: LoopThread, task_try: TaskTry, reference: ApplicationReference) -> None:
    """Record on the resource that its end is known: a task that is cleared later submits a new one.

    The result of the task is known, so a problem is only logged.

    Args:
        loop: The loop for requests.
        task_try: The try that records.
        reference: The resource.
    """

    async def send() -> bool:
        async with await task_try.open_client() as client:
            return await acknowledge_success(client, reference, task_try.stamp)

    subject = f"recording the end of {reference}"
    try:
        loop.run(retry(send, subject, logger.log, seconds=_ACKNOWLEDGEMENT_SECONDS))
    except (Exception, AirflowTaskTimeout) as error:
        logger.warning(
            "could not record on %s that this task has reported its result, "
            "so a later try may adopt this application again: %s",
            reference,
            str(error) or type(error).__name__,
        )
