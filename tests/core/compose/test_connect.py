"""A Spark Connect server as an application."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.connect import (
    SERVER_CLASS,
    build_server_host,
    compose_server,
    find_token_secret,
    get_server_port,
    is_connect_server,
)
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource

CONTAINER = "spark-kubernetes-driver"


def build(version: str = "4.3.0", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {"name": "shared"},
        "spec": {"mainClass": SERVER_CLASS, "runtimeVersions": {"sparkVersion": version}, **spec},
    }


def get_containers(document: dict[str, Any]) -> Any:
    return document["spec"]["driverSpec"]["podTemplateSpec"]["spec"]["containers"]


def test_server_has_a_token_and_a_readiness_probe() -> None:
    document = compose_server(build(), authenticate=True)
    assert find_token_secret(document) == ("shared-connect", "token")
    probe = {"tcpSocket": {"port": 15002}, "periodSeconds": 1}
    assert get_containers(document) == [{"name": CONTAINER, "readinessProbe": probe}]


def test_probe_uses_the_configured_port_and_the_container_of_spark() -> None:
    template = {"spec": {"containers": [{"name": "log"}, {"name": "own", "image": "own:1"}]}}
    conf = {"spark.connect.grpc.binding.port": "15100", "spark.kubernetes.driver.podTemplateContainerName": "own"}
    given = build(sparkConf=conf, driverSpec={"podTemplateSpec": template})
    log, own = get_containers(compose_server(given, authenticate=False))
    assert (log, own["image"]) == ({"name": "log"}, "own:1")
    assert own["readinessProbe"]["tcpSocket"] == {"port": 15100}


def test_server_without_authentication_has_no_token_with_every_version() -> None:
    assert find_token_secret(compose_server(build("3.5.6"), authenticate=False)) is None


def test_version_without_authentication_is_rejected() -> None:
    with pytest.raises(InvalidResource, match=r"is 3\.5\.6, which has no authentication\. Use Spark 4, or set"):
        compose_server(build("3.5.6"), authenticate=True)


def test_name_that_the_service_of_the_driver_cannot_contain_is_rejected() -> None:
    longest = "a" * 48
    compose_server(build() | {"metadata": {"name": longest}}, authenticate=True)
    with pytest.raises(
        InvalidResource, match=r"metadata\.name: has 49 characters: use at most 48, because the name of"
    ):
        compose_server(build() | {"metadata": {"name": f"{longest}a"}}, authenticate=True)


def test_application_of_the_kubeflow_operator_is_rejected() -> None:
    document = build() | {"apiVersion": "sparkoperator.k8s.io/v1beta2"}
    with pytest.raises(InvalidResource, match=r"a Spark Connect server must have spark\.apache\.org/v1"):
        compose_server(document, authenticate=True)


@pytest.mark.parametrize(("spec", "expected"), [({"mainClass": SERVER_CLASS}, True), ({}, False), (None, False)])
def test_server_is_recognized_by_its_class(spec: object, expected: bool) -> None:
    assert is_connect_server({"spec": spec}) is expected


@pytest.mark.parametrize("value", ["", "name", ":key"])
def test_incomplete_reference_is_no_token(value: str) -> None:
    key = "spark.kubernetes.driver.secretKeyRef.SPARK_CONNECT_AUTHENTICATE_TOKEN"
    assert find_token_secret(build(sparkConf={key: value})) is None


def test_host_is_the_service_of_the_driver() -> None:
    assert build_server_host("shared-0-driver", "jobs") == "shared-0-driver-svc.jobs.svc"
    assert get_server_port(build()) == 15002
