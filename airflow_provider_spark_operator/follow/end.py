"""Judge from the content of an application whether it has ended, and how."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.dialects.progress import (
    Phase,
    Progress,
    find_last_stop,
    with_driver_deleted,
    with_driver_end,
    with_driver_lost,
    with_driver_status,
)
from airflow_provider_spark_operator.core.pods import get_status, read_deletion_deadline
from airflow_provider_spark_operator.core.reasons import DRIVER_FAILED
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.verdict import Outcome, Verdict, judge_progress
from airflow_provider_spark_operator.follow.pods import has_ended, read_driver_pod
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.client import KubeClient


@dataclass(frozen=True)
class Ending:
    """How an application ended, judged from its last content."""

    verdict: Verdict
    progress: Progress
    resource: Mapping[str, Any]


def judge(resource: Mapping[str, Any]) -> Ending | None:
    """Judge from its status how the application ended.

    Return None while the application runs, or if only its driver pod shows the end.
    """
    seen = read_progress(resource)
    judged = judge_progress(seen)
    return None if judged.outcome is Outcome.WAITING else Ending(judged, seen, resource)


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
    if stop is None or seen.restart_pending or seen.driver_abandoned:
        return True
    return stop.meaning != ApplicationState.SUCCEEDED and (stop.time is None or stop.time >= deleted)


async def judge_abandoned(
    client: KubeClient, reference: ApplicationReference, resource: Mapping[str, Any], *, was_alive: bool = False
) -> Ending | None:
    """Judge an application that its operator has given up although a driver may still run.

    Return None while the driver runs.

    Args:
        client: The client of the cluster.
        reference: The application.
        resource: The content of the application.
        was_alive: Whether the driver was running before. If its pod no longer exists, the driver is lost.

    Raises:
        KubeError: The driver pod could not be read.
    """
    seen = read_progress(resource)
    if not seen.driver_abandoned:
        return None
    pod = await read_driver_pod(client, reference)
    if pod is None or not _is_as_young(pod, resource):  # the pod belongs to an earlier application with this name
        seen = with_driver_lost(seen) if was_alive else replace(seen, phase=Phase.ENDED)
        return Ending(judge_progress(seen), seen, resource)
    if not has_ended(pod):
        return None
    seen = with_driver_end(seen, get_status(pod))
    return Ending(judge_progress(seen), seen, resource)


def judge_with_driver(
    ending: Ending, driver_status: Mapping[str, object] | None, *, driver_deleted: bool = False
) -> Ending:
    """Judge an ending again with the status of the driver pod, for a resource whose own status has few details.

    Args:
        ending: The ending according to the status of the application.
        driver_status: The status of the driver pod. None if the pod does not exist.
        driver_deleted: Whether the driver pod was deleted while the driver ran.
    """
    seen = ending.progress
    if driver_status is not None and seen.driver_kept:
        seen = with_driver_status(seen, driver_status)
    if driver_deleted and ending.verdict.reason == DRIVER_FAILED:
        seen = with_driver_deleted(seen)
    return ending if seen is ending.progress else Ending(judge_progress(seen), seen, ending.resource)


def _is_as_young(pod: Mapping[str, Any], resource: Mapping[str, Any]) -> bool:
    created = [str(one["metadata"].get("creationTimestamp", "")) for one in (pod, resource)]
    return created[0] >= created[1]
