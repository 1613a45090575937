"""Statuses of containers and pods, as a kubelet writes them."""

from datetime import UTC, datetime

from airflow_provider_spark_operator.core.json_object import JsonObject

IMAGE = "spark:4.3.0"


def container_running(name: str) -> JsonObject:
    """The status of a container that runs and is ready."""
    return _container(name, {"running": {"startedAt": datetime.now(UTC).isoformat()}}, ready=True)


def container_ended(name: str, exit_code: int, reason: str, message: str | None = None) -> JsonObject:
    """The status of a container that has ended."""
    said = {"message": message} if message else {}
    return _container(name, {"terminated": {"exitCode": exit_code, "reason": reason, **said}}, ready=False)


def pod_running(container: JsonObject) -> JsonObject:
    """The status of a pod with this one container, which runs."""
    return {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [container],
    }


def pod_ended(container: JsonObject) -> JsonObject:
    """The status of a pod with this one container, which has ended."""
    failed = container["state"]["terminated"]["exitCode"]
    return {"phase": "Failed" if failed else "Succeeded", "containerStatuses": [container]}


def _container(name: str, state: JsonObject, *, ready: bool) -> JsonObject:
    return {"name": name, "ready": ready, "restartCount": 0, "state": state, "image": IMAGE, "imageID": ""}
