from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.kueue.cluster_pods import build_cluster_pod_sets
from tests.core.cluster_resources.clusters import OPERATOR, build_model


def build_requests(workers: int = 2, **modifiers: Any) -> dict[str, tuple[int, dict[str, str]]]:
    pod_sets = build_cluster_pod_sets(build_model(minimum=workers, maximum=workers, **modifiers), OPERATOR)
    return {
        each.role: (each.count, each.template["spec"]["containers"][-1]["resources"]["requests"]) for each in pod_sets
    }


def build_part(role: str, **container: Any) -> dict[str, Any]:
    return {"statefulSetSpec": {"template": {"spec": {"containers": [{"name": role, **container}]}}}}


def test_cluster_without_resources_requests_what_its_daemons_use_by_default() -> None:
    found = build_requests()
    assert found["master"] == (1, {"cpu": "1", "memory": f"{1024 + 384}Mi"})
    assert found["worker"][1] == {"cpu": "1", "memory": f"{2048 + 384}Mi"}


def test_worker_requests_follow_from_its_environment() -> None:
    variables = {"SPARK_WORKER_CORES": "8", "SPARK_WORKER_MEMORY": "16g", "SPARK_DAEMON_MEMORY": "2g"}
    env = [{"name": name, "value": value} for name, value in variables.items()]
    found = build_requests(worker=build_part("worker", env=env))
    assert found["worker"][1] == {"cpu": "8", "memory": f"{18432 + 1843}Mi"}


def test_requests_and_limits_of_the_template_stay() -> None:
    resources = {"requests": {"memory": "3Gi"}, "limits": {"memory": "4Gi", "cpu": "2", "nvidia.com/gpu": "1"}}
    found = build_requests(worker=build_part("worker", resources=resources))
    assert found["worker"][1] == {"memory": "3Gi", "cpu": "2", "nvidia.com/gpu": "1"}


def test_sidecars_keep_their_requests() -> None:
    sidecar = {"name": "proxy", "image": "proxy", "resources": {"requests": {"cpu": "100m"}}}
    part = {"statefulSetSpec": {"template": {"spec": {"containers": [sidecar]}}}}
    pod_sets = build_cluster_pod_sets(build_model(minimum=1, maximum=1, master=part), OPERATOR)
    first = pod_sets[0].template["spec"]["containers"][0]
    assert first["resources"] == sidecar["resources"]


def test_cluster_with_a_variable_number_of_workers_is_refused() -> None:
    with pytest.raises(InvalidResource, match="number of workers is not fixed"):
        build_cluster_pod_sets(build_model(minimum=1, maximum=3), OPERATOR)
