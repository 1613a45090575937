"""How long an application can be asked how it ended, before it is deleted by itself."""

from collections.abc import Mapping
from typing import Any, TypeGuard

from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW, dialect_of
from airflow_provider_spark_operator.core.pods import mapping

# A triggerer that was restarted is back by then, and a worker that was lost is replaced.
SHORTEST_SECONDS = 60.0


def seconds_after_end(document: Mapping[str, Any]) -> float | None:
    """After how many seconds the application's operator deletes it; None where it keeps it."""
    spec = mapping(document.get("spec"))
    if dialect_of(document.get("apiVersion")) is KUBEFLOW:
        seconds = spec.get("timeToLiveSeconds")
        return max(0.0, float(seconds)) if _is_number(seconds) else None
    millis = mapping(spec.get("applicationTolerations")).get("ttlAfterStopMillis")
    return float(millis) / 1000 if _is_number(millis) and millis >= 0 else None


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
