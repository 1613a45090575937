from typing import Any

import pytest

from airflow_provider_spark_operator.core.models.cluster import ClusterState
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.crds.definitions import find_part

INSTANCES = "spec.clusterTolerations.instanceConfig"


@pytest.fixture
def definition() -> dict[str, Any]:
    (definition,) = (
        each for each in build_custom_resource_definitions() if each["spec"]["names"]["kind"] == "SparkCluster"
    )
    return definition


@pytest.fixture
def schema(definition: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def test_names_equal_those_of_the_apache_operator(definition: dict[str, Any]) -> None:
    assert definition["metadata"]["name"] == "sparkclusters.spark.apache.org"
    assert definition["spec"]["names"] == {
        "kind": "SparkCluster",
        "listKind": "SparkClusterList",
        "plural": "sparkclusters",
        "singular": "sparkcluster",
        "shortNames": ["sparkcluster"],
    }
    assert definition["spec"]["scope"] == "Namespaced"


def test_state_and_age_are_printer_columns(definition: dict[str, Any]) -> None:
    for version in definition["spec"]["versions"]:
        assert [column["name"] for column in version["additionalPrinterColumns"]] == ["Current State", "Age"]


def test_all_versions_share_one_schema_and_v1_is_stored(definition: dict[str, Any]) -> None:
    versions = definition["spec"]["versions"]
    assert [(each["name"], each["storage"]) for each in versions] == [
        ("v1", True),
        ("v1beta1", False),
        ("v1alpha1", False),
    ]
    assert all(each["schema"] == versions[0]["schema"] for each in versions)
    assert all(each["served"] and each["subresources"] == {"status": {}} for each in versions)


def test_fields_required_by_the_apache_operator_are_required(schema: dict[str, Any]) -> None:
    assert schema.get("required") is None
    assert find_part(schema, "spec")["required"] == ["clusterTolerations", "runtimeVersions"]
    assert find_part(schema, "spec.clusterTolerations")["required"] == ["instanceConfig"]
    assert find_part(schema, INSTANCES)["required"] == ["initWorkers", "maxWorkers", "minWorkers"]
    assert find_part(schema, "spec.runtimeVersions")["required"] == ["sparkVersion"]
    assert find_part(schema, "status").get("required") is None
    assert find_part(schema, "status.currentState").get("required") is None


@pytest.mark.parametrize(
    "path",
    [
        "spec.masterSpec.serviceMetadata",
        "spec.masterSpec.serviceSpec",
        "spec.masterSpec.statefulSetMetadata",
        "spec.masterSpec.statefulSetSpec",
        "spec.workerSpec.serviceMetadata",
        "spec.workerSpec.serviceSpec",
        "spec.workerSpec.statefulSetMetadata",
        "spec.workerSpec.statefulSetSpec",
        "spec.workerSpec.horizontalPodAutoscalerSpec",
    ],
)
def test_kubernetes_types_preserve_unknown_fields(schema: dict[str, Any], path: str) -> None:
    assert find_part(schema, path)["x-kubernetes-preserve-unknown-fields"] is True


def test_state_is_an_enumeration(schema: dict[str, Any]) -> None:
    history = find_part(schema, "status.stateTransitionHistory")["additionalProperties"]
    assert history["properties"]["currentStateSummary"]["enum"] == sorted(ClusterState)


def test_cluster_status_has_no_driver_and_no_failure_counters(schema: dict[str, Any]) -> None:
    assert set(find_part(schema, "status.currentState")["properties"]) == {
        "currentStateSummary",
        "lastTransitionTime",
        "message",
        "reason",
        "suspendReason",
    }
    assert set(find_part(schema, "status.currentAttemptSummary.attemptInfo")["properties"]) == {"id", "restartCounter"}


def test_rules_reject_invalid_worker_counts(schema: dict[str, Any]) -> None:
    rules = find_part(schema, INSTANCES)["x-kubernetes-validations"]
    assert [rule["rule"] for rule in rules] == [
        "self.initWorkers >= 0",
        "self.minWorkers >= self.maxWorkers || self.minWorkers >= 0",
    ]
