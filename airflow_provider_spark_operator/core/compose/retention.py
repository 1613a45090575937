"""How long an application stays in the cluster after its end, and the driver pod of a failure."""

import math
from datetime import timedelta
from typing import Final

from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.problems import Problem
from airflow_provider_spark_operator.core.ttl import KEEP

KEEP_FAILED_DRIVER: Final = timedelta(minutes=5)
# Kubernetes stores it as a 64-bit integer of milliseconds.
_LONGEST_SECONDS: Final = 2**63 // 1000


def ttl_problem(ttl: object) -> Problem | None:
    """Return what is wrong with the parameter `ttl`; None if it is valid."""
    seconds = _seconds(ttl)
    if ttl is None or ttl == KEEP:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        return Problem(
            "ttl", f"must be a number of seconds, a timedelta, or {KEEP} to keep the application, not {ttl!r}"
        )
    if seconds > _LONGEST_SECONDS:
        return Problem("ttl", f"must be at most {_LONGEST_SECONDS} seconds, not {ttl!r}. Use {KEEP} to keep it")
    return None


def retention_problem(keep: object) -> Problem | None:
    """Return what is wrong with the parameter `keep_failed_driver`; None if it is valid."""
    seconds = _seconds(keep)
    if keep is None or (isinstance(seconds, (int, float)) and not isinstance(keep, bool) and 0 <= seconds < math.inf):
        return None
    return Problem("keep_failed_driver", f"must be a number of seconds, a timedelta, or None, not {keep!r}")


def set_ttl(document: JsonObject, ttl: timedelta | float | None) -> JsonObject:
    """Return `document` with its time to live.

    Args:
        document: The application. It stays unchanged. Its spec is an object.
        ttl: Time after the end, in seconds if it is a number; `KEEP` for no deletion. None leaves the document's own
            time. A document without one gets 7 days; a task that sees the success shortens them to 1 day.
    """
    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
    return dialect_of(document.get("apiVersion")).write_ttl(document, seconds)


def keep_failed_driver(document: JsonObject, keep: timedelta | float | None) -> JsonObject:
    """Return `document` with a retain policy for failed drivers, unless it has one.

    Args:
        document: The application. It stays unchanged. Its spec is an object.
        keep: How long to keep the pod, in seconds if it is a number. None leaves the document as it is.
    """
    if not keep:
        return document
    seconds = keep.total_seconds() if isinstance(keep, timedelta) else keep
    return dialect_of(document.get("apiVersion")).keep_failed_driver(document, seconds)


def _seconds(duration: object) -> object:
    return duration.total_seconds() if isinstance(duration, timedelta) else duration
