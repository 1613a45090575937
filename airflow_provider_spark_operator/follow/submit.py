"""Bring an application into being exactly once, whatever became of earlier tries."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from airflow_provider_spark_operator.core.names import ANNOTATION_RESULT_TAKEN_BY
from airflow_provider_spark_operator.follow.adoption import AdoptionState, list_applications, read_adoption_state
from airflow_provider_spark_operator.follow.prepare import (
    find_dropped_fields,
    join_names,
    prepare_document,
    set_served_version,
)
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.replace import (
    IfExists,
    delete_obsolete,
    free_name,
    make_room,
    split_by_clear,
)
from airflow_provider_spark_operator.follow.requests import amend, annotate
from airflow_provider_spark_operator.follow.retention import SHORTEST_TTL_SECONDS, build_ttl_patch, read_ttl_seconds
from airflow_provider_spark_operator.follow.stamp import TaskStamp
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import PASSING, AlreadyExists, Conflict, KubeError, NotFound
from airflow_provider_spark_operator.kube.resources import ResourceType
from airflow_provider_spark_operator.kube.transport import JsonObject

__all__ = ["IfExists", "Submission", "TaskStamp", "acknowledge", "submit"]

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
    if_exists: IfExists = IfExists.REPLACE_ENDED,
    deletion_seconds: float = DELETION_SECONDS,
) -> Submission:
    """Create the application, or adopt the one that an earlier try of the same task left.

    A live one is adopted, and so is one that has succeeded while nobody watched; its stamp becomes this
    try's. One that was submitted before the task was cleared is deleted instead, and waited for.
    One that failed is this try's only if this try has submitted it: a triggerer that takes over begins anew.
    Where an earlier try's failed, or a try has taken note of the end (`acknowledge`), a new one is created, after
    the old one is deleted if it has the wanted name. Applications of others are never touched, but for those of other
    runs of the same task that have ended: see `if_exists`.

    Args:
        client: For the cluster.
        document: A SparkApplication of any dialect, in any version, or a SparkCluster, of which one that runs counts
            as live. Without a name it gets the stamp's default name.
        namespace: Where; None for the document's own, else the client's default.
        stamp: Whose it is. None for nobody's: it is created, never adopted.
        if_exists: What to do if another run of the same task has submitted one of that name.
        deletion_seconds: How long to wait for the deletion of an old one.

    Raises:
        InvalidResource: The document is no valid application; nothing was sent.
        NameTaken: The name belongs to an application that must not be replaced.
        DeletionStuck: The old one does not go away.
        KindNotServed: The cluster serves no SparkApplication in a version with the same fields.
        KubeError: The API refused, or could not be reached.
    """
    body = prepare_document(client, document, namespace, stamp)
    if stamp is None:
        return await _create_unowned(client, await set_served_version(client, body), body)
    return await _submit_repeatedly(client, body, stamp, if_exists, deletion_seconds)


async def _submit_repeatedly(
    client: KubeClient, body: JsonObject, stamp: TaskStamp, if_exists: IfExists, deletion_seconds: float
) -> Submission:
    """Submit until no conflict, occupied name or outage prevents it, at most `_ROUNDS` times.

    Raises:
        NameTaken: The name belongs to an application that must not be replaced.
        KubeError: The last round failed.
    """
    problem: KubeError | None = None
    backoff = Backoff()
    for _ in range(_ROUNDS):
        try:
            resource = await set_served_version(client, body)
            return await _submit_once(client, resource, body, stamp, deletion_seconds)
        except AlreadyExists as error:
            await free_name(client, resource, body["metadata"], stamp, if_exists, deletion_seconds)
            problem = error
        except (Conflict, *PASSING) as error:
            # Adopting: it changed meanwhile. Giving way: the next round adopts. Creating: it may exist none the less,
            # and the next list shows it with our stamp. So a lost answer does not become a second application.
            problem = error
            await asyncio.sleep(backoff.next())
    assert problem is not None  # noqa: S101 - every round that does not return sets it
    raise problem


async def _submit_once(
    client: KubeClient, resource: ResourceType, body: JsonObject, stamp: TaskStamp, deletion_seconds: float
) -> Submission:
    """Adopt an application of this task, or create one.

    Raises:
        AlreadyExists: The name is used by an application of others.
        DeletionStuck: An old application is still there after `deletion_seconds`.
        KubeError: The API refused, or could not be reached.
    """
    own = await list_applications(client, resource, body["metadata"]["namespace"], stamp)
    own, obsolete = split_by_clear(resource, own, stamp)
    await delete_obsolete(client, resource, obsolete, deletion_seconds)
    adopted = await _adopt(client, resource, own, stamp)
    if adopted is not None:
        return adopted
    await make_room(client, resource, own + obsolete, body["metadata"]["name"], deletion_seconds)
    made = await _create(client, resource, body)
    await _give_way(client, made, stamp)
    return made


async def acknowledge(client: KubeClient, reference: ApplicationReference, stamp: TaskStamp) -> bool:
    """Note on an application that a try of its task has taken note of the end; False if that was not possible.

    The default time to live of an application that has succeeded is shortened.

    Without the note, a task that is cleared to run again would adopt an old success, and the next try would take a
    failure for one that no try has told.

    Raises:
        KubeError: The API refused, or could not be reached.
    """
    try:
        stored = await annotate(client, reference, {ANNOTATION_RESULT_TAKEN_BY: stamp.task_instance_id})
    except (NotFound, Conflict):  # gone, or replaced: nobody can adopt it any more
        return False
    await _shorten_life(client, reference, stored)
    return True


async def _shorten_life(client: KubeClient, reference: ApplicationReference, stored: JsonObject) -> None:
    change = build_ttl_patch(stored)
    if change is None:
        return
    try:
        await amend(client, reference, change)
    except KubeError as error:
        logger.warning("could not shorten the time to live of %s: %s; it is deleted later", reference, error)


async def _adopt(
    client: KubeClient, resource: ResourceType, own: list[JsonObject], stamp: TaskStamp
) -> Submission | None:
    """Take over the newest live application, else the newest that succeeded, else this try's own; None if none is."""
    live = [item for item in own if read_adoption_state(item) is AdoptionState.LIVE]
    succeeded = [item for item in own if read_adoption_state(item) is AdoptionState.SUCCEEDED]
    failed = [item for item in own if read_adoption_state(item) is AdoptionState.FAILED and stamp.is_try_of(item)]
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
    """Make this try the application's owner; None where it is gone or going, as nobody can stop a deletion.

    A try that a later one has overtaken follows the application, and leaves its ownership alone.
    """
    if stamp.is_try_of(chosen) or stamp.is_earlier_than_owner_of(chosen):
        return chosen
    try:
        taken = await annotate(client, ApplicationReference.of(chosen, resource), stamp.build_try_annotations())
    except NotFound:
        return None
    # The previous try may have deleted it since it was listed; finalizers keep it there, open to our patch.
    return None if read_adoption_state(taken) is AdoptionState.TERMINATING else taken


async def _create(client: KubeClient, resource: ResourceType, body: JsonObject) -> Submission:
    created = await client.create(resource, body, body["metadata"]["namespace"])
    reference = ApplicationReference.of(created, resource)
    if dropped := find_dropped_fields(body, created):
        logger.warning("%s is without %s: this cluster's definition has no such field", reference, join_names(dropped))
    kept = read_ttl_seconds(created)
    if kept is not None and kept < SHORTEST_TTL_SECONDS:
        logger.warning(
            "%s is deleted %g s after its end, as its specification has it: who looks later, such as a triggerer "
            "that was restarted, cannot tell how it ended; leave it %.0f s at least",
            reference,
            kept,
            SHORTEST_TTL_SECONDS,
        )
    return Submission(reference, adopted=False, resource=created)


async def _give_way(client: KubeClient, made: Submission, stamp: TaskStamp) -> None:
    """Delete what was just created if another try has a live one: Airflow may take a worker for lost that is only slow.

    Each looks after it has created, so that the later one sees the other; of the same second, both may give way.

    Raises:
        Conflict: It is deleted, and the other one can be taken over.
    """
    reference, since = made.reference, made.resource["metadata"]["creationTimestamp"]
    own = await list_applications(client, reference.resource, reference.namespace, stamp)
    live = [item["metadata"] for item in own if read_adoption_state(item) is AdoptionState.LIVE]
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
        await free_name(client, resource, body["metadata"], None, IfExists.FAIL, 0.0)
        raise
