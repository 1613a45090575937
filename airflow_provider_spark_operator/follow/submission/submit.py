"""Submit an application exactly once, whatever happened to earlier tries."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ...core.dialects.dialect import dialect_of, read_progress
from ...core.dialects.progress import find_last_stop
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ANNOTATION_RESULT_TAKEN_BY, ANNOTATION_TTL_AFTER_SUCCESS
from ...core.kubernetes.problems import join_first
from ...core.parameters.arguments import DEFAULT_TTL_SECONDS, IfExists
from ...core.states.states import STILL_RUNNABLE, ApplicationState
from ...core.verdict.verdict import Outcome, judge_progress
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import TRANSIENT, AlreadyExists, Conflict, KubeError, NotFound
from ...kube.resources import ResourceType
from ..access.reference import ApplicationReference
from ..access.requests import amend, annotate
from . import adoption
from .prepare import find_dropped_fields, prepare_document, set_served_version
from .stamp import TaskStamp, annotations_of

__all__ = ["Submission", "TaskStamp", "acknowledge", "check_submission", "submit", "warn_about"]

logger = logging.getLogger(__name__)

Guard: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""Surrounds the request that creates an application, and raises if the application must not be created any more."""

DELETION_SECONDS = 300.0
# Each round succeeds or learns what prevents the submission. More rounds mean that another client interferes.
_ROUNDS = 5
_MAX_FIELDS = 5
# Within this time, a triggerer restarts and a lost worker is replaced.
SHORTEST_TTL_SECONDS = 60.0
_KEPT = ApplicationState.TERMINATED_WITHOUT_RELEASE_RESOURCES


@dataclass(frozen=True)
class Submission:
    """The application to follow.

    Attributes:
        reference: The application.
        adopted: Whether an earlier try of this task submitted the application, or this try before it was
            interrupted.
        resource: The content of the application as the API returned it.
        others: The names of other live applications of the same task. They should not exist.
        replaces: Whether the application replaces a live one of another run of the task.
    """

    reference: ApplicationReference
    adopted: bool
    resource: JsonObject
    others: tuple[str, ...] = ()
    replaces: bool = False

    @property
    def sentence(self) -> str:
        """The sentence for the log that says what the submission did."""
        done = "adopted from an earlier try" if self.adopted else "submitted"
        return f"{self.reference} was {done} (uid {self.reference.uid})"


async def submit(
    client: KubeClient,
    document: Mapping[str, Any],
    namespace: str | None = None,
    stamp: TaskStamp | None = None,
    *,
    if_exists: IfExists = IfExists.REPLACE_ENDED,
    deletion_seconds: float = DELETION_SECONDS,
    stop_seconds: float | None = None,
    guard: Guard = nullcontext,
) -> Submission:
    """Create the application, or adopt the application that an earlier try of the same task submitted.

    A live application is adopted, and so is an application that succeeded while no try was running. Its stamp is
    replaced by the stamp of this try. If the application was submitted before the task was cleared, it is deleted
    instead.

    A failed application is adopted only if this try submitted it, for example before its triggerer restarted. If an
    earlier try submitted it, or if a try has acknowledged the result (`acknowledge`), a new application is created.
    If the old application has the requested name, it is deleted first.

    Applications of other tasks are never changed. A finished application of another run of the same task is deleted
    according to `if_exists`.

    Args:
        client: The client of the cluster.
        document: A SparkApplication of any dialect and version, or a SparkCluster. A running SparkCluster counts as
            live. A document without a name gets the default name of the stamp.
        namespace: The namespace. If None, the namespace of the document or the default namespace of the client is
            used.
        stamp: The try that submits. If None, the application is created without an owner and nothing is adopted.
        if_exists: What to do if another run of the same task submitted an application with the requested name.
        deletion_seconds: How long to wait for the deletion of an old application.
        stop_seconds: How long the program of an old live application of the task may take to stop before it is deleted.
            If None, an application of another run is not replaced while it lives.
        guard: Surrounds each request that creates the application. If it raises before, nothing is created.

    Raises:
        InvalidResource: The document is not valid. Nothing was sent.
        NameTaken: The name belongs to an application that must not be replaced.
        DeletionStuck: The old application still exists after `deletion_seconds`.
        KindNotServed: The cluster does not serve the kind in a version with the same fields.
        KubeError: The API rejected the request or could not be reached.
    """
    body = prepare_document(client, document, namespace, stamp)
    if stamp is None:
        return await _create_unowned(client, await set_served_version(client, body), body)
    return await _submit_repeatedly(client, body, stamp, if_exists, deletion_seconds, stop_seconds, guard)


async def check_submission(client: KubeClient, document: Mapping[str, Any], namespace: str | None = None) -> JsonObject:
    """Let the API server check an application that no task owns, and create nothing.

    Returns:
        The manifest that `submit` would send.

    Raises:
        InvalidResource: The document is not valid. Nothing was sent.
        NameTaken: Another application has the name.
        KubeError: The API rejected the request or could not be reached.
    """
    body = prepare_document(client, document, namespace, None)
    resource = await set_served_version(client, body)
    try:
        stored = await client.create(resource, body, body["metadata"]["namespace"], dry_run=True)
    except AlreadyExists:
        await adoption.free_name(client, resource, body["metadata"], None, IfExists.FAIL, 0.0)
        raise
    warn_about(ApplicationReference.of(stored, resource), body, stored)
    return body


async def _submit_repeatedly(
    client: KubeClient,
    body: JsonObject,
    stamp: TaskStamp,
    if_exists: IfExists,
    deletion_seconds: float,
    stop_seconds: float | None,
    guard: Guard,
) -> Submission:
    """Submit until no conflict, occupied name or outage prevents it, at most `_ROUNDS` times.

    Raises:
        NameTaken: The name belongs to an application that must not be replaced.
        KubeError: The last round failed.
    """
    problem: KubeError | None = None
    backoff, replaces = Backoff(), False
    for _ in range(_ROUNDS):
        try:
            resource = await set_served_version(client, body)
            made = await _submit_once(client, resource, body, stamp, deletion_seconds, stop_seconds, guard)
            return replace(made, replaces=replaces)
        except AlreadyExists as error:
            where = (client, resource, body["metadata"])
            replaces |= await adoption.free_name(*where, stamp, if_exists, deletion_seconds, stop_seconds)
            problem = error
        except (Conflict, *TRANSIENT) as error:
            # If the application to adopt changed, or this try deleted its own one, the next round adopts. If the
            # answer to a creation was lost, the application may exist. The next list finds it by its stamp, so it is
            # not created twice.
            problem = error
            await asyncio.sleep(backoff.next())
    assert problem is not None  # noqa: S101 - every round that does not return sets it
    raise problem


async def _submit_once(
    client: KubeClient,
    resource: ResourceType,
    body: JsonObject,
    stamp: TaskStamp,
    deletion_seconds: float,
    stop_seconds: float | None,
    guard: Guard,
) -> Submission:
    """Adopt an application of this task, or create one.

    Raises:
        AlreadyExists: The name belongs to an application that this task did not submit in this run.
        DeletionStuck: An old application still exists after `deletion_seconds`.
        KubeError: The API rejected the request or could not be reached.
    """
    own = await adoption.list_applications(client, resource, body["metadata"]["namespace"], stamp)
    own, obsolete = adoption.split_by_clear(resource, own, stamp)
    await adoption.delete_obsolete(client, resource, obsolete, deletion_seconds, stop_seconds)
    adopted = await _adopt(client, resource, own, stamp)
    if adopted is not None:
        return adopted
    await adoption.make_room(client, resource, own + obsolete, body["metadata"]["name"], deletion_seconds)
    async with guard():
        made = await _create(client, resource, body)
    await _give_way(client, made, stamp)
    return made


async def acknowledge(client: KubeClient, reference: ApplicationReference, stamp: TaskStamp) -> bool:
    """Record on a finished application that a try of its task has read the result.

    If the application succeeded, its default time to live is shortened.

    Without this record, a cleared task would adopt the old success, and the next try would report the old failure
    again.

    Returns:
        Whether the result was recorded. False if the application no longer exists.

    Raises:
        KubeError: The API rejected the request or could not be reached.
    """
    try:
        stored = await annotate(client, reference, {ANNOTATION_RESULT_TAKEN_BY: stamp.task_instance_id})
    except (NotFound, Conflict):  # deleted or replaced: no try can adopt it any more
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
        logger.warning(
            "could not shorten the time to live of %s, so it is kept longer than necessary: %s", reference, error
        )


async def _adopt(
    client: KubeClient, resource: ResourceType, own: list[JsonObject], stamp: TaskStamp
) -> Submission | None:
    """Adopt the newest live application, else the newest that succeeded, else a failed one of this try."""
    states = [(await adoption.confirm_adoption_state(client, resource, item), item) for item in own]
    live = [item for state, item in states if state is adoption.AdoptionState.LIVE]
    succeeded = [item for state, item in states if state is adoption.AdoptionState.SUCCEEDED]
    failed = [item for state, item in states if state is adoption.AdoptionState.FAILED and stamp.is_try_of(item)]
    candidates = live or succeeded or failed
    for chosen in candidates:
        taken = await _take_over(client, resource, chosen, stamp)
        if taken is not None:
            reference = ApplicationReference.of(taken, resource)
            others = tuple(item["metadata"]["name"] for item in live if item is not chosen)
            if others:
                names = ", ".join(others)
                logger.warning("adopted %s, but other applications of this task have not ended: %s", reference, names)
            return Submission(reference, adopted=True, resource=taken, others=others)
    return None


async def _take_over(
    client: KubeClient, resource: ResourceType, chosen: JsonObject, stamp: TaskStamp
) -> JsonObject | None:
    """Make this try the owner of the application. Return None if the application is deleted or being deleted.

    A try that was overtaken by a later one follows the application but does not become its owner.
    """
    if stamp.is_try_of(chosen) or stamp.is_earlier_than_owner_of(chosen):
        return chosen
    try:
        taken = await annotate(client, ApplicationReference.of(chosen, resource), stamp.build_try_annotations())
    except NotFound:
        return None
    # The previous try may have requested the deletion since the list. A finalizer then keeps the application, and the
    # patch succeeds.
    return None if adoption.read_adoption_state(taken) is adoption.AdoptionState.TERMINATING else taken


async def _create(client: KubeClient, resource: ResourceType, body: JsonObject) -> Submission:
    created = await client.create(resource, body, body["metadata"]["namespace"])
    reference = ApplicationReference.of(created, resource)
    warn_about(reference, body, created)
    return Submission(reference, adopted=False, resource=created)


def warn_about(reference: ApplicationReference, body: JsonObject, stored: JsonObject) -> None:
    """Log what the user may not expect of an application that the API server accepted.

    Args:
        reference: The application, or the one that it is to replace.
        body: The manifest.
        stored: The application as the API server returned it; the manifest if it was not returned.
    """
    if dropped := find_dropped_fields(body, stored):
        logger.warning(
            "%s was stored without %s, which this cluster's CustomResourceDefinition does not define",
            reference,
            join_first(dropped, _MAX_FIELDS),
        )
    kept = read_ttl_seconds(stored)
    if kept is not None and kept < SHORTEST_TTL_SECONDS:
        logger.warning(
            "%s is deleted %g s after it ends. A task that reads the result later, for example after a restart "
            "of the triggerer, fails. Set a time to live of at least %.0f s",
            reference,
            kept,
            SHORTEST_TTL_SECONDS,
        )


async def _give_way(client: KubeClient, made: Submission, stamp: TaskStamp) -> None:
    """Delete the created application if another try has a live one: Airflow may consider a slow worker lost.

    Each try lists after its creation, so the later try finds the earlier application. If both were created in the
    same second, both tries may delete their application.

    Raises:
        Conflict: The created application was deleted, and the other application can be adopted.
    """
    reference, since = made.reference, made.resource["metadata"]["creationTimestamp"]
    own = await adoption.list_applications(client, reference.resource, reference.namespace, stamp)
    others = [item for item in own if item["metadata"]["uid"] != reference.uid]
    earlier = [
        item["metadata"]["name"]
        for item in others
        if item["metadata"]["creationTimestamp"] <= since
        and await adoption.confirm_adoption_state(client, reference.resource, item) is adoption.AdoptionState.LIVE
    ]
    if not earlier:
        return
    why = f"another try of this task submitted {earlier[0]} at the same time"
    logger.warning("deleting %s: %s", reference, why)
    with suppress(NotFound):
        await client.delete(reference.resource, reference.name, reference.namespace, uid=reference.uid)
    kind = reference.resource.qualified_name
    raise Conflict(409, "Conflict", why, "create", kind, reference.namespace, reference.name)


async def _create_unowned(client: KubeClient, resource: ResourceType, body: JsonObject) -> Submission:
    try:
        return await _create(client, resource, body)
    except AlreadyExists:
        await adoption.free_name(client, resource, body["metadata"], None, IfExists.FAIL, 0.0)
        raise


def read_ttl_seconds(document: Mapping[str, Any]) -> float | None:
    """Return the seconds after which the operator deletes a finished application. None if the operator keeps it."""
    return dialect_of(document.get("apiVersion")).read_ttl(document)


def build_ttl_patch(document: Mapping[str, Any]) -> JsonObject | None:
    """Return the patch that shortens the time to live after a success. None if there is nothing to shorten.

    If the Apache operator keeps a driver that has not ended, the patch ends this: the driver could still run. Only the
    default time to live is shortened, to the seconds in an annotation. A time that a user has set in the
    meantime is kept.

    Args:
        document: The stored application.
    """
    seen = read_progress(document)
    stop = find_last_stop(seen.history)
    if stop and stop.apache_state in STILL_RUNNABLE and seen.state == _KEPT:
        return {"spec": {"applicationTolerations": {"resourceRetainDurationMillis": 0}}}
    wanted = annotations_of(document).get(ANNOTATION_TTL_AFTER_SUCCESS, "")
    if not wanted.isdecimal() or read_ttl_seconds(document) != DEFAULT_TTL_SECONDS:
        return None
    if judge_progress(seen).outcome is not Outcome.SUCCEEDED:
        return None
    patch = dialect_of(document.get("apiVersion")).patch_ttl(int(wanted))
    return patch and {"metadata": {"annotations": {ANNOTATION_TTL_AFTER_SUCCESS: None}}, **patch}
