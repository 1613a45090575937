"""Delete an application or a SparkCluster if the caller still owns it."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Phase
from ...core.kubernetes.names import ANNOTATION_DAG_ID, ANNOTATION_RUN_ID
from ...kube.client import KubeClient
from ...kube.errors import Conflict, NotFound
from ...kube.resources import SPARK_APPLICATIONS, ResourceType
from ..access.reference import ApplicationReference, NameTaken
from ..access.versions import choose_served_version
from .stamp import TaskStamp, annotations_of, owner_of

# Each conflict means that another client wrote a status or a new owner between the read and the deletion.
_ROUNDS = 10


class CancelOutcome(StrEnum):
    """The result of a cancellation.

    Attributes:
        DELETED: The deletion has started.
        GONE: The application does not exist or is already being deleted.
        NOT_OURS: The caller does not own the application, so the application was not deleted.
        ENDED: The application had ended. It was not deleted, so that its status stays readable.
    """

    DELETED = "deleted"
    GONE = "gone"
    NOT_OURS = "not ours"
    ENDED = "ended"


_SENTENCES = {
    CancelOutcome.DELETED: "{} is being deleted",
    CancelOutcome.GONE: "{} does not exist, or is already being deleted",
    CancelOutcome.NOT_OURS: "{} was not deleted, because {} does not own it",
    CancelOutcome.ENDED: "{} was not deleted, because it had already ended",
}


def describe_outcome(outcome: CancelOutcome, subject: object, owner: str = "this try of the task") -> str:
    """Return a sentence about the result of a cancellation.

    Args:
        outcome: The result.
        subject: The application, as messages name it.
        owner: Who must own an application to delete it.
    """
    return _SENTENCES[outcome].format(subject, owner)


async def cancel(client: KubeClient, reference: ApplicationReference, stamp: TaskStamp | None) -> CancelOutcome:
    """Delete the application unless it belongs to another try or has ended.

    When a task is cleared, the next try can adopt the application before the previous try receives the cancellation.
    Therefore the deletion names the resource version in which the owner was checked. If the application changes in
    between, the deletion fails and the check is repeated.

    Args:
        client: The client of the cluster.
        reference: The application. The uid ensures that no other application with the same name is deleted.
        stamp: The try that must own the application. If None, the owner is not checked.

    Returns:
        The result, see `CancelOutcome`.

    Raises:
        KubeError: The API rejected the request or could not be reached.
    """
    for chance in range(_ROUNDS):
        try:
            present = await client.get(reference.resource, reference.name, reference.namespace)
            metadata = present["metadata"]
            if metadata["uid"] != reference.uid or metadata.get("deletionTimestamp"):
                return CancelOutcome.GONE
            if stamp is not None and not stamp.is_try_of(present):
                return CancelOutcome.NOT_OURS
            if _has_ended(present):
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
    raise AssertionError("internal error: the deletion ended without a result")


async def cancel_try(
    client: KubeClient, stamp: TaskStamp, namespace: str | None = None, resource: ResourceType = SPARK_APPLICATIONS
) -> dict[ApplicationReference, CancelOutcome]:
    """Cancel every application that the try owns. Usually this is one application, or none if nothing was submitted.

    Applications that another try owns are not deleted. Those that have not ended are in the result as NOT_OURS.

    Args:
        client: The client of the cluster.
        stamp: The try.
        namespace: The namespace of the applications. If None, the default namespace of the client is used.
        resource: The kind. If the cluster does not serve its version, another version is used.

    Raises:
        KubeError: The API rejected the request or could not be reached.
    """
    resource = await choose_served_version(client, resource)
    place = namespace or client.default_namespace
    found = await client.list(resource, place, label_selector=stamp.selector)
    outcomes = {}
    for item in found.items:
        reference = ApplicationReference.of(item, resource)
        if stamp.is_try_of(item):
            outcomes[reference] = await cancel(client, reference, stamp)
        elif not _has_ended(item):
            outcomes[reference] = CancelOutcome.NOT_OURS
    return outcomes


async def cancel_run(
    client: KubeClient, resource: ResourceType, name: str, namespace: str | None, stamp: TaskStamp
) -> CancelOutcome:
    """Delete the application with the given name if a task of the same DAG run submitted it and it has not ended.

    Args:
        client: The client of the cluster.
        resource: The kind.
        name: The name of the application.
        namespace: The namespace of the application. If None, the default namespace of the client is used.
        stamp: Any task of the DAG run.

    Raises:
        KubeError: The API rejected the request or could not be reached.
    """
    resource = await choose_served_version(client, resource)
    try:
        present = await client.get(resource, name, namespace or client.default_namespace)
    except NotFound:
        return CancelOutcome.GONE
    if not _is_of_run(present, stamp):
        return CancelOutcome.NOT_OURS
    return await cancel(client, ApplicationReference.of(present, resource), None)


def _has_ended(document: Mapping[str, Any]) -> bool:
    # The end of an application is its result. An end that was not read from a driver does not count: a driver may run.
    seen = read_progress(document)
    return seen.phase is Phase.ENDED and not seen.has_unread_end


async def delete_shared(
    client: KubeClient,
    resource: ResourceType,
    name: str,
    namespace: str | None,
    stamp: TaskStamp | None,
    before_deletion: Callable[[], None] = lambda: None,
) -> ApplicationReference | None:
    """Start the deletion of a SparkCluster or a Spark Connect server and return it. Return None if it does not exist.

    Args:
        client: The client of the Kubernetes cluster.
        resource: The kind.
        name: The name of the resource.
        namespace: The namespace of the resource. If None, the default namespace of the client is used.
        stamp: The task that deletes. Only a resource that a task of the same DAG run created is deleted. If None, the
            owner is not checked.
        before_deletion: Called before each request to delete the resource.

    Raises:
        NameTaken: The resource belongs to another DAG run or to no task.
        KubeError: The API rejected the request or could not be reached.
    """
    resource = await choose_served_version(client, resource)
    place = namespace or client.default_namespace
    for chance in range(_ROUNDS):
        try:
            present = await client.get(resource, name, place)
            reference = ApplicationReference.of(present, resource)
            if stamp is not None and not _is_of_run(present, stamp):
                raise NameTaken(reference, owner_of(present))
            metadata = present["metadata"]
            before_deletion()
            await client.delete(resource, name, place, uid=reference.uid, resource_version=metadata["resourceVersion"])
        except NotFound:
            return None
        except Conflict:  # another client wrote in between, perhaps a new owner
            if chance == _ROUNDS - 1:
                raise
        else:
            return reference
    raise AssertionError("internal error: the deletion ended without a result")


def _is_of_run(document: Mapping[str, Any], stamp: TaskStamp) -> bool:
    notes = annotations_of(document)
    return (notes.get(ANNOTATION_DAG_ID), notes.get(ANNOTATION_RUN_ID)) == (stamp.dag_id, stamp.run_id)
