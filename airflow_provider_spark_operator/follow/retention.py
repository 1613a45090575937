"""How long an application can be asked how it ended, before it is deleted by itself."""

from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.core.dialects.dialect import dialect_of, progress
from airflow_provider_spark_operator.core.names import ANNOTATION_TTL_AFTER_SUCCESS
from airflow_provider_spark_operator.core.ttl import DEFAULT_SECONDS
from airflow_provider_spark_operator.core.verdict import Outcome, verdict
from airflow_provider_spark_operator.follow.stamp import annotations_of
from airflow_provider_spark_operator.kube.transport import JsonObject

# A triggerer that was restarted is back by then, and a worker that was lost is replaced.
SHORTEST_TTL_SECONDS = 60.0


def read_ttl_seconds(document: Mapping[str, Any]) -> float | None:
    """Return the seconds after which the operator deletes a terminated application; None if it keeps it."""
    return dialect_of(document.get("apiVersion")).read_ttl(document)


def build_ttl_patch(document: Mapping[str, Any]) -> JsonObject | None:
    """Return the patch that shortens the life of an application after its success; None if there is nothing to shorten.

    Only the default time to live is shortened; an annotation says to how many seconds. A time that a person has
    written in the meantime stays.

    Args:
        document: The application as it is stored.
    """
    patch_ttl = dialect_of(document.get("apiVersion")).patch_ttl
    wanted = annotations_of(document).get(ANNOTATION_TTL_AFTER_SUCCESS, "")
    if patch_ttl is None or not wanted.isdecimal() or read_ttl_seconds(document) != DEFAULT_SECONDS:
        return None
    if verdict(progress(document)).outcome is not Outcome.SUCCEEDED:
        return None
    return {"metadata": {"annotations": {ANNOTATION_TTL_AFTER_SUCCESS: None}}, **patch_ttl(int(wanted))}
