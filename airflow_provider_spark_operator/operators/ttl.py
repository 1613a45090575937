"""How long an application stays in the cluster after its end."""

import math
from datetime import timedelta
from typing import Final

from airflow_provider_spark_operator.operators import kubeflow
from airflow_provider_spark_operator.operators.document import API_VERSION, JsonObject

KEEP: Final = -1
# Kubernetes stores it as a 64-bit integer of milliseconds.
_LONGEST_SECONDS: Final = 2**63 // 1000


def ttl_problem(ttl: object) -> str | None:
    """What is wrong with the parameter `ttl`; None if nothing is."""
    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
    if ttl is None or ttl == KEEP:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        return f"ttl must be a number of seconds, a timedelta, or {KEEP} to keep the application, not {ttl!r}"
    if seconds > _LONGEST_SECONDS:
        return f"ttl must be at most {_LONGEST_SECONDS} seconds, not {ttl!r}. Use {KEEP} to keep the application"
    return None


def with_ttl(document: JsonObject, ttl: timedelta | float | None) -> JsonObject:
    """`document` with its time to live.

    Args:
        document: The application; unchanged. Its spec is an object.
        ttl: Time after the end, in seconds if it is a number; `KEEP` for no deletion. None leaves the document's own
            time. A document without one gets 7 days; a task that sees the success shortens them to 1 day.
    """
    from airflow_provider_spark_operator.follow.retention import DEFAULT_SECONDS

    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
    if kubeflow.is_kubeflow(document):
        return _with_kubeflow_ttl(document, seconds)
    spec = document["spec"]
    tolerations = spec.get("applicationTolerations") or {}
    if not isinstance(tolerations, dict):
        return document  # the validation before the submission reports it
    if seconds is not None:
        millis = KEEP if seconds == KEEP else round(1000 * seconds)
        return _with_millis(document, tolerations, millis)
    # Older versions have no such field.
    if tolerations.get("ttlAfterStopMillis") is not None or document.get("apiVersion") != API_VERSION:
        return document
    return _with_millis(_shortened_after_success(document), tolerations, 1000 * DEFAULT_SECONDS)


def _with_millis(document: JsonObject, tolerations: JsonObject, millis: int) -> JsonObject:
    tolerations = tolerations | {"ttlAfterStopMillis": millis}
    return document | {"spec": document["spec"] | {"applicationTolerations": tolerations}}


def _shortened_after_success(document: JsonObject) -> JsonObject:
    from airflow_provider_spark_operator.core.names import ANNOTATION_TTL_AFTER_SUCCESS
    from airflow_provider_spark_operator.follow.retention import AFTER_SUCCESS_SECONDS

    metadata = document.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION_TTL_AFTER_SUCCESS: str(AFTER_SUCCESS_SECONDS)}
    return document | {"metadata": metadata | {"annotations": annotations}}


def _with_kubeflow_ttl(document: JsonObject, seconds: float | None) -> JsonObject:
    from airflow_provider_spark_operator.follow.retention import DEFAULT_SECONDS

    spec = dict(document["spec"])
    if seconds == KEEP:
        spec.pop("timeToLiveSeconds", None)
    elif seconds is not None:
        spec["timeToLiveSeconds"] = math.ceil(seconds)
    elif spec.get("timeToLiveSeconds") is None:
        spec["timeToLiveSeconds"] = DEFAULT_SECONDS
    return document | {"spec": spec}
