"""Find what the tries of a task have submitted."""

from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.stamp import TaskStamp
from airflow_provider_spark_operator.follow.standing import Standing, standing
from airflow_provider_spark_operator.follow.versions import served_version
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS, ResourceType
from airflow_provider_spark_operator.kube.transport import JsonObject


async def applications_of(
    client: KubeClient, resource: ResourceType, namespace: str, stamp: TaskStamp
) -> list[JsonObject]:
    """This task's applications, the newest first.

    Raises:
        KubeError: The API refused, or could not be reached.
    """
    found = await client.list(resource, namespace, label_selector=stamp.selector)
    return sorted(found.items, key=_age, reverse=True)


async def untold_failure(
    client: KubeClient,
    stamp: TaskStamp,
    namespace: str | None = None,
    resource: ResourceType = SPARK_APPLICATIONS,
) -> ApplicationReference | None:
    """The task's newest application, if it has failed under an earlier try, and no try has told so.

    Args:
        client: For the cluster.
        stamp: The present try.
        namespace: None for the client's default.
        resource: The kind; a version that the cluster does not serve stands for one that it does.

    Raises:
        KubeError: The API refused, or could not be reached.
    """
    resource = await served_version(client, resource)
    own = await applications_of(client, resource, namespace or client.default_namespace, stamp)
    if not own or standing(own[0]) is not Standing.FAILED or stamp.is_try_of(own[0]) or stamp.was_cleared_since(own[0]):
        return None
    return ApplicationReference.of(own[0], resource)


def _age(document: JsonObject) -> tuple[str, str]:
    metadata = document["metadata"]
    return metadata.get("creationTimestamp", ""), metadata["name"]  # the name, so that ties are stable
