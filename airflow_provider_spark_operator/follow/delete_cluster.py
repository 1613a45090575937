"""Delete a SparkCluster at the end of the run that created it."""

import asyncio
import time

from airflow_provider_spark_operator.core.names import ANNOTATION_DAG_ID, ANNOTATION_RUN_ID
from airflow_provider_spark_operator.follow.errors import DeletionStuck, NameTaken
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.stamp import TaskStamp, annotations, owner_of
from airflow_provider_spark_operator.follow.versions import served_version
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Conflict, NotFound
from airflow_provider_spark_operator.kube.resources import SPARK_CLUSTERS
from airflow_provider_spark_operator.kube.transport import JsonObject

_ROUNDS = 10


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
    resource = await served_version(client, SPARK_CLUSTERS)
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
        except Conflict:  # somebody wrote in between: perhaps a new owner
            if chance == _ROUNDS - 1:
                raise
        else:
            return reference
    raise AssertionError("unreachable: the last round returns or raises")


def _is_of_run(document: JsonObject, stamp: TaskStamp) -> bool:
    notes = annotations(document)
    return (notes.get(ANNOTATION_DAG_ID), notes.get(ANNOTATION_RUN_ID)) == (stamp.dag_id, stamp.run_id)


async def wait_until_gone(client: KubeClient, reference: ApplicationReference, seconds: float) -> None:
    """Wait until the cluster does not exist any more.

    Raises:
        DeletionStuck: It still exists after `seconds`.
        KubeError: The API refused, or could not be reached.
    """
    deadline, backoff = time.monotonic() + seconds, Backoff(first=0.2, longest=5.0)
    while True:
        try:
            present = await client.get(reference.resource, reference.name, reference.namespace)
        except NotFound:
            return
        metadata = present["metadata"]
        if metadata["uid"] != reference.uid:
            return
        if time.monotonic() >= deadline:
            raise DeletionStuck(reference, metadata.get("finalizers") or [], seconds)
        await asyncio.sleep(backoff.next())
