"""How long an application can be asked how it ended, before it is deleted by itself."""

from collections.abc import Mapping
from typing import Any, TypeGuard

from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW, dialect_of, progress
from airflow_provider_spark_operator.core.names import ANNOTATION_TTL_AFTER_SUCCESS
from airflow_provider_spark_operator.core.pods import mapping
from airflow_provider_spark_operator.core.verdict import Outcome, verdict
from airflow_provider_spark_operator.follow.stamp import annotations
from airflow_provider_spark_operator.kube.transport import JsonObject

# A triggerer that was restarted is back by then, and a worker that was lost is replaced.
SHORTEST_SECONDS = 60.0
# What a task asks for if neither it nor its document says anything: time to look at a failure after a weekend, and
# no thousands of applications in etcd that succeeded.
DEFAULT_SECONDS = 7 * 24 * 3600
AFTER_SUCCESS_SECONDS = 24 * 3600


def seconds_after_end(document: Mapping[str, Any]) -> float | None:
    """After how many seconds the application's operator deletes it; None where it keeps it."""
    spec = mapping(document.get("spec"))
    if dialect_of(document.get("apiVersion")) is KUBEFLOW:
        seconds = spec.get("timeToLiveSeconds")
        return max(0.0, float(seconds)) if _is_number(seconds) else None
    millis = mapping(spec.get("applicationTolerations")).get("ttlAfterStopMillis")
    return float(millis) / 1000 if _is_number(millis) and millis >= 0 else None


def after_success(document: Mapping[str, Any]) -> JsonObject | None:
    """The change that shortens the life of an application after its success; None if there is nothing to shorten.

    Only the default time to live is shortened; an annotation says to how many seconds. A time that a person has
    written in the meantime stays.

    Args:
        document: The application as it is stored.
    """
    wanted = annotations(document).get(ANNOTATION_TTL_AFTER_SUCCESS, "")
    if not wanted.isdecimal() or seconds_after_end(document) != DEFAULT_SECONDS:
        return None
    if verdict(progress(document)).outcome is not Outcome.SUCCEEDED:
        return None
    return {
        "metadata": {"annotations": {ANNOTATION_TTL_AFTER_SUCCESS: None}},
        "spec": {"applicationTolerations": {"ttlAfterStopMillis": 1000 * int(wanted)}},
    }


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
