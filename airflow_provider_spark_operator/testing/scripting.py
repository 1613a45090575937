"""The interface of the scripted cluster for scripts: its resources, container logs and the statuses of pods."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Protocol

from ..core.kubernetes.json_object import JsonObject

IMAGE = "spark:4.3.0"


class Log:
    """The log of one container. It is written and read on the cluster's loop.

    Args:
        owner: The uid of the application, if its driver writes the log.
    """

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        self.lines: list[str] = []
        self.ended = False
        self.grown = asyncio.Event()

    def write(self, line: str) -> None:
        """Add a line with the current time."""
        stamp = datetime.now(UTC).isoformat().removesuffix("+00:00")
        self.lines.append(f"{stamp}Z {line}")
        self.grown.set()

    def end(self) -> None:
        """Mark the log as complete."""
        self.ended = True
        self.grown.set()

    async def read(self, *, follow: bool, timestamps: bool, tail_lines: int | None = None) -> AsyncIterator[bytes]:
        """Yield the lines as a kubelet returns them; with `follow` until the log is complete.

        Args:
            follow: Whether to wait for further lines.
            timestamps: Whether each line begins with its time.
            tail_lines: Start this number of lines before the end. If None, at the beginning.
        """
        position = 0 if tail_lines is None else max(0, len(self.lines) - tail_lines)
        while True:
            while position < len(self.lines):
                line = self.lines[position]
                position += 1
                yield (line if timestamps else line.partition(" ")[2]).encode() + b"\n"
            if self.ended or not follow:
                return
            self.grown.clear()
            await self.grown.wait()


class ScriptTarget(Protocol):
    """The writes of a script to its cluster. All calls are on the cluster's thread.

    Attributes:
        logs: The logs of the containers, by namespace and pod.
    """

    logs: dict[tuple[str, str], Log]

    def write_status(self, namespace: str, name: str, change: Callable[[JsonObject], JsonObject]) -> None:
        """Change the status of an application."""

    def write_cluster_status(self, namespace: str, name: str, status: JsonObject) -> None:
        """Write the status of a SparkCluster."""

    def create_pod(
        self, namespace: str, name: str, labels: JsonObject, owner: JsonObject, container: JsonObject
    ) -> JsonObject:
        """Create a running pod with one container, and return it."""

    def set_pod_status(self, namespace: str, name: str, status: JsonObject) -> None:
        """Write the status of a pod."""

    def end_pod(self, namespace: str, name: str, container: JsonObject) -> JsonObject:
        """Terminate a pod with the status of its container, and return the status of the pod."""

    def record_event(self, document: JsonObject, reason: str, message: str, *, warning: bool) -> None:
        """Record an Event about an application or a SparkCluster."""

    def delete_pod(self, namespace: str, name: str) -> None:
        """Delete a pod without a grace period."""


def build_running_container(name: str) -> JsonObject:
    """Return the status of a container that runs and is ready."""
    return _build_container(name, {"running": {"startedAt": _get_time()}}, ready=True)


def build_ended_container(name: str, exit_code: int, reason: str, message: str | None = None) -> JsonObject:
    """Return the status of a container that has ended now."""
    extra = {"message": message} if message else {}
    extra["finishedAt"] = _get_time()
    return _build_container(name, {"terminated": {"exitCode": exit_code, "reason": reason, **extra}}, ready=False)


def build_running_pod_status(container: JsonObject) -> JsonObject:
    """Return the status of a pod whose only container runs."""
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [container]}


def build_ended_pod_status(container: JsonObject) -> JsonObject:
    """Return the status of a pod whose only container has ended."""
    failed = container["state"]["terminated"]["exitCode"]
    return {"phase": "Failed" if failed else "Succeeded", "containerStatuses": [container]}


def _get_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _build_container(name: str, state: JsonObject, *, ready: bool) -> JsonObject:
    return {"name": name, "ready": ready, "restartCount": 0, "state": state, "image": IMAGE, "imageID": ""}
