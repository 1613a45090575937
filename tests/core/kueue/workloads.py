"""Builders of Workloads as Kueue shows them."""

from typing import Any

from airflow_provider_spark_operator.core.kueue.application_pods import build_application_pod_sets
from airflow_provider_spark_operator.core.kueue.workload import WantedWorkload, find_priority_class, read_priority
from airflow_provider_spark_operator.core.models.application import SparkApplication
from tests.builders import NOW
from tests.core.driver.attempts import OPERATOR, build_application

QUEUE = "team-a"


def label(application: SparkApplication, **labels: str) -> SparkApplication:
    """Return the application with these labels; `_` in a name stands for `-`."""
    given = {f"kueue.x-k8s.io/{name.replace('_', '-')}": value for name, value in labels.items()}
    return application.model_copy(update={"metadata": {**application.metadata, "labels": given}})


def build_wanted(
    conf: dict[str, Any] | None = None, *, queue: str = QUEUE, priority: int | None = None, **spec: Any
) -> WantedWorkload:
    application = label(build_application(conf, **spec), queue_name=queue, priority_class="high")
    pod_sets = build_application_pod_sets(application, OPERATOR)
    name = find_priority_class(application, pod_sets)
    assert name is not None
    document = {"metadata": {"name": name.name}, "value": priority}
    return WantedWorkload(
        application, queue, pod_sets, None if priority is None else read_priority(document, name.kind)
    )


def build_condition(kind: str, status: str = "True", reason: str = "Because", message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": NOW.isoformat()}


def build_workload(
    wanted: WantedWorkload | None = None,
    *conditions: dict[str, str],
    metadata: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    **status: Any,
) -> dict[str, Any]:
    """Build a stored Workload with conditions and other fields of its status."""
    document = (wanted or build_wanted()).to_document()
    return {
        **document,
        "metadata": {**document["metadata"], "resourceVersion": "7", "generation": 1, **(metadata or {})},
        "spec": {**document["spec"], **(spec or {})},
        "status": {"conditions": list(conditions), **status},
    }


ADMITTED = (build_condition("QuotaReserved"), build_condition("Admitted"))
EVICTED = build_condition("Evicted", reason="Preempted", message="Preempted to accommodate a workload")
