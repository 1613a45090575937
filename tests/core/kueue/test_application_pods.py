from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.kueue.application_pods import build_application_pod_sets
from airflow_provider_spark_operator.core.kueue.workload import PodSet
from airflow_provider_spark_operator.core.models.application import SparkApplication
from tests.core.driver.attempts import OPERATOR, build_application, build_resources

PYTHON = {"pyFiles": "local:///app.py"}
DYNAMIC = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "8"}


def build_pod_sets(conf: dict[str, str] | None = None, **spec: Any) -> dict[str, PodSet]:
    return {each.role: each for each in build_application_pod_sets(build_application(conf, **spec), OPERATOR)}


def get_resources(pod_set: PodSet) -> dict[str, dict[str, str]]:
    resources: dict[str, dict[str, str]] = pod_set.template["spec"]["containers"][-1]["resources"]
    return resources


def get_requests(pod_set: PodSet) -> dict[str, str]:
    return get_resources(pod_set)["requests"]


def reserve_maximum(application: SparkApplication) -> SparkApplication:
    annotations = {"spark.operator/kueue-reserve-max-executors": "true"}
    return application.model_copy(update={"metadata": {**application.metadata, "annotations": annotations}})


def test_pod_sets_without_settings_are_a_driver_and_two_executors_of_default_size() -> None:
    found = build_pod_sets()
    assert {role: each.count for role, each in found.items()} == {"driver": 1, "executor": 2}
    expected = {"cpu": "1", "memory": f"{1024 + 384}Mi"}
    assert [get_requests(each) for each in found.values()] == [expected, expected]
    names = [each.template["spec"]["containers"][0]["name"] for each in found.values()]
    assert names == ["spark-kubernetes-driver", "spark-kubernetes-executor"]


@pytest.mark.parametrize(
    ("conf", "spec", "driver", "executor"),
    [
        ({"spark.kubernetes.executor.request.cores": "500m"}, {}, ("1", 1408), ("500m", 1408)),
        ({"spark.driver.cores": "3", "spark.executor.cores": "4"}, {}, ("3", 1408), ("4", 1408)),
        ({"spark.driver.memory": "10g", "spark.executor.memory": "20g"}, {}, ("1", 11264), ("1", 22528)),
        ({"spark.executor.memoryOverhead": "1g"}, {}, ("1", 1408), ("1", 2048)),
        ({"spark.yarn.executor.memoryOverhead": "1g"}, {}, ("1", 1408), ("1", 2048)),
        ({"spark.kubernetes.memoryOverheadFactor": "0.5"}, {}, ("1", 1536), ("1", 1536)),
        ({"spark.executor.memoryOverheadFactor": "0.5"}, {}, ("1", 1408), ("1", 1536)),
        ({"spark.executor.minMemoryOverhead": "1g"}, {}, ("1", 1408), ("1", 2048)),
        (
            {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "1073741824"},
            {},
            ("1", 1408),
            ("1", 2432),
        ),
        ({"spark.memory.offHeap.enabled": "false", "spark.memory.offHeap.size": "1g"}, {}, ("1", 1408), ("1", 1408)),
        ({"spark.executor.pyspark.memory": "1g"}, {}, ("1", 1408), ("1", 1408)),
        ({"spark.executor.pyspark.memory": "1g"}, PYTHON, ("1", 1433), ("1", 2457)),
        ({}, PYTHON, ("1", 1433), ("1", 1433)),
    ],
)
def test_requests_follow_from_the_configuration(
    conf: dict[str, str], spec: dict[str, Any], driver: tuple[str, int], executor: tuple[str, int]
) -> None:
    found = build_pod_sets(conf, **spec)
    expected = [{"cpu": cpu, "memory": f"{memory}Mi"} for cpu, memory in (driver, executor)]
    assert [get_requests(found["driver"]), get_requests(found["executor"])] == expected


@given(
    memory=st.integers(1, 1 << 20),
    factor=st.floats(0.01, 2, allow_nan=False),
    cores=st.integers(1, 64),
    python=st.booleans(),
)
def test_driver_pod_set_requests_what_the_driver_pod_requests(
    memory: int, factor: float, cores: int, python: bool
) -> None:
    conf = {
        "spark.driver.memory": f"{memory}m",
        "spark.driver.memoryOverheadFactor": str(factor),
        "spark.driver.cores": str(cores),
    }
    spec: dict[str, Any] = PYTHON if python else {}
    container = build_resources(conf, **spec).pod["spec"]["containers"][-1]
    assert get_requests(build_pod_sets(conf, **spec)["driver"]) == container["resources"]["requests"]


def test_devices_are_requested_and_limited() -> None:
    found = build_pod_sets(
        {"spark.executor.resource.gpu.amount": "2", "spark.executor.resource.gpu.vendor": "nvidia.com"}
    )
    assert get_requests(found["executor"])["nvidia.com/gpu"] == "2"
    assert get_resources(found["executor"])["limits"]["nvidia.com/gpu"] == "2"
    assert "nvidia.com/gpu" not in get_requests(found["driver"])


def test_device_without_a_vendor_is_refused_with_the_name_of_the_role() -> None:
    with pytest.raises(DriverBuildError, match=r"spark\.executor\.resource\.gpu\.vendor"):
        build_pod_sets({"spark.executor.resource.gpu.amount": "2"})
    with pytest.raises(DriverBuildError, match="devices that the executor needs"):
        build_pod_sets({"spark.executor.resource.gpu.vendor": "nvidia.com"})


def test_node_selectors_of_the_configuration_are_added_to_those_of_the_template() -> None:
    template = {"spec": {"nodeSelector": {"zone": "a", "disk": "hdd"}, "containers": []}}
    found = build_pod_sets(
        {"spark.kubernetes.node.selector.disk": "ssd", "spark.kubernetes.executor.node.selector.pool": "spot"},
        mainClass="Main",
        executorSpec={"podTemplateSpec": template},
    )
    assert found["executor"].template["spec"]["nodeSelector"] == {"zone": "a", "disk": "ssd", "pool": "spot"}
    assert found["driver"].template["spec"]["nodeSelector"] == {"disk": "ssd"}


def test_requests_are_written_to_the_spark_container_of_the_template() -> None:
    template = {
        "metadata": {"name": "unused", "labels": {"team": "a"}},
        "spec": {
            "containers": [
                {"name": "main", "resources": {"requests": {"memory": "1Mi", "storage": "1Gi"}}},
                {"name": "proxy", "resources": {"requests": {"cpu": "100m"}}},
            ]
        },
    }
    found = build_pod_sets(
        {"spark.kubernetes.driver.podTemplateContainerName": "main"},
        mainClass="Main",
        driverSpec={"podTemplateSpec": template},
    )["driver"]
    containers = {each["name"]: each["resources"]["requests"] for each in found.template["spec"]["containers"]}
    assert containers == {"proxy": {"cpu": "100m"}, "main": {"cpu": "1", "memory": "1408Mi", "storage": "1Gi"}}
    assert found.template["metadata"] == {"labels": {"team": "a"}}


@pytest.mark.parametrize(
    "conf",
    [{"spark.kubernetes.driver.master": "local[2]"}, {"spark.master": "spark://cluster-master-svc:7077"}],
    ids=["local", "standalone"],
)
def test_executors_that_are_no_pods_have_no_pod_set(conf: dict[str, str]) -> None:
    assert list(build_pod_sets({**conf, **DYNAMIC})) == ["driver"]


@pytest.mark.parametrize(
    ("conf", "field"),
    [
        ({"spark.executor.instances": "-1"}, r"spark\.executor\.instances"),
        ({"spark.memory.offHeap.enabled": "true"}, r"spark\.memory\.offHeap\.size"),
        ({"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "1"}, r"at least 1 MiB"),
        ({"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "9000000p"}, r"too large"),
        ({"spark.executor.memory": "-1"}, r"spark\.executor\.memory"),
        ({"spark.kubernetes.driver.podTemplateFile": "/t.yaml"}, r"spec\.driverSpec\.podTemplateSpec"),
        ({"spark.kubernetes.executor.podTemplateFile": "/t.yaml"}, r"spec\.executorSpec\.podTemplateSpec"),
        (DYNAMIC, r"kueue-reserve-max-executors"),
    ],
)
def test_settings_whose_quota_is_unknown_are_refused(conf: dict[str, str], field: str) -> None:
    with pytest.raises(DriverBuildError, match=field):
        build_pod_sets(conf)


def test_dynamic_allocation_with_the_annotation_reserves_the_maximum() -> None:
    application = reserve_maximum(build_application({**DYNAMIC, "spark.dynamicAllocation.minExecutors": "3"}))
    executors = build_application_pod_sets(application, OPERATOR)[1]
    assert (executors.count, executors.ready_count) == (8, 3)


def test_dynamic_allocation_without_a_maximum_is_refused() -> None:
    application = reserve_maximum(build_application({"spark.dynamicAllocation.enabled": "true"}))
    with pytest.raises(DriverBuildError, match=r"spark\.dynamicAllocation\.maxExecutors"):
        build_application_pod_sets(application, OPERATOR)


def test_annotation_without_dynamic_allocation_has_no_effect() -> None:
    application = reserve_maximum(build_application({"spark.executor.instances": "5"}))
    executors = build_application_pod_sets(application, OPERATOR)[1]
    assert (executors.count, executors.ready_count) == (5, None)
