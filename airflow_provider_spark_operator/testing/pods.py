"""Statuses of containers and pods, as a kubelet writes them."""

from datetime import UTC, datetime

from ..core.kubernetes.json_object import JsonObject

IMAGE = "spark:4.3.0"


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
