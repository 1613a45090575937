"""Builders of small objects for tests. Each argument is a deviation from the simplest case."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_spark_operator.core.kubernetes.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.lifecycle.transitions import MOVES, create_status, move
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.models.status import ApplicationStatus, AttemptInfo, AttemptSummary
from airflow_provider_spark_operator.core.states.states import ApplicationState

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
DRIVER = "spark-kubernetes-driver"
OPERATOR_NAME = "spark-kubernetes-operator"


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def build_application_document(
    *,
    name: str = "pi",
    namespace: str = "jobs",
    finalizer: bool = True,
    deleted: bool = False,
    conf: Mapping[str, str] | None = None,
    tolerations: Mapping[str, Any] | None = None,
    restart: Mapping[str, Any] | None = None,
    timeouts: Mapping[str, Any] | None = None,
    instances: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a SparkApplication as the API returns it. `spec` adds and replaces fields by their camelCase names."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": "00000000-0000-4000-8000-000000000001",
        "creationTimestamp": NOW.isoformat(),
        "finalizers": [APPLICATION_FINALIZER] if finalizer else [],
    }
    if deleted:
        metadata["deletionTimestamp"] = NOW.isoformat()
    parts = {"restartConfig": restart, "applicationTimeoutConfig": timeouts, "instanceConfig": instances}
    document: dict[str, Any] = {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": metadata,
        "spec": {
            "mainClass": "org.apache.spark.examples.SparkPi",
            "jars": "local:///opt/spark/examples/jars/spark-examples.jar",
            "runtimeVersions": {"sparkVersion": "4.3.0"},
            "sparkConf": {"spark.kubernetes.container.image": "spark", **(conf or {})},
            "applicationTolerations": {
                **(tolerations or {}),
                **{key: dict(value) for key, value in parts.items() if value is not None},
            },
            **spec,
        },
    }
    if status is not None:
        document["status"] = dict(status)
    return document


def build_application_model(*, status: ApplicationStatus | None = None, **modifiers: Any) -> SparkApplication:
    """Return the same application as a model, with `status` as a model."""
    document = status.to_document() if status else None
    return parse_application(build_application_document(status=document, **modifiers))


# One path to each state, for a status with a history.
_PATHS: dict[ApplicationState, tuple[ApplicationState, ...]] = {ApplicationState.SUBMITTED: ()}
for _state in ApplicationState:
    if _state in _PATHS:
        for _target in sorted(MOVES[_state]):
            _PATHS.setdefault(_target, (*_PATHS[_state], _target))


def build_status(
    *path: ApplicationState,
    since: datetime = NOW,
    attempt: AttemptInfo | None = None,
    previous: AttemptSummary | None = None,
    message: str = "Built by a test.",
) -> ApplicationStatus:
    """Return a status whose history contains Submitted and then `path`, all at the time `since`."""
    status = create_status(since)
    for state in path:
        status = move(status, state, since, message)
    if attempt is not None:
        status = status.model_copy(update={"current_attempt_summary": AttemptSummary(attempt_info=attempt)})
    return status.model_copy(update={"previous_attempt_summary": previous}) if previous else status


def build_status_at(state: ApplicationState, **modifiers: Any) -> ApplicationStatus:
    """Return a status in `state`, which was reached by a legal path."""
    return build_status(*_PATHS[state], **modifiers)


def build_container(
    name: str = DRIVER,
    *,
    exit_code: int | None = None,
    reason: str | None = None,
    message: str | None = None,
    waiting: str | None = None,
    ready: bool | None = None,
    restarts: int = 0,
) -> dict[str, Any]:
    """Return a container status: terminated with an exit code, waiting with a reason, or running."""
    detail = {key: value for key, value in (("reason", reason), ("message", message)) if value is not None}
    if exit_code is not None:
        state: dict[str, Any] = {"terminated": {"exitCode": exit_code, **detail}}
    elif waiting is not None:
        state = {"waiting": {**detail, "reason": waiting}}
    else:
        state = {"running": {"startedAt": NOW.isoformat()}}
    is_ready = "running" in state if ready is None else ready
    return {"name": name, "ready": is_ready, "restartCount": restarts, "state": state}


def build_pod(
    phase: str = "Running",
    *containers: Mapping[str, Any],
    ready: bool | None = None,
    init: Sequence[Mapping[str, Any]] = (),
    reason: str | None = None,
    message: str | None = None,
    conditions: Sequence[Mapping[str, Any]] = (),
    deletion: datetime | None = None,
    grace: int | None = 30,
    spec: Mapping[str, Any] | None = None,
    name: str = "pi-0-driver",
) -> dict[str, Any]:
    """Return a pod with `containers`. By default, it is ready if it runs and all of them are ready."""
    is_ready = (phase == "Running" and all(each["ready"] for each in containers)) if ready is None else ready
    labels = {"spark.operator/name": OPERATOR_NAME}
    metadata: dict[str, Any] = {"name": name, "namespace": "jobs", "uid": f"uid-of-{name}", "labels": labels}
    if deletion is not None:
        metadata |= {"deletionTimestamp": deletion.isoformat(), "deletionGracePeriodSeconds": grace}
    status: dict[str, Any] = {
        "phase": phase,
        "conditions": [{"type": "Ready", "status": str(is_ready)}, *conditions],
        "containerStatuses": list(containers),
        "initContainerStatuses": list(init),
        "reason": reason,
        "message": message,
    }
    status = {key: value for key, value in status.items() if value not in (None, [])}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": dict(spec or {}), "status": status}


def build_driver_pod(story: str = "ready", **modifiers: Any) -> dict[str, Any]:
    """Return the driver pod in a common situation."""
    stories: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
        "pending": ("Pending", ()),
        "pulling": ("Pending", (build_container(waiting="ContainerCreating"),)),
        "unready": ("Running", (build_container(ready=False),)),
        "started": ("Running", (build_container(),)),
        "ready": ("Running", (build_container(),)),
        "succeeded": ("Succeeded", (build_container(exit_code=0, reason="Completed"),)),
        "failed": ("Failed", (build_container(exit_code=1, reason="Error"),)),
        "killed": ("Failed", (build_container(exit_code=137, reason="OOMKilled"),)),
    }
    phase, containers = stories[story]
    if story == "started":
        modifiers.setdefault("ready", False)
    return build_pod(phase, *containers, **modifiers)


def build_blocked_executor(
    name: str = "exec-1", *, waiting: str = "ImagePullBackOff", created: datetime = NOW
) -> dict[str, Any]:
    """Return an executor pod that cannot start, created at `created`."""
    status = {**build_container("spark-kubernetes-executor", waiting=waiting), "image": "registry.example/spark:9"}
    held_up = build_pod("Pending", status, name=name)
    held_up["metadata"]["creationTimestamp"] = created.isoformat()
    return held_up


def build_executors(ready: int, pending: int = 0) -> list[dict[str, Any]]:
    """Return executor pods."""
    executor = build_container("spark-kubernetes-executor")
    return [
        *(build_pod("Running", executor, name=f"exec-{number}") for number in range(ready)),
        *(build_pod("Pending", name=f"exec-{ready + number}") for number in range(pending)),
    ]
