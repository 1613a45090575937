"""Wait until an application has ended, and say how."""

from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from airflow_provider_spark_operator.core.dialects.dialect import progress
from airflow_provider_spark_operator.core.dialects.progress import Progress, with_driver_status
from airflow_provider_spark_operator.core.verdict import Outcome, Verdict, verdict
from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.watch import WatchHub


@dataclass(frozen=True)
class Ending:
    """How an application ended, as judged from its last content."""

    verdict: Verdict
    progress: Progress
    resource: Mapping[str, Any]


def judge(resource: Mapping[str, Any]) -> Ending | None:
    """The ending that the application's status shows; None as long as it goes on."""
    seen = progress(resource)
    judged = verdict(seen)
    return None if judged.outcome is Outcome.WAITING else Ending(judged, seen, resource)


def judge_again(ending: Ending, driver_status: Mapping[str, object] | None) -> Ending:
    """The ending with what the driver pod itself says of it, where the resource says little."""
    if driver_status is None or not ending.progress.driver_kept:
        return ending
    seen = with_driver_status(ending.progress, driver_status)
    return Ending(verdict(seen), seen, ending.resource)


async def wait_for_end(
    hub: WatchHub,
    reference: ApplicationReference,
    on_progress: Callable[[Progress], None] | None = None,
) -> Ending:
    """Follow the application until it has ended; for as long as that takes.

    Args:
        hub: Of the cluster (`follow.watch.shared_hub`).
        reference: The application.
        on_progress: Told of the state at the start and of each change of state, message or attempt.

    Raises:
        ApplicationDeleted: It was deleted before its end.
        KubeError: It cannot be read, for longer than the hub's patience.
    """
    told: tuple[str, str | None, int] | None = None
    async with aclosing(hub.follow(reference)) as contents:
        async for resource in contents:
            seen = progress(resource)
            here = (seen.state, seen.message, seen.attempt)
            if on_progress is not None and here != told:
                told = here
                on_progress(seen)
            ending = judge(resource)
            if ending is not None:
                return ending
    raise ApplicationDeleted(reference)  # follow() raises it itself; this is for the type checker
