"""The columns of pods, such as the state of a pod in one word."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from local_kubernetes.api.documents import text_at
from local_kubernetes.api.table import AGE, Cell, Column, Document, age

_NONE = "<none>"


def _statuses(pod: Document, field: str = "containerStatuses") -> list[Mapping[str, Any]]:
    found = (pod.get("status") or {}).get(field) or []
    return list(found)


def _ready(pod: Document, _: datetime) -> Cell:
    ready = sum(bool(status.get("ready")) for status in _statuses(pod))
    return f"{ready}/{len(pod['spec'].get('containers') or [])}"


def _status(pod: Document, _: datetime) -> Cell:
    """Return the phase, or the more specific reason of a container, as kubectl shows it."""
    status = pod.get("status") or {}
    reason = status.get("reason") or status.get("phase") or "Unknown"
    initializing = _describe_initialization(pod)
    if initializing:
        reason = initializing
    else:
        running = False
        for container in reversed(_statuses(pod)):
            told = _container_reason(container)
            reason = told or reason
            running = running or bool((container.get("state") or {}).get("running") and container.get("ready"))
        if reason == "Completed" and running:
            reason = "Running"
    if "deletionTimestamp" in pod["metadata"]:
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return str(reason)


def _container_reason(container: Mapping[str, Any]) -> str:
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
    for index, container in enumerate(_statuses(pod, "initContainerStatuses")):
        state = container.get("state") or {}
        if (state.get("terminated") or {}).get("exitCode") == 0 or container.get("started"):
            continue
        reason = _container_reason(container)
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{index}/{total}"
    return ""


def _restarts(pod: Document, now: datetime) -> Cell:
    statuses = _statuses(pod)
    count = sum(int(status.get("restartCount", 0)) for status in statuses)
    ends = [text_at(status, ("lastState", "terminated", "finishedAt")) for status in statuses]
    last = max(ends, default="")
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


def _address(pod: Document, _: datetime) -> Cell:
    return text_at(pod, ("status", "podIP")) or _NONE


def _node(pod: Document, _: datetime) -> Cell:
    return text_at(pod, ("spec", "nodeName")) or _NONE


def _nominated_node(pod: Document, _: datetime) -> Cell:
    return text_at(pod, ("status", "nominatedNodeName")) or _NONE


def _gates(pod: Document, _: datetime) -> Cell:
    gates = pod["spec"].get("readinessGates") or []
    conditions = {item.get("type"): item.get("status") for item in (pod.get("status") or {}).get("conditions") or []}
    open_gates = sum(conditions.get(gate.get("conditionType")) == "True" for gate in gates)
    return f"{open_gates}/{len(gates)}" if gates else _NONE


POD_COLUMNS: tuple[Column, ...] = (
    Column("Ready", _ready),
    Column("Status", _status),
    Column("Restarts", _restarts),
    AGE,
    Column("IP", _address, priority=1),
    Column("Node", _node, priority=1),
    Column("Nominated Node", _nominated_node, priority=1),
    Column("Readiness Gates", _gates, priority=1),
)
