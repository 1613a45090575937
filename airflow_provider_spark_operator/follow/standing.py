"""How an application stands for one who may adopt it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from airflow_provider_spark_operator.core.dialects.dialect import progress
from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress, last_stop
from airflow_provider_spark_operator.core.names import ANNOTATION_RESULT_TAKEN_BY
from airflow_provider_spark_operator.core.states import FAILURE
from airflow_provider_spark_operator.core.verdict import Outcome, verdict
from airflow_provider_spark_operator.follow.stamp import annotations


class Standing(StrEnum):
    """What a try of the same task does with an application that it finds."""

    LIVE = "live"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    USED_UP = "used up"
    LEAVING = "leaving"


def standing(document: Mapping[str, Any]) -> Standing:
    """How the application stands.

    LIVE: it may still succeed. SUCCEEDED: it has, and no try has taken its result yet. FAILED: it has, or is about
    to, and no try has told so. USED_UP: it has ended, and a try has taken note of that. LEAVING: somebody deleted it.
    """
    if document["metadata"].get("deletionTimestamp"):
        return Standing.LEAVING
    seen, taken = progress(document), annotations(document).get(ANNOTATION_RESULT_TAKEN_BY)
    if seen.driver_abandoned and taken:  # its status will never say that it has ended
        return Standing.USED_UP
    if seen.phase is not Phase.ENDED:
        failing = seen.phase is Phase.STOPPING and not seen.restart_pending and _failed(seen)
        return Standing.FAILED if failing else Standing.LIVE
    if taken:
        return Standing.USED_UP
    return Standing.SUCCEEDED if verdict(seen).outcome is Outcome.SUCCEEDED else Standing.FAILED


def _failed(seen: Progress) -> bool:
    stop = last_stop(seen.history)
    return (stop.meaning if stop else seen.state) in FAILURE
