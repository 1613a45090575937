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
    USED_UP = "used up"
    LEAVING = "leaving"


def standing(document: Mapping[str, Any]) -> Standing:
    """How the application stands.

    LIVE: it may still succeed. SUCCEEDED: it has, and no try has taken its result yet. USED_UP: it has
    failed or is about to, or its result was taken. LEAVING: somebody deleted it.
    """
    if document["metadata"].get("deletionTimestamp"):
        return Standing.LEAVING
    seen = progress(document)
    if seen.phase is not Phase.ENDED:
        failing = seen.phase is Phase.STOPPING and not seen.restart_pending and _failed(seen)
        return Standing.USED_UP if failing else Standing.LIVE
    if verdict(seen).outcome is Outcome.SUCCEEDED and not annotations(document).get(ANNOTATION_RESULT_TAKEN_BY):
        return Standing.SUCCEEDED
    return Standing.USED_UP


def _failed(seen: Progress) -> bool:
    stop = last_stop(seen.history)
    return (stop.meaning if stop else seen.state) in FAILURE
