"""Write on an application without ever writing on a namesake."""

from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Conflict, Invalid
from airflow_provider_spark_operator.kube.transport import JsonObject


async def annotate(client: KubeClient, reference: ApplicationReference, annotations: Mapping[str, str]) -> JsonObject:
    """Set annotations on this very application and return it.

    Raises:
        NotFound: It is gone.
        Conflict: Another one has its name.
        KubeError: The API refused, or could not be reached.
    """
    return await amend(client, reference, {"metadata": {"annotations": dict(annotations)}})


async def amend(client: KubeClient, reference: ApplicationReference, change: Mapping[str, Any]) -> JsonObject:
    """Merge `change` into this very application and return the result.

    Raises:
        NotFound: The application does not exist.
        Conflict: Another application has its name.
        KubeError: The API refused the change, or could not be reached.
    """
    patch = {**change, "metadata": {"uid": reference.uid, **change.get("metadata", {})}}
    try:
        return await client.patch(reference.resource, reference.name, reference.namespace, patch)
    except Invalid as error:
        # For custom resources kube-apiserver reports another uid as an immutable field, not as a conflict.
        if "metadata.uid" not in error.message:
            raise
        raise Conflict(
            409, "Conflict", error.message, error.verb, error.resource, error.namespace, error.name
        ) from error
