"""Delete what one try of a task has submitted, for those who know the task but not the application."""

from airflow_provider_spark_operator.core.dialects.dialect import progress
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.follow.cancel import CancelOutcome, cancel
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.stamp import TaskStamp
from airflow_provider_spark_operator.follow.versions import served_version
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS, ResourceType


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
    resource = await served_version(client, resource)
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
