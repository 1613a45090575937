"""How long the cluster keeps the driver pod of an application that has failed."""

import math
from collections.abc import Mapping
from datetime import timedelta

from airflow_provider_spark_operator.operators.document import API_VERSION, JsonObject

KEEP_FAILED_DRIVER = timedelta(minutes=5)
_FIELDS = ("resourceRetainPolicy", "resourceRetainDurationMillis")


def retention_problem(keep: object) -> str | None:
    """Return what is wrong with `keep_failed_driver`; None if it is valid."""
    seconds = keep.total_seconds() if isinstance(keep, timedelta) else keep
    if keep is None or (isinstance(seconds, (int, float)) and not isinstance(keep, bool) and 0 <= seconds < math.inf):
        return None
    return f"keep_failed_driver must be a number of seconds, a timedelta, or None, not {keep!r}"


def with_failed_driver_kept(document: JsonObject, keep: timedelta | float | None) -> JsonObject:
    """Return `document` with a retain policy for failed drivers, unless it says something about retention itself.

    Kubeflow's operator keeps the driver pod as long as the application. Earlier versions than v1 have no field for a
    duration, and would keep the pod as long as the application, too.

    Args:
        document: The application, with an object as `spec`.
        keep: How long to keep the pod, in seconds if it is a number. None leaves the document as it is.
    """
    if not keep or document.get("apiVersion") != API_VERSION:
        return document
    spec = document["spec"]
    tolerations = spec.get("applicationTolerations") or {}
    if not isinstance(tolerations, Mapping) or any(tolerations.get(field) is not None for field in _FIELDS):
        return document
    seconds = keep.total_seconds() if isinstance(keep, timedelta) else keep
    retained = {"resourceRetainPolicy": "OnFailure", "resourceRetainDurationMillis": round(1000 * seconds)}
    return document | {"spec": spec | {"applicationTolerations": {**tolerations, **retained}}}
