"""Judge from the content of an application whether it has ended, and how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Progress, find_last_stop, with_driver_deleted, with_driver_status
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.pods import read_deletion_deadline
from ...core.states.reasons import DRIVER_FAILED
from ...core.states.states import ApplicationState
from ...core.verdict.driver_facts import add_driver_facts, has_more_facts
from ...core.verdict.unread_end import confirm_end
from ...core.verdict.verdict import Outcome, Verdict, judge_progress
from ...kube.client import KubeClient
from ...kube.errors import Forbidden
from ..access.events import list_stops
from ..access.pods import list_driver_pods
from ..access.reference import ApplicationReference


class EndUnknown(Forbidden):
    """The operator reports an end that it did not read from a driver, and the driver pods must not be read.

    Args:
        sentence: What the operator reports.
        cause: The refused request.
    """

    def __init__(self, sentence: str, cause: Forbidden) -> None:
        super().__init__(
            cause.status, cause.reason, cause.message, cause.verb, cause.resource, cause.namespace, cause.name
        )
        self._sentence = sentence

    def __str__(self) -> str:
        return f"{self._sentence} Missing permission: {super().__str__()}"


@dataclass(frozen=True)
class Ending:
    """How an application ended, judged from its last content."""

    verdict: Verdict
    progress: Progress
    resource: Mapping[str, Any]


def judge(resource: Mapping[str, Any]) -> Ending | None:
    """Judge from its status how the application ended.

    Return None while the application runs, or if only its driver pods show the end: see `judge_with_pods`.
    """
    return _judge(read_progress(resource), resource)


def _judge(seen: Progress, resource: Mapping[str, Any]) -> Ending | None:
    judged = judge_progress(seen)
    return None if judged.outcome in (Outcome.WAITING, Outcome.UNKNOWN) else Ending(judged, seen, resource)


def is_deleted(resource: Mapping[str, Any]) -> bool:
    """Return whether the application was deleted before it ended.

    Its later status is then an effect of the deletion. An application that succeeded, or failed before the second of
    its deletion, has finished by itself.
    """
    deleted = read_deletion_deadline(resource)
    if deleted is None:
        return False
    seen = read_progress(resource)
    stop = find_last_stop(seen.history)
    if stop is None or seen.restart_pending:
        return True
    return stop.meaning != ApplicationState.SUCCEEDED and (stop.time is None or stop.time >= deleted)


async def judge_with_pods(
    client: KubeClient, reference: ApplicationReference, resource: Mapping[str, Any], *, was_alive: bool = False
) -> Ending | None:
    """Judge how the application ended, with the facts that its status lacks: every surface that reads one application.

    If its operator did not read the end from a driver, the driver pods decide. If a driver may have failed because its
    pod was deleted, the pod and the kubelet's Events decide. Return None while the application runs.

    Args:
        client: The client of the cluster.
        reference: The application.
        resource: The content of the application.
        was_alive: Whether a driver was running before. If its pod no longer exists, the driver is lost.

    Raises:
        EndUnknown: The driver pods must not be read.
        KubeError: The driver pods could not be read.
    """
    seen = read_progress(resource)
    if seen.has_unread_end:
        try:
            drivers = await list_driver_pods(client, reference, seen.driver_name)
        except Forbidden as error:
            raise EndUnknown(judge_progress(seen).sentence, error) from error
        seen = confirm_end(seen, resource, drivers, was_alive=was_alive)
    if has_more_facts(seen):
        seen = add_driver_facts(seen, resource, *await _read_facts(client, reference, seen))
    return _judge(seen, resource)


async def _read_facts(
    client: KubeClient, reference: ApplicationReference, seen: Progress
) -> tuple[list[JsonObject], list[JsonObject]]:
    """Read the driver pods and the stops of drivers. Without the permission, the status alone counts."""
    try:
        drivers = await list_driver_pods(client, reference)
    except Forbidden:
        drivers = []
    return drivers, await list_stops(client, reference.namespace, seen.driver_name) if seen.driver_name else []


def judge_with_driver(
    ending: Ending,
    driver_status: Mapping[str, object] | None,
    *,
    driver_deleted: bool = False,
    warnings: Sequence[str] = (),
) -> Ending:
    """Judge an ending again with the status of the driver pod, for a resource whose own status has few details.

    Args:
        ending: The ending according to the status of the application.
        driver_status: The status of the driver pod. None if the pod does not exist.
        driver_deleted: Whether the driver pod was deleted while the driver ran.
        warnings: The latest warnings about the driver pod, `<reason>: <message>`, oldest first.
    """
    seen = ending.progress
    if driver_status is not None and seen.driver_kept:
        seen = with_driver_status(seen, driver_status)
    if driver_deleted and ending.verdict.reason == DRIVER_FAILED:
        seen = with_driver_deleted(seen)
    if seen is ending.progress and not warnings:
        return ending
    return Ending(judge_progress(seen, warnings), seen, ending.resource)
