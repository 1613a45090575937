"""Delete an application or a SparkCluster, if it is still ours to delete."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from airflow_provider_spark_operator.core.dialects.dialect import progress
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.core.names import ANNOTATION_DAG_ID, ANNOTATION_RUN_ID
from airflow_provider_spark_operator.follow.errors import NameTaken
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.stamp import TaskStamp, annotations_of, owner_of
from airflow_provider_spark_operator.follow.versions import choose_served_version
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Conflict, NotFound
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS, SPARK_CLUSTERS, ResourceType

# Each conflict means that another client wrote between our read and our deletion: a status, or a new owner.
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


async def cancel_try(
    client: KubeClient,
    stamp: TaskStamp,
    namespace: str | None = None,
    resource: ResourceType = SPARK_APPLICATIONS,
) -> dict[ApplicationReference, CancelOutcome]:
    """Cancel every application of this try: normally one, or none where nothing was submitted yet.

    What another try has taken over is left alone; as long as it runs it is in the result as NOT_OURS.

    Args:
        client: For the cluster.
        stamp: The try.
        namespace: None for the client's default.
        resource: The kind; a version that the cluster does not serve stands for one that it does.

    Raises:
        KubeError: The API refused, or could not be reached.
    """
    resource = await choose_served_version(client, resource)
    place = namespace or client.default_namespace
    found = await client.list(resource, place, label_selector=stamp.selector)
    outcomes = {}
    for item in found.items:
        reference = ApplicationReference.of(item, resource)
        if stamp.is_try_of(item):
            outcomes[reference] = await cancel(client, reference, stamp)
        elif progress(item).phase is not Phase.ENDED:
            outcomes[reference] = CancelOutcome.NOT_OURS
    return outcomes


async def cancel_run(
    client: KubeClient, resource: ResourceType, name: str, namespace: str | None, stamp: TaskStamp
) -> CancelOutcome:
    """Delete the application of that name if a task of the stamp's DAG run has submitted it, and if it still runs.

    Args:
        client: For the cluster.
        resource: The kind.
        name: Of the application.
        namespace: None for the client's default.
        stamp: Any task of the run.

    Raises:
        KubeError: The API refused, or could not be reached.
    """
    resource = await choose_served_version(client, resource)
    try:
        present = await client.get(resource, name, namespace or client.default_namespace)
    except NotFound:
        return CancelOutcome.GONE
    if not _is_of_run(present, stamp):
        return CancelOutcome.NOT_OURS
    return await cancel(client, ApplicationReference.of(present, resource), None)


async def delete_cluster(
    client: KubeClient, name: str, namespace: str | None, stamp: TaskStamp | None
) -> ApplicationReference | None:
    """Begin to delete the SparkCluster of that name, and return it; None if there is none.

    Args:
        client: For the Kubernetes cluster.
        name: Of the SparkCluster.
        namespace: None for the client's default.
        stamp: Who deletes: only what a task of the same run of the same DAG has created. None for anybody's.

    Raises:
        NameTaken: It is another run's, or nobody's.
        KubeError: The API refused, or could not be reached.
    """
    resource = await choose_served_version(client, SPARK_CLUSTERS)
    place = namespace or client.default_namespace
    for chance in range(_ROUNDS):
        try:
            present = await client.get(resource, name, place)
            reference = ApplicationReference.of(present, resource)
            if stamp is not None and not _is_of_run(present, stamp):
                raise NameTaken(reference, owner_of(present))
            metadata = present["metadata"]
            await client.delete(resource, name, place, uid=reference.uid, resource_version=metadata["resourceVersion"])
        except NotFound:
            return None
        except Conflict:  # another client wrote in between, perhaps a new owner
            if chance == _ROUNDS - 1:
                raise
        else:
            return reference
    raise AssertionError("unreachable: the last round returns or raises")


def _is_of_run(document: Mapping[str, Any], stamp: TaskStamp) -> bool:
    notes = annotations_of(document)
    return (notes.get(ANNOTATION_DAG_ID), notes.get(ANNOTATION_RUN_ID)) == (stamp.dag_id, stamp.run_id)
