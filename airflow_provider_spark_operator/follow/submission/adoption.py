"""Find the applications that earlier tries of a task submitted, and decide whether a new try can adopt them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Phase, Progress, find_last_stop
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ANNOTATION_RESULT_TAKEN_BY
from ...core.states.states import FAILURE
from ...core.verdict.verdict import Outcome, judge_progress
from ...kube.client import KubeClient
from ...kube.resources import SPARK_APPLICATIONS, ResourceType
from ..access.reference import ApplicationReference
from ..access.versions import choose_served_version
from ..ending.end import EndUnknown, find_final_progress_with_pods
from .stamp import TaskStamp, annotations_of


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
