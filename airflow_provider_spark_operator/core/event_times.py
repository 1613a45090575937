"""The times of Kubernetes Events, which can be in one of several fields."""

from collections.abc import Mapping
from datetime import datetime

from airflow_provider_spark_operator.core.times import read_time


def read_first_time(event: Mapping[str, object]) -> datetime | None:
    """Return when an event happened first; None if the Event has no time."""
    return read_time(event.get("firstTimestamp") or event.get("eventTime") or event.get("lastTimestamp"))


def read_last_time(event: Mapping[str, object]) -> datetime | None:
    """Return when an event happened last; None if the Event has no time."""
    return read_time(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp"))
