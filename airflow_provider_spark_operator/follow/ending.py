"""Judge from its content whether, and how, an application has ended."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_spark_operator.core.dialects.dialect import progress
from airflow_provider_spark_operator.core.dialects.progress import (
    Phase,
    Progress,
    last_stop,
    with_driver_deleted,
    with_driver_end,
    with_driver_lost,
    with_driver_status,
)
from airflow_provider_spark_operator.core.pods import deletion_ends, status_of
from airflow_provider_spark_operator.core.reasons import DRIVER_FAILED
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.verdict import Outcome, Verdict, verdict
from airflow_provider_spark_operator.follow.pods import has_ended, read_driver_pod
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.client import KubeClient


@dataclass(frozen=True)
class Ending:
    """How an application ended, as judged from its last content."""

    verdict: Verdict
    progress: Progress
    resource: Mapping[str, Any]


def judge(resource: Mapping[str, Any]) -> Ending | None:
    """The ending that the application's status shows; None as long as it goes on, or if only its driver pod tells."""
    seen = progress(resource)
    judged = verdict(seen)
    return None if judged.outcome is Outcome.WAITING else Ending(judged, seen, resource)


def is_deleted(resource: Mapping[str, Any]) -> bool:
    """Whether the application was deleted before it ended; what its status shows since then is an effect of that.

    An application that succeeded, or that failed before the second of its deletion, has ended by itself.
    """
    deleted = deletion_ends(resource)
    if deleted is None:
        return False
    seen = progress(resource)
    stop = last_stop(seen.history)
    if stop is None or seen.restart_pending or seen.driver_abandoned:
        return True
    return stop.meaning != ApplicationState.SUCCEEDED and (stop.time is None or stop.time >= deleted)


async def judge_abandoned(
    client: KubeClient, reference: ApplicationReference, resource: Mapping[str, Any], *, was_alive: bool = False
) -> Ending | None:
    """The ending of an application whose operator has given up while a driver may still run; None as long as it runs.

    Args:
        client: The client for the cluster.
        reference: The application.
        resource: Its content.
        was_alive: The driver was seen alive before. If its pod no longer exists, the driver is lost.

    Raises:
        KubeError: The driver pod cannot be read.
    """
    seen = progress(resource)
    if not seen.driver_abandoned:
        return None
    pod = await read_driver_pod(client, reference)
    if pod is None or not _is_as_young(pod, resource):  # a driver of an earlier application of this name
        seen = with_driver_lost(seen) if was_alive else replace(seen, phase=Phase.ENDED)
        return Ending(verdict(seen), seen, resource)
    if not has_ended(pod):
        return None
    seen = with_driver_end(seen, status_of(pod))
    return Ending(verdict(seen), seen, resource)


def judge_with_driver(
    ending: Ending, driver_status: Mapping[str, object] | None, *, driver_deleted: bool = False
) -> Ending:
    """Judge an ending again with the status of the driver pod, for a resource whose own status says little.

    Args:
        ending: The ending that the application's status shows.
        driver_status: The status of the driver pod; None if it does not exist.
        driver_deleted: The driver pod was deleted while the driver ran.
    """
    seen = ending.progress
    if driver_status is not None and seen.driver_kept:
        seen = with_driver_status(seen, driver_status)
    if driver_deleted and ending.verdict.reason == DRIVER_FAILED:
        seen = with_driver_deleted(seen)
    return ending if seen is ending.progress else Ending(verdict(seen), seen, ending.resource)


def _is_as_young(pod: Mapping[str, Any], resource: Mapping[str, Any]) -> bool:
    created = [str(one["metadata"].get("creationTimestamp", "")) for one in (pod, resource)]
    return created[0] >= created[1]
