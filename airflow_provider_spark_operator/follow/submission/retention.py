"""How long a finished application can be read before its operator deletes it."""

from collections.abc import Mapping
from typing import Any

from ...core.dialects.dialect import dialect_of, read_progress
from ...core.dialects.progress import find_last_stop
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ANNOTATION_TTL_AFTER_SUCCESS
from ...core.parameters.arguments import DEFAULT_TTL_SECONDS
from ...core.states.states import STILL_RUNNABLE, ApplicationState
from ...core.verdict.verdict import Outcome, judge_progress
from .stamp import annotations_of

# Within this time, a triggerer restarts and a lost worker is replaced.
SHORTEST_TTL_SECONDS = 60.0
_KEPT = ApplicationState.TERMINATED_WITHOUT_RELEASE_RESOURCES


def read_ttl_seconds(document: Mapping[str, Any]) -> float | None:
    """Return the seconds after which the operator deletes a finished application. None if the operator keeps it."""
    return dialect_of(document.get("apiVersion")).read_ttl(document)


def build_ttl_patch(document: Mapping[str, Any]) -> JsonObject | None:
    """Return the patch that shortens the time to live after a success. None if there is nothing to shorten.

    If the Apache operator keeps a driver that has not ended, the patch ends this: the driver could still run. Only the
    default time to live is shortened, to the seconds in an annotation. A time that a user has set in the
    meantime is kept.

    Args:
        document: The stored application.
    """
    seen = read_progress(document)
    stop = find_last_stop(seen.history)
    if stop and stop.apache_state in STILL_RUNNABLE and seen.state == _KEPT:
        return {"spec": {"applicationTolerations": {"resourceRetainDurationMillis": 0}}}
    wanted = annotations_of(document).get(ANNOTATION_TTL_AFTER_SUCCESS, "")
    if not wanted.isdecimal() or read_ttl_seconds(document) != DEFAULT_TTL_SECONDS:
        return None
    if judge_progress(seen).outcome is not Outcome.SUCCEEDED:
        return None
    patch = dialect_of(document.get("apiVersion")).patch_ttl(int(wanted))
    return patch and {"metadata": {"annotations": {ANNOTATION_TTL_AFTER_SUCCESS: None}}, **patch}
