"""The spec of a SparkApplication of `spark.apache.org`. The tests in `tests/core/compose` cover the other fields."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.base import Dialect
from airflow_provider_spark_operator.core.dialects.dialect import APACHE, DIALECTS
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource

DOCUMENT = {"spec": {"sparkConf": {"spark.driver.memory": "2g", "spark.executor.memory": 3, "spark.x": "y"}}}


def test_memory_is_read_from_the_properties() -> None:
    assert APACHE.read_memory(DOCUMENT) == {"spark.driver.memory": "2g"}


def test_memory_is_written_to_the_properties() -> None:
    made = APACHE.write_memory(DOCUMENT, {"spark.driver.memory": "4g"})
    assert made["spec"]["sparkConf"] == DOCUMENT["spec"]["sparkConf"] | {"spark.driver.memory": "4g"}
    assert APACHE.write_memory(DOCUMENT, {}) is DOCUMENT


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.group)
def test_properties_are_read_and_added(dialect: Dialect) -> None:
    assert dialect.read_properties(DOCUMENT) == DOCUMENT["spec"]["sparkConf"]
    assert dialect.read_properties({"spec": None}) == {}
    made = dialect.write_properties(DOCUMENT, {"spark.z": "1"})
    assert dialect.write_properties(DOCUMENT, {}) is DOCUMENT
    assert made["spec"]["sparkConf"] == DOCUMENT["spec"]["sparkConf"] | {"spark.z": "1"}


def test_time_to_live_is_changed_by_a_patch() -> None:
    assert APACHE.patch_ttl(5) == {"spec": {"applicationTolerations": {"ttlAfterStopMillis": 5000}}}


@pytest.mark.parametrize(
    ("spec", "url"),
    [
        ({"driverHttpRouteList": [{"httpRouteSpec": {"hostnames": ["a.example.com"]}}]}, "http://a.example.com/"),
        ({"driverServiceIngressList": [{"ingressSpec": {"rules": [{}, {"host": "b.example.com"}]}}]}, "http://b.example.com/"),
        ({"driverServiceIngressList": "none", "driverHttpRouteList": [{"httpRouteSpec": []}]}, ""),
        (None, ""),
    ],
)  # fmt: skip
def test_ui_url_is_read_from_routes_and_ingresses_of_any_shape(spec: dict[str, Any] | None, url: str) -> None:
    assert APACHE.read_ui_url({"spec": spec}) == url


def test_ui_behind_tls_has_a_secure_url() -> None:
    ingress = {"ingressSpec": {"tls": [{"hosts": ["a.example.com"]}], "rules": [{"host": "a.example.com"}]}}
    assert APACHE.read_ui_url({"spec": {"driverServiceIngressList": [ingress]}}) == "https://a.example.com/"


def mount(spec: dict[str, Any], *, executors: bool = False) -> dict[str, Any]:
    document = APACHE.mount_files({"spec": spec}, "files", {"job.py": "x = 1"}, executors=executors)
    mounted: dict[str, Any] = document["spec"]
    return mounted


def test_files_are_mounted_into_the_driver() -> None:
    made = mount({})
    assert made["configMapSpecs"] == [{"name": "files", "data": {"job.py": "x = 1"}}]
    pod = made["driverSpec"]["podTemplateSpec"]["spec"]
    assert [one["name"] for one in pod["containers"]] == ["spark-kubernetes-driver"]
    assert "executorSpec" not in made


def test_files_are_mounted_into_the_executors_if_needed() -> None:
    pod = mount({}, executors=True)["executorSpec"]["podTemplateSpec"]["spec"]
    assert pod["containers"][0]["volumeMounts"][0]["mountPath"] == "/opt/airflow-task"
    assert pod["volumes"][0]["configMap"] == {"name": "files"}


@pytest.mark.parametrize(
    ("conf", "containers", "mounted"),
    [
        ({}, ["sidecar", "spark-kubernetes-driver"], [False, True]),
        ({}, ["only"], [True]),
        ({"spark.kubernetes.driver.podTemplateContainerName": "main"}, ["a", "main"], [False, True]),
    ],
)
def test_container_that_runs_spark_gets_the_files(
    conf: dict[str, str], containers: list[str], mounted: list[bool]
) -> None:
    template = {"spec": {"containers": [{"name": name} for name in containers]}}
    made = mount({"sparkConf": conf, "driverSpec": {"podTemplateSpec": template}})
    found = made["driverSpec"]["podTemplateSpec"]["spec"]["containers"]
    assert ["volumeMounts" in one for one in found] == mounted


def test_field_of_wrong_type_is_reported_with_path() -> None:
    with pytest.raises(InvalidResource, match=r"spec\.driverSpec\.podTemplateSpec: must be an object"):
        mount({"driverSpec": {"podTemplateSpec": []}})


@pytest.mark.parametrize(("suspend", "expected"), [(True, True), (False, False), (None, False)])
def test_suspension_is_read(suspend: bool | None, expected: bool) -> None:
    assert APACHE.is_suspended({"spec": {"suspend": suspend}}) is expected


def test_ingress_without_a_host_has_no_url() -> None:
    assert APACHE.read_ui_url({"spec": {"driverServiceIngressList": [{"ingressSpec": {"rules": [{}]}}]}}) == ""


def test_documents_are_described_by_a_model() -> None:
    assert APACHE.has_model
    assert APACHE.find_problems({}) == []
