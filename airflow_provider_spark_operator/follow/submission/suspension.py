"""Suspend an application, and resume it: its operator deletes the driver, and later starts another attempt."""

from ...core.dialects.dialect import dialect_of
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.pods import get_object
from ...kube.client import KubeClient
from ..access.reference import ApplicationReference
from ..access.requests import amend


class SuspensionNotSupported(Exception):
    """The definition of the application in the cluster does not contain `spec.suspend`."""

    def __init__(self, reference: ApplicationReference) -> None:
        super().__init__(reference)
        self.reference = reference

    def __str__(self) -> str:
        operator = dialect_of(self.reference.resource.api_version).operator
        return (
            f"the CustomResourceDefinition of {self.reference.resource.qualified_name} in this cluster does not define "
            f"spec.suspend. Install a newer release of {operator} with its CustomResourceDefinitions"
        )


async def set_suspended(client: KubeClient, reference: ApplicationReference, *, suspended: bool) -> JsonObject:
    """Set `spec.suspend` of exactly this application and return it.

    Args:
        client: The client of the cluster.
        reference: The application.
        suspended: The value of the field.

    Raises:
        SuspensionNotSupported: The cluster does not define the field. The application is unchanged.
        NotFound: The application does not exist.
        Conflict: Another application has its name.
        KubeError: The API rejected the request or could not be reached.
    """
    stored = await amend(client, reference, {"spec": {"suspend": suspended}})
    if get_object(stored.get("spec")).get("suspend") is not suspended:  # the API server drops unknown fields
        raise SuspensionNotSupported(reference)
    return stored
