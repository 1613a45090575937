"""Find the applications that earlier tries of a task submitted, and adopt or replace them."""

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Any

from ...core.compose.connect import is_connect_server
from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Phase, Progress, find_last_stop
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ANNOTATION_RESULT_TAKEN_BY
from ...core.parameters.arguments import IfExists
from ...core.states.states import FAILURE
from ...core.verdict.verdict import Outcome, judge_progress
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import NotFound
from ...kube.resources import SPARK_APPLICATIONS, SPARK_CLUSTERS, ResourceType
from ..access.outage_tolerance import OUTAGE_TOLERANCE_SECONDS
from ..access.pods import wait_until_gone
from ..access.reference import ApplicationReference, NameTaken
from ..access.requests import read_present, wait_until_deleted
from ..access.versions import choose_served_version
from ..ending.end import EndUnknown, find_final_progress_with_pods
from .stamp import TaskStamp, annotations_of, owner_of
from .stop import stop_gracefully

logger = logging.getLogger(__name__)

# A task usually records the result of its application within seconds.
_ACKNOWLEDGEMENT_SECONDS = 30.0


class AdoptionState(StrEnum):
    """The possible actions of a try on an application of its task."""

    LIVE = "live"
    """The application can still succeed."""
    SUCCEEDED = "succeeded"
    """The application succeeded, and no try has acknowledged the result."""
    FAILED = "failed"
    """The application failed or is about to fail, and no try has acknowledged the result."""
    ACKNOWLEDGED = "acknowledged"
    """The application ended, and a try has acknowledged the result."""
    TERMINATING = "terminating"
    """The deletion of the application was requested."""


def read_adoption_state(document: Mapping[str, Any]) -> AdoptionState:
    """Return what a try can do with an application of its task, according to its status.

    An application may be live if its operator reports an end that it did not read from a driver.
    """
    if document["metadata"].get("deletionTimestamp"):
        return AdoptionState.TERMINATING
    seen = read_progress(document)
    if seen.phase is not Phase.ENDED:
        is_failing = seen.phase is Phase.STOPPING and not seen.restart_pending and _has_failed(seen)
        return AdoptionState.FAILED if is_failing else AdoptionState.LIVE
    if annotations_of(document).get(ANNOTATION_RESULT_TAKEN_BY):
        return AdoptionState.ACKNOWLEDGED
    if seen.has_unread_end:
        return AdoptionState.LIVE
    return AdoptionState.SUCCEEDED if judge_progress(seen).outcome is Outcome.SUCCEEDED else AdoptionState.FAILED


async def confirm_adoption_state(
    client: KubeClient, resource: ResourceType, document: Mapping[str, Any]
) -> AdoptionState:
    """Return what a try can do with an application. If its operator did not read its end, the driver pods are read.

    An application whose driver pods must not be read counts as live: it is adopted, and nothing else is submitted.

    Raises:
        KubeError: The driver pods could not be read.
    """
    state = read_adoption_state(document)
    if state is not AdoptionState.LIVE or not read_progress(document).has_unread_end:
        return state
    try:
        seen = await find_final_progress_with_pods(client, ApplicationReference.of(document, resource), document)
    except EndUnknown:
        return AdoptionState.LIVE
    if seen is None:
        return AdoptionState.LIVE
    return AdoptionState.SUCCEEDED if judge_progress(seen).outcome is Outcome.SUCCEEDED else AdoptionState.FAILED


async def list_applications(
    client: KubeClient, resource: ResourceType, namespace: str, stamp: TaskStamp
) -> list[JsonObject]:
    """List the applications of the task, newest first.

    Raises:
        KubeError: The API rejected the request or could not be reached.
    """
    found = await client.list(resource, namespace, label_selector=stamp.selector)
    return sorted(found.items, key=_creation_key_of, reverse=True)


async def find_unreported_failure(
    client: KubeClient, stamp: TaskStamp, namespace: str | None = None, resource: ResourceType = SPARK_APPLICATIONS
) -> ApplicationReference | None:
    """Return the newest application of the task if it failed in an earlier try and no try has acknowledged the failure.

    Args:
        client: The client of the cluster.
        stamp: The current try.
        namespace: The namespace of the application. If None, the default namespace of the client is used.
        resource: The kind. If the cluster does not serve its version, another version is used.

    Raises:
        KubeError: The API rejected the request or could not be reached.
    """
    resource = await choose_served_version(client, resource)
    own = await list_applications(client, resource, namespace or client.default_namespace, stamp)
    if not own or stamp.is_try_of(own[0]) or stamp.was_cleared_since(own[0]):
        return None
    if await confirm_adoption_state(client, resource, own[0]) is not AdoptionState.FAILED:
        return None
    return ApplicationReference.of(own[0], resource)


def _has_failed(seen: Progress) -> bool:
    stop = find_last_stop(seen.history)
    return (stop.apache_state if stop else seen.state) in FAILURE


def _creation_key_of(document: JsonObject) -> tuple[str, str]:
    metadata = document["metadata"]
    return metadata.get("creationTimestamp", ""), metadata["name"]  # the name, so that ties are stable


def split_by_clear(
    resource: ResourceType, own: list[JsonObject], stamp: TaskStamp
) -> tuple[list[JsonObject], list[JsonObject]]:
    """Separate the applications that this try can adopt from those that were submitted before the task was cleared.

    A SparkCluster or a Spark Connect server that its task has already passed on to other tasks is kept. These tasks may
    use it, and are not cleared.
    """
    is_cluster = resource.kind == SPARK_CLUSTERS.kind

    def is_shared(item: JsonObject) -> bool:
        return (is_cluster or is_connect_server(item)) and _is_acknowledged(item)

    obsolete = [item for item in own if stamp.was_cleared_since(item) and not is_shared(item)]
    return [item for item in own if item not in obsolete], obsolete


async def delete_obsolete(
    client: KubeClient,
    resource: ResourceType,
    obsolete: list[JsonObject],
    seconds: float,
    stop_seconds: float | None = None,
) -> None:
    """Delete the applications that still run although their task was cleared, and wait until they are deleted.

    If `stop_seconds` is not None, ask their programs to end before, and wait for as long.

    Raises:
        DeletionStuck: An application still exists after `seconds`.
    """
    for item in obsolete:
        if await confirm_adoption_state(client, resource, item) in (AdoptionState.LIVE, AdoptionState.TERMINATING):
            reference = ApplicationReference.of(item, resource)
            if stop_seconds is not None:
                await stop_gracefully(client, reference, item, stop_seconds)
            await _remove(client, reference, "was submitted before the task was cleared", seconds)
            if stop_seconds is not None:
                await wait_until_gone(client, reference, seconds)


async def make_room(
    client: KubeClient, resource: ResourceType, own: list[JsonObject], name: str, seconds: float
) -> None:
    """Delete the old application of this task with the requested name, if it exists, and wait until it is deleted.

    Raises:
        DeletionStuck: The application still exists after `seconds`.
    """
    old = next((item for item in own if item["metadata"]["name"] == name), None)
    if old is not None:
        await _remove(
            client, ApplicationReference.of(old, resource), "was submitted by this task before and has ended", seconds
        )


async def free_name(
    client: KubeClient,
    resource: ResourceType,
    metadata: Mapping[str, Any],
    stamp: TaskStamp | None,
    if_exists: IfExists,
    seconds: float,
    stop_seconds: float | None = None,
) -> bool:
    """Delete an application that has the requested name and that no try of this task submitted, or fail.

    Args:
        client: The client of the cluster.
        resource: The kind.
        metadata: The metadata of the new application, with name and namespace.
        stamp: The try that submits the new application. None if no task submits it.
        if_exists: Whether to delete an application that another run of the same task submitted, if it has ended.
        seconds: How long to wait for the deletion.
        stop_seconds: How long a live application of another run of the same task may take to stop before it is deleted.
            If None, such an application is not deleted.

    Returns:
        Whether a live application was replaced.

    Raises:
        NameTaken: The application must not be deleted, or not yet.
        DeletionStuck: The application still exists after `seconds`.
    """
    try:
        present = await client.get(resource, metadata["name"], metadata["namespace"])
    except NotFound:  # it was deleted in between
        return False
    if stamp is not None and stamp.is_task_of(present):
        return False
    reference = ApplicationReference.of(present, resource)
    same_task = stamp is not None and stamp.is_another_run_of(present)
    adoption, seen = await confirm_adoption_state(client, resource, present), read_progress(present)
    leaving, is_cluster = adoption is AdoptionState.TERMINATING, resource.kind == SPARK_CLUSTERS.kind
    has_ended = seen.phase is Phase.ENDED and adoption is not AdoptionState.LIVE
    ended = leaving or has_ended or (is_cluster and seen.state in FAILURE)
    if same_task and not ended and stop_seconds is not None and if_exists is IfExists.REPLACE_ENDED:
        await stop_gracefully(client, reference, present, stop_seconds)
        with suppress(NameTaken):  # the task of that run may not wait any more
            await _await_acknowledgement(client, await read_present(client, reference) or present, reference)
        await _remove(client, reference, f"was submitted by {owner_of(present)} and is replaced", seconds)
        await wait_until_gone(client, reference, seconds)  # two drivers must not write to one checkpoint
        return True
    if not (same_task and ended and if_exists is IfExists.REPLACE_ENDED):
        state = "is being deleted" if leaving else f"is in state {seen.state}"
        raise NameTaken(reference, owner_of(present), state, _build_advice(if_exists, same_task=same_task, ended=ended))
    if not leaving and not is_cluster:
        await _await_acknowledgement(client, present, reference)
    await _remove(client, reference, f"was submitted by {owner_of(present)} and has ended", seconds)
    return False


def _build_advice(if_exists: IfExists, *, same_task: bool, ended: bool) -> str:
    if not same_task:
        return "Choose another name, or delete the application"
    if ended and if_exists is IfExists.FAIL:
        return f"Delete the application, or set if_exists={IfExists.REPLACE_ENDED.value!r}"
    return (
        "Wait until it ends (max_active_runs=1 avoids this), or delete it if the task of that run has failed. "
        "If you omit the name, each run gets its own name"
    )


async def _await_acknowledgement(client: KubeClient, present: JsonObject, reference: ApplicationReference) -> None:
    """Wait until the task of an ended application has recorded the result.

    After a deletion, the task could not read the result. A task that was interrupted, for example by an outage of the
    triggerer, may still read the result for as long as outages are tolerated.

    Raises:
        NameTaken: The task has not recorded the result and may still do so.
    """
    if _is_acknowledged(present):
        return
    limit = f"{OUTAGE_TOLERANCE_SECONDS / 60:.0f} min"
    if not is_result_pending(present, client.get_time()):
        logger.warning(
            "%s of an earlier run ended, but that run did not record the result within %s; replacing the application",
            reference,
            limit,
        )
        return
    logger.info(
        "%s of an earlier run ended, but the task of that run has not recorded the result yet; waiting for up to "
        "%.0f s",
        reference,
        _ACKNOWLEDGEMENT_SECONDS,
    )
    deadline, backoff = time.monotonic() + _ACKNOWLEDGEMENT_SECONDS, Backoff(first=0.2, longest=5.0)
    while (now := await read_present(client, reference)) is not None and not _is_acknowledged(now):
        if time.monotonic() >= deadline:
            ended = f"ended in state {read_progress(now).state}"
            state = f"{ended}, but the task of that run has not recorded the result yet"
            advice = (
                "Try again later: the name becomes free when the task has recorded the result, "
                f"or {limit} after the end"
            )
            raise NameTaken(reference, owner_of(now), state, advice)
        await asyncio.sleep(backoff.next())


def is_result_pending(document: JsonObject, now: datetime) -> bool:
    """Return whether the task of an ended application has not recorded the result, and may still do so."""
    return not _is_acknowledged(document) and _seconds_since_end(document, now) < OUTAGE_TOLERANCE_SECONDS


def _is_acknowledged(document: JsonObject) -> bool:
    return bool(annotations_of(document).get(ANNOTATION_RESULT_TAKEN_BY))


def _seconds_since_end(document: JsonObject, now: datetime) -> float:
    end = read_progress(document).since or datetime.fromisoformat(document["metadata"]["creationTimestamp"])
    return (now - end).total_seconds()


async def _remove(client: KubeClient, reference: ApplicationReference, why: str, seconds: float) -> None:
    """Delete exactly this application and wait until it is deleted.

    Raises:
        DeletionStuck: The application still exists after `seconds`.
    """
    now = await read_present(client, reference)  # it may have been deleted since it was listed
    if now is not None and read_adoption_state(now) is not AdoptionState.TERMINATING:
        logger.info("%s %s; deleting it before submitting a new one", reference, why)
        with suppress(NotFound):
            await client.delete(reference.resource, reference.name, reference.namespace, uid=reference.uid)
    await wait_until_deleted(client, reference, seconds)
