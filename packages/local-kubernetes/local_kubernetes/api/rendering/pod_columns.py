"""The columns of pods, such as the state of a pod in one word."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..kinds.documents import get_text
from .table import AGE, NONE, Cell, Column, Document, build_field, format_age


def _get_statuses(pod: Document, field: str = "containerStatuses") -> list[Mapping[str, Any]]:
    found = (pod.get("status") or {}).get(field) or []
    return list(found)


def _format_ready(pod: Document, _: datetime) -> Cell:
    ready = sum(bool(status.get("ready")) for status in _get_statuses(pod))
    return f"{ready}/{len(pod['spec'].get('containers') or [])}"


def _format_status(pod: Document, _: datetime) -> Cell:
    """Return the phase, or the more specific reason of a container, as kubectl shows it."""
    status = pod.get("status") or {}
    reason = status.get("reason") or status.get("phase") or "Unknown"
    initializing = _describe_initialization(pod)
    if initializing:
        reason = initializing
    else:
        running = False
        for container in reversed(_get_statuses(pod)):
            detail = _describe_container(container)
            reason = detail or reason
            running = running or bool((container.get("state") or {}).get("running") and container.get("ready"))
        if reason == "Completed" and running:
            reason = "Running"
    if "deletionTimestamp" in pod["metadata"]:
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return str(reason)


def _describe_container(container: Mapping[str, Any]) -> str:
    state = container.get("state") or {}
    waiting, terminated = state.get("waiting") or {}, state.get("terminated")
    if waiting.get("reason"):
        return str(waiting["reason"])
    if terminated is None:
        return ""
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _describe_initialization(pod: Document) -> str:
    """Return the state of the first init container that has not succeeded; empty if all have."""
    total = len(pod["spec"].get("initContainers") or [])
    for index, container in enumerate(_get_statuses(pod, "initContainerStatuses")):
        state = container.get("state") or {}
        if (state.get("terminated") or {}).get("exitCode") == 0 or container.get("started"):
            continue
        reason = _describe_container(container)
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{index}/{total}"
    return ""


def _format_restarts(pod: Document, now: datetime) -> Cell:
    statuses = _get_statuses(pod)
    count = sum(int(status.get("restartCount", 0)) for status in statuses)
    ends = [get_text(status, ("lastState", "terminated", "finishedAt")) for status in statuses]
    last = max(ends, default="")
    return f"{count} ({format_age(last, now)} ago)" if count and last else str(count)


POD_COLUMNS: tuple[Column, ...] = (
    Column("Ready", _format_ready),
    Column("Status", _format_status),
    Column("Restarts", _format_restarts),
    AGE,
    Column("IP", build_field("status", "podIP", empty=NONE), priority=1),
    Column("Node", build_field("spec", "nodeName", empty=NONE), priority=1),
    Column("Nominated Node", build_field("status", "nominatedNodeName", empty=NONE), priority=1),
    Column("Readiness Gates", lambda *_: NONE, priority=1),
)
