"""Applications in various states."""

from typing import Any

from airflow_provider_spark_operator.core.kubernetes.names import LABEL_APPLICATION_NAME, LABEL_ROLE
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.kube.client import KubeClient

RUNNING = ("Submitted", "DriverRequested", "RunningHealthy")
FAILED = (*RUNNING, "Failed", "ResourceReleased")
SUCCEEDED = (*RUNNING, "Succeeded", "ResourceReleased")
DRIVER_EXITED_3 = {
    "phase": "Failed",
    "containerStatuses": [
        {
            "name": "spark-kubernetes-driver",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": {"exitCode": 3, "reason": "Error"}},
        }
    ],
}


def build_stamp(attempt: int = 1, *, task: str = "pi", run: str = "manual__1", **recorded: Any) -> TaskStamp:
    """Return a try of a task, with its own task instance id. `recorded` are further fields of the stamp."""
    return TaskStamp("spark", task, run, -1, attempt, f"{task}-{run}-{attempt}", **recorded)


def build_document(name: str | None = None, **spec: Any) -> dict[str, Any]:
    """Return a SparkApplication as a user writes it."""
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {"name": name} if name else {},
        "spec": {
            "pyFiles": "local:///pi.py",
            "runtimeVersions": {"sparkVersion": "4.3.0"},
            "sparkConf": {"spark.kubernetes.container.image": "spark"},
            **spec,
        },
    }


def build_status(*states: str, driver_status: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the status after these states. The last but one has `driver_status`; a failure has one by default."""
    history = {
        str(position): {"currentStateSummary": state, "lastTransitionTime": f"2026-01-01T00:00:{position:02}Z"}
        for position, state in enumerate(states)
    }
    if len(states) > 1 and states[-2] == "Failed":
        driver_status = driver_status or DRIVER_EXITED_3
    if driver_status is not None:
        history[str(len(states) - 2)]["lastObservedDriverStatus"] = driver_status  # type: ignore[assignment]
    return {"currentState": history[str(len(states) - 1)], "stateTransitionHistory": history}


async def set_states(client: KubeClient, reference: ApplicationReference, *states: str) -> dict[str, Any]:
    """Write the status like an operator."""
    patch = {"status": build_status(*states)}
    return await client.patch(reference.resource, reference.name, reference.namespace, patch, subresource="status")


def build_stored(
    name: str = "pi", uid: str = "u1", version: str = "5", *states: str, driver_status: Any = None
) -> dict[str, Any]:
    """Return an application as an API returns it, for scripted answers."""
    return {
        **build_document(),
        "metadata": {"name": name, "namespace": "jobs", "uid": uid, "resourceVersion": version},
        "status": build_status(*(states or RUNNING), driver_status=driver_status),
    }


def build_driver(application: str = "pi", owner: str = "u1", **changes: Any) -> dict[str, Any]:
    """Return the driver pod of an application."""
    return {
        "metadata": {
            "name": f"{application}-0-driver",
            "namespace": "jobs",
            "uid": "p1",
            "creationTimestamp": "2026-01-01T00:00:01Z",
            "labels": {LABEL_APPLICATION_NAME: application, LABEL_ROLE: "driver"},
            "ownerReferences": [{"uid": owner}],
        },
        "spec": {"containers": [{"name": "sidecar"}, {"name": "spark-kubernetes-driver"}]},
        "status": {"phase": "Running"},
        **changes,
    }
