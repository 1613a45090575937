"""Delete what another task of the same DAG run has submitted, for one who has waited for it in vain."""

from airflow_provider_spark_operator.core.names import ANNOTATION_DAG_ID, ANNOTATION_RUN_ID
from airflow_provider_spark_operator.follow.cancel import CancelOutcome, cancel
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.stamp import TaskStamp, annotations
from airflow_provider_spark_operator.follow.versions import served_version
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import ResourceType


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
    resource = await served_version(client, resource)
    try:
        present = await client.get(resource, name, namespace or client.default_namespace)
    except NotFound:
        return CancelOutcome.GONE
    notes = annotations(present)
    if (notes.get(ANNOTATION_DAG_ID), notes.get(ANNOTATION_RUN_ID)) != (stamp.dag_id, stamp.run_id):
        return CancelOutcome.NOT_OURS
    return await cancel(client, ApplicationReference.of(present, resource), None)
