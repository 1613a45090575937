"""Judge from the content of an application whether it has ended, and how."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Progress, find_last_stop, with_driver_deleted, with_driver_status
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.pods import read_deletion_deadline
from ...core.states.reasons import DRIVER_FAILED
from ...core.states.states import ApplicationState
from ...core.verdict.driver_facts import add_driver_facts, confirm_end, has_more_facts
from ...core.verdict.driver_reports import blame_checks, blame_refusal
from ...core.verdict.verdict import Outcome, Verdict, judge_progress
from ...kube.client import KubeClient
from ...kube.errors import Forbidden
from ..access.events import list_stops
from ..access.pods import list_driver_pods
from ..access.reference import ApplicationReference
from .evidence import Evidence
from .executor_ends import ExecutorEnd


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


def find_final_progress(resource: Mapping[str, Any]) -> Progress | None:
    """Return the progress of an application that has ended according to its status.

    Return None while the application runs, or if only its driver pods show the end.
    """
    return select_final(read_progress(resource))


def select_final(seen: Progress) -> Progress | None:
    """Return the progress if it shows that the application has ended, otherwise None. See `find_final_progress`."""
    return seen if judge_progress(seen).outcome in (Outcome.SUCCEEDED, Outcome.FAILED) else None


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
    return stop.apache_state != ApplicationState.SUCCEEDED and (stop.time is None or stop.time >= deleted)


async def find_final_progress_with_pods(
    client: KubeClient, reference: ApplicationReference, resource: Mapping[str, Any], *, was_alive: bool = False
) -> Progress | None:
    """Return the progress of an application that has ended, with the facts that its status lacks.

    Every surface that reads one application uses this function.

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
    return select_final(seen)


async def _read_facts(
    client: KubeClient, reference: ApplicationReference, seen: Progress
) -> tuple[list[JsonObject], list[JsonObject]]:
    """Read the driver pods and the stops of drivers. Without the permission, the status alone counts."""
    try:
        drivers = await list_driver_pods(client, reference)
    except Forbidden:
        drivers = []
    return drivers, await list_stops(client, reference.namespace, seen.driver_name) if seen.driver_name else []


def judge_end(seen: Progress, evidence: Evidence, executors: Iterable[ExecutorEnd] = ()) -> Verdict:
    """Judge how an application ended, also by what the cluster still knows about its pods.

    Args:
        seen: The progress of the application, which has ended.
        evidence: The evidence about the end of the driver.
        executors: The failed executors of the last attempt.
    """
    is_deleted_driver = evidence.driver_deleted and judge_progress(seen).reason == DRIVER_FAILED
    if evidence.driver_status is not None and seen.driver_kept:
        seen = with_driver_status(seen, evidence.driver_status)
    if is_deleted_driver:
        seen = with_driver_deleted(seen)
    verdict = judge_progress(seen, evidence.events)
    verdict = blame_refusal(verdict, evidence.cause, evidence.refusal, seen.settings)
    verdict = blame_checks(verdict, evidence.report.failed)
    if verdict.outcome is Outcome.FAILED and any(one.out_of_memory for one in executors):
        verdict = replace(verdict, out_of_memory=(*verdict.out_of_memory, "executor"))
    return verdict
