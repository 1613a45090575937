"""Bring an application into being exactly once, whatever became of earlier tries."""

import asyncio
import copy
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from airflow_provider_spark_operator.core.dialects import kubeflow
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW, dialect_of
from airflow_provider_spark_operator.core.models.cluster_parse import validate_cluster_document
from airflow_provider_spark_operator.core.models.parse import validate_document
from airflow_provider_spark_operator.core.names import ANNOTATION_RESULT_TAKEN_BY, ANNOTATION_TASK_INSTANCE_ID
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem
from airflow_provider_spark_operator.follow.annotate import annotate
from airflow_provider_spark_operator.follow.dropped import dropped_fields, names
from airflow_provider_spark_operator.follow.errors import DeletionStuck, NameTaken
from airflow_provider_spark_operator.follow.owned import applications_of
from airflow_provider_spark_operator.follow.reference import ApplicationReference, resource_of
from airflow_provider_spark_operator.follow.retention import SHORTEST_SECONDS, seconds_after_end
from airflow_provider_spark_operator.follow.stamp import TaskStamp, annotations, owner_of
from airflow_provider_spark_operator.follow.standing import Standing, standing
from airflow_provider_spark_operator.follow.versions import served_version, tell_substitution
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import (
    AlreadyExists,
    Conflict,
    KubeError,
    NotFound,
    ServerError,
    Unreachable,
)
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS, SPARK_CLUSTERS, ResourceType
from airflow_provider_spark_operator.kube.transport import JsonObject

__all__ = ["Submission", "TaskStamp", "acknowledge", "submit"]

logger = logging.getLogger(__name__)

DELETION_SECONDS = 300.0
# Each round ends, or has learned something new about what is in the way; more rounds mean a fight.
_ROUNDS = 5


@dataclass(frozen=True)
class Submission:
    """The application to follow.

    Attributes:
        reference: Which one it is.
        adopted: An earlier try of this task submitted it, or this try before it was interrupted.
        resource: Its content as the API returned it.
        others: Names of further live applications of the same task; they should not exist.
    """

    reference: ApplicationReference
    adopted: bool
    resource: JsonObject
    others: tuple[str, ...] = ()


async def submit(
    client: KubeClient,
    document: Mapping[str, Any],
    namespace: str | None = None,
    stamp: TaskStamp | None = None,
    *,
    deletion_seconds: float = DELETION_SECONDS,
) -> Submission:
    """Create the application, or adopt the one that an earlier try of the same task left.

    A live one is adopted, and so is one that has succeeded while nobody watched; its stamp becomes this
    try's. One that failed is this try's only if this try has submitted it: a triggerer that takes over begins anew.
    Where an earlier try's failed, or a try has taken note of the end (`acknowledge`), a new one is created, after
    the old one is deleted if it has the wanted name. Applications of others are never touched.

    Args:
        client: For the cluster.
        document: A SparkApplication of any dialect, in any version, or a SparkCluster, of which one that runs counts
            as live. Without a name it gets the stamp's default name.
        namespace: Where; None for the document's own, else the client's default.
        stamp: Whose it is. None for nobody's: it is created, never adopted.
        deletion_seconds: How long to wait for the deletion of an old one of the same name.

    Raises:
        InvalidResource: The document is no valid application; nothing was sent.
        NameTaken: The name belongs to an application that is not this task's.
        DeletionStuck: The old one of that name does not go away.
        KindNotServed: The cluster serves no SparkApplication in a version with the same fields.
        KubeError: The API refused, or could not be reached.
    """
    body = _prepared(client, document, namespace, stamp)
    resource = await _in_served_version(client, body)
    if stamp is None:
        return await _create_unowned(client, resource, body)
    problem: KubeError | None = None
    backoff = Backoff()
    for _ in range(_ROUNDS):
        own = await applications_of(client, resource, body["metadata"]["namespace"], stamp)
        try:
            adopted = await _adopt(client, resource, own, stamp)
            if adopted is not None:
                return adopted
            await _make_room(client, resource, own, body["metadata"]["name"], deletion_seconds)
            made = await _create(client, resource, body)
            await _give_way(client, made, stamp)
            return made
        except AlreadyExists as error:
            await _check_owner(client, resource, body, stamp)
            problem = error
        except (Conflict, ServerError, Unreachable) as error:
            # Adopting: it changed meanwhile. Giving way: the next round adopts. Creating: it may exist none the less,
            # and the next list shows it with our stamp. So a lost answer does not become a second application.
            problem = error
            await asyncio.sleep(backoff.next())
    assert problem is not None  # noqa: S101 - every round that does not return sets it
    raise problem


async def acknowledge(client: KubeClient, reference: ApplicationReference, stamp: TaskStamp) -> bool:
    """Note on an application that a try of its task has taken note of the end; False if that was not possible.

    Without the note, a task that is cleared to run again would adopt an old success, and the next try would take a
    failure for one that no try has told.

    Raises:
        KubeError: The API refused, or could not be reached.
    """
    try:
        await annotate(client, reference, {ANNOTATION_RESULT_TAKEN_BY: stamp.task_instance_id})
    except (NotFound, Conflict):  # gone, or replaced: nobody can adopt it any more
        return False
    return True


def _prepared(
    client: KubeClient, document: Mapping[str, Any], namespace: str | None, stamp: TaskStamp | None
) -> JsonObject:
    """The complete document to send.

    Raises:
        InvalidResource: It is not valid.
    """
    body = copy.deepcopy(dict(document))
    metadata = body.setdefault("metadata", {})
    if stamp is not None and isinstance(metadata, dict):
        if not metadata.get("name"):
            metadata["name"] = stamp.default_name()
        metadata["labels"] = {**(metadata.get("labels") or {}), **stamp.labels()}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **stamp.annotations()}
    problems = _problems(body)
    if not problems and namespace and metadata.get("namespace", namespace) != namespace:
        problems.append(
            Problem(
                "metadata.namespace",
                f"is {metadata['namespace']!r}, but the application is submitted to {namespace!r}: "
                "leave one of them out",
            )
        )
    if problems:
        raise InvalidResource(problems)
    metadata["namespace"] = namespace or metadata.get("namespace") or client.default_namespace
    body.pop("status", None)
    return body


def _problems(body: JsonObject) -> list[Problem]:
    if dialect_of(body.get("apiVersion")) is KUBEFLOW:
        return kubeflow.problems(body)
    if body.get("kind") == SPARK_CLUSTERS.kind:
        return list(validate_cluster_document(body))
    return list(validate_document(body))


async def _in_served_version(client: KubeClient, body: JsonObject) -> ResourceType:
    """Turn the document into a version that the cluster serves; the kind in that version.

    Raises:
        KindNotServed: There is none.
        KubeError: The API could not be asked.
    """
    kind = SPARK_CLUSTERS if body["kind"] == SPARK_CLUSTERS.kind else SPARK_APPLICATIONS
    wanted = resource_of(body["apiVersion"], kind)
    chosen = await served_version(client, wanted)
    tell_substitution(wanted, chosen, logger)
    body["apiVersion"] = chosen.api_version
    return chosen


async def _adopt(
    client: KubeClient, resource: ResourceType, own: list[JsonObject], stamp: TaskStamp
) -> Submission | None:
    """Take over the newest live application, else the newest that succeeded, else this try's own; None if none is."""
    live = [item for item in own if standing(item) is Standing.LIVE]
    succeeded = [item for item in own if standing(item) is Standing.SUCCEEDED]
    failed = [item for item in own if standing(item) is Standing.FAILED and stamp.is_try_of(item)]
    candidates = live or succeeded or failed
    for chosen in candidates:
        taken = await _take_over(client, resource, chosen, stamp)
        if taken is not None:
            reference = ApplicationReference.of(taken, resource)
            others = tuple(item["metadata"]["name"] for item in live if item is not chosen)
            if others:
                names = ", ".join(others)
                logger.warning("%s is adopted, but this task has further live applications: %s", reference, names)
            return Submission(reference, adopted=True, resource=taken, others=others)
    return None


async def _take_over(
    client: KubeClient, resource: ResourceType, chosen: JsonObject, stamp: TaskStamp
) -> JsonObject | None:
    """Make this try the application's owner; None where it is gone or going, as nobody can stop a deletion."""
    if annotations(chosen).get(ANNOTATION_TASK_INSTANCE_ID) == stamp.task_instance_id:
        return chosen
    try:
        taken = await annotate(client, ApplicationReference.of(chosen, resource), stamp.try_annotations())
    except NotFound:
        return None
    # The previous try may have deleted it since it was listed; finalizers keep it there, open to our patch.
    return None if standing(taken) is Standing.LEAVING else taken


async def _create(client: KubeClient, resource: ResourceType, body: JsonObject) -> Submission:
    created = await client.create(resource, body, body["metadata"]["namespace"])
    reference = ApplicationReference.of(created, resource)
    if dropped := dropped_fields(body, created):
        logger.warning("%s is without %s: this cluster's definition has no such field", reference, names(dropped))
    kept = seconds_after_end(created)
    if kept is not None and kept < SHORTEST_SECONDS:
        logger.warning(
            "%s is deleted %g s after its end, as its specification has it: who looks later, such as a triggerer "
            "that was restarted, cannot tell how it ended; leave it %.0f s at least",
            reference,
            kept,
            SHORTEST_SECONDS,
        )
    return Submission(reference, adopted=False, resource=created)


async def _give_way(client: KubeClient, made: Submission, stamp: TaskStamp) -> None:
    """Delete what was just created if another try has a live one: Airflow may take a worker for lost that is only slow.

    Each looks after it has created, so that the later one sees the other; of the same second, both may give way.

    Raises:
        Conflict: It is deleted, and the other one can be taken over.
    """
    reference, since = made.reference, made.resource["metadata"]["creationTimestamp"]
    own = await applications_of(client, reference.resource, reference.namespace, stamp)
    live = [item["metadata"] for item in own if standing(item) is Standing.LIVE]
    earlier = [one for one in live if one["uid"] != reference.uid and one["creationTimestamp"] <= since]
    if not earlier:
        return
    why = f"another try of this task has submitted {earlier[0]['name']} meanwhile"
    logger.warning("%s is deleted again: %s", reference, why)
    with suppress(NotFound):
        await client.delete(reference.resource, reference.name, reference.namespace, uid=reference.uid)
    kind = reference.resource.qualified_name
    raise Conflict(409, "Conflict", why, "create", kind, reference.namespace, reference.name)


async def _create_unowned(client: KubeClient, resource: ResourceType, body: JsonObject) -> Submission:
    try:
        return await _create(client, resource, body)
    except AlreadyExists:
        await _check_owner(client, resource, body, None)
        raise


async def _check_owner(client: KubeClient, resource: ResourceType, body: JsonObject, stamp: TaskStamp | None) -> None:
    """Look at the application that has the wanted name.

    Raises:
        NameTaken: It is not the stamp's; whose it is, it may itself tell.
    """
    metadata = body["metadata"]
    try:
        present = await client.get(resource, metadata["name"], metadata["namespace"])
    except NotFound:  # it went away in between
        return
    if stamp is None or not stamp.is_task_of(present):
        raise NameTaken(ApplicationReference.of(present, resource), owner_of(present))


async def _make_room(
    client: KubeClient, resource: ResourceType, own: list[JsonObject], name: str, seconds: float
) -> None:
    """Delete this task's old application of the wanted name, if there is one, and wait until it is gone.

    Raises:
        DeletionStuck: It is still there after `seconds`.
    """
    old = next((item for item in own if item["metadata"]["name"] == name), None)
    if old is None:
        return
    reference = ApplicationReference.of(old, resource)
    now = await _present(client, reference)  # it may have been deleted since it was listed
    if now is not None and standing(now) is not Standing.LEAVING:
        logger.info("%s of an earlier try has ended and is deleted to make room", reference)
        with suppress(NotFound):
            await client.delete(resource, name, reference.namespace, uid=reference.uid)
    deadline, backoff = time.monotonic() + seconds, Backoff(first=0.2, longest=5.0)
    while (present := await _present(client, reference)) is not None:
        if time.monotonic() >= deadline:
            raise DeletionStuck(reference, present["metadata"].get("finalizers") or [], seconds)
        await asyncio.sleep(backoff.next())


async def _present(client: KubeClient, reference: ApplicationReference) -> JsonObject | None:
    try:
        found = await client.get(reference.resource, reference.name, reference.namespace)
    except NotFound:
        return None
    return found if found["metadata"]["uid"] == reference.uid else None
