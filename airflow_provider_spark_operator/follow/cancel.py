"""Delete an application, if it is still ours to delete."""

from enum import StrEnum

from airflow_provider_spark_operator.core.dialects.dialect import progress
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.stamp import TaskStamp
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Conflict, NotFound

# Each conflict means that somebody wrote between our read and our deletion: a status, or a new owner.
_ROUNDS = 10


class CancelOutcome(StrEnum):
    """What became of a cancellation."""

    DELETED = "deleted"
    GONE = "gone"
    NOT_OURS = "not ours"
    ENDED = "ended"


async def cancel(client: KubeClient, reference: ApplicationReference, stamp: TaskStamp | None) -> CancelOutcome:
    """Delete the application unless it is another's, or has ended by itself.

    When a task is cleared, the next try may adopt the application before the previous one is told to
    stop. So the stamp is compared in the very version that is deleted: another owner in between makes
    the deletion fail, and it is read again.

    Args:
        client: For the cluster.
        reference: With the uid: a namesake is never touched.
        stamp: DELETED only if its task instance is the application's owner; None asks for no owner.

    Returns:
        DELETED: deletion has begun. GONE: there is no such application, or it is being deleted already.
        NOT_OURS: another try, or nobody's. ENDED: it is left, as evidence.

    Raises:
        KubeError: The API refused, or could not be reached.
    """
    for chance in range(_ROUNDS):
        try:
            present = await client.get(reference.resource, reference.name, reference.namespace)
            metadata = present["metadata"]
            if metadata["uid"] != reference.uid or metadata.get("deletionTimestamp"):
                return CancelOutcome.GONE
            if stamp is not None and not stamp.is_try_of(present):
                return CancelOutcome.NOT_OURS
            if progress(present).phase is Phase.ENDED:
                return CancelOutcome.ENDED
            await client.delete(
                reference.resource,
                reference.name,
                reference.namespace,
                uid=reference.uid,
                resource_version=metadata["resourceVersion"],
            )
        except NotFound:
            return CancelOutcome.GONE
        except Conflict:
            if chance == _ROUNDS - 1:
                raise
        else:
            return CancelOutcome.DELETED
    raise AssertionError("unreachable: the last round returns or raises")
