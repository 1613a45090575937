"""`spark-operator render` of a manifest with every parameter: the driver pod shows each of them in effect."""

import copy
import io
import json
from contextlib import redirect_stdout
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.compose.document import new_application, override_metadata
from airflow_provider_spark_operator.core.parameters.parameter_types import convert_to_plain
from airflow_provider_spark_operator.core.parameters.parameters import Parameters
from airflow_provider_spark_operator.core.spark.properties import parse_properties
from tests.every_parameter import EVERY, SPOT


@pytest.fixture(scope="module")
def resources(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return the resources that the command prints for the manifest of a task with every parameter."""
    document = override_metadata(new_application(), name="report", namespace="jobs")
    given: dict[str, Any] = {name: convert_to_plain(value) for name, value in EVERY.items()}
    file = tmp_path_factory.mktemp("render") / "report.yaml"
    file.write_text(yaml.safe_dump(apply_parameters(document, Parameters(**given))))
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert main(["render", "-o", "json", str(file)]) == ExitCode.SUCCESS
    found: list[dict[str, Any]] = json.loads(printed.getvalue())["items"]
    return found


@pytest.fixture(scope="module")
def pod(resources: list[dict[str, Any]]) -> dict[str, Any]:
    (pod,) = [one for one in resources if one["kind"] == "Pod"]
    return pod


@pytest.fixture(scope="module")
def container(pod: dict[str, Any]) -> dict[str, Any]:
    (container,) = pod["spec"]["containers"]
    found: dict[str, Any] = container
    assert found["name"] == "spark-kubernetes-driver"
    return found


def test_driver_has_labels_and_annotations(pod: dict[str, Any]) -> None:
    assert pod["metadata"]["labels"].items() >= {"team": "data", "cost-center": "7", "tier": "driver"}.items()
    assert pod["metadata"]["annotations"]["example.com/owner"] == "data@example.com"


def test_driver_has_environment_and_secrets(container: dict[str, Any]) -> None:
    environment = {entry["name"]: entry for entry in container["env"]}
    assert environment["REGION"]["value"] == "eu"
    assert environment["DEBUG"]["value"] == "false"
    assert environment["DB_PASSWORD"]["valueFrom"] == {"secretKeyRef": {"name": "database", "key": "password"}}


def test_driver_mounts_secrets_config_maps_and_volumes(pod: dict[str, Any], container: dict[str, Any]) -> None:
    volumes = {volume.pop("name"): volume for volume in copy.deepcopy(pod["spec"]["volumes"])}
    mounted = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    sources = {path: volumes[mount["name"]] for path, mount in mounted.items()}
    assert sources["/etc/certificates"] == {"secret": {"secretName": "certificates"}}
    assert sources["/etc/job"] == {"configMap": {"name": "job.settings"}}
    assert sources["/data"] == {"persistentVolumeClaim": {"claimName": "data", "readOnly": True}}
    assert (mounted["/data"]["readOnly"], mounted["/data"]["subPath"]) == (True, "2026")
    assert sources["/cache"] == {"emptyDir": {"sizeLimit": "1Gi"}}
    assert "/scratch" not in mounted


def test_driver_is_placed_and_pulled_as_given(pod: dict[str, Any], container: dict[str, Any]) -> None:
    spec = pod["spec"]
    assert spec["nodeSelector"] == {"pool": "spark"}
    assert spec["tolerations"] == [SPOT]
    assert spec["priorityClassName"] == "batch"
    assert spec["terminationGracePeriodSeconds"] == 60
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert container["imagePullPolicy"] == "Always"
    assert container["args"][:3] == ["driver", "--proxy-user", "alice"]


def test_driver_reads_properties_of_executors_packages_and_logs(resources: list[dict[str, Any]]) -> None:
    claim = "spark.kubernetes.executor.volumes.persistentVolumeClaim.spark-local-dir-1."
    expected = {
        "spark.executorEnv.REGION": "eu",
        "spark.kubernetes.executor.secretKeyRef.DB_PASSWORD": "database:password",
        "spark.kubernetes.executor.label.team": "data",
        "spark.kubernetes.executor.annotation.example.com/owner": "data@example.com",
        "spark.kubernetes.executor.node.selector.pool": "spark",
        f"{claim}mount.path": "/scratch",
        f"{claim}options.claimName": "OnDemand",
        f"{claim}options.storageClass": "fast",
        f"{claim}options.sizeLimit": "50Gi",
        "spark.jars.packages": "org.postgresql:postgresql:42.7.7",
        "spark.jars.excludes": "org.slf4j:slf4j-api",
        "spark.jars.repositories": "https://maven.example.com/releases",
        "spark.jars.ivy": "/tmp/.ivy2",
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "1",
        "spark.dynamicAllocation.maxExecutors": "20",
        "spark.dynamicAllocation.initialExecutors": "2",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": "s3a://logs/spark-events",
    }
    texts = [one["data"]["spark.properties"] for one in resources if "spark.properties" in one.get("data", {})]
    properties = parse_properties(texts[0])
    assert {key: properties.get(key) for key in expected} == expected
    assert "spark.kubernetes.executor.secrets.certificates" not in properties
