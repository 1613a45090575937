"""The apiVersion, kind and metadata of a resource."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.document import (
    complete_kind,
    is_file_name,
    is_model,
    new_application,
    override_metadata,
)
from airflow_provider_spark_operator.core.kubernetes.names import CLUSTER_IDENTITY
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.models.application import SparkApplication

KUBEFLOW = "sparkoperator.k8s.io/v1beta2"


def test_parameters_override_document_metadata() -> None:
    document = {"metadata": {"name": "a", "namespace": "one", "labels": {"x": "y"}}}
    assert override_metadata(document, name="b", namespace=None) == {
        "metadata": {"name": "b", "namespace": "one", "labels": {"x": "y"}}
    }
    assert override_metadata({}, name=None, namespace="two") == {"metadata": {"namespace": "two"}}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"metadata": []}, "metadata: must be an object"),
        (
            {"metadata": {"name": "Big"}},
            "metadata.name: 'Big' is not a valid name for the application and its driver service",
        ),
        ({"metadata": {"name": "a" * 64}}, "metadata.name: has 64 characters: use at most 63"),
        ({"metadata": {"name": 3}}, "metadata.name: must be a string, not 3"),
        ({"metadata": {"namespace": "-x"}}, "metadata.namespace: '-x' is not a valid namespace"),
    ],
)
def test_invalid_metadata_is_rejected(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidResource, match=message):
        override_metadata(document, name=None, namespace=None)


def test_too_long_cluster_name_is_rejected() -> None:
    with pytest.raises(InvalidResource, match="has 46 characters: use at most 45"):
        override_metadata({}, name="a" * 46, namespace=None, identity=CLUSTER_IDENTITY)


def test_new_application_has_empty_spec() -> None:
    assert new_application() == {"apiVersion": "spark.apache.org/v1", "kind": "SparkApplication", "spec": {}}
    assert new_application(KUBEFLOW)["apiVersion"] == KUBEFLOW


@pytest.mark.parametrize(
    ("document", "api_version", "expected"),
    [
        ({}, None, {"kind": "SparkApplication"}),
        ({}, KUBEFLOW, {"apiVersion": KUBEFLOW, "kind": "SparkApplication"}),
        ({"apiVersion": KUBEFLOW, "kind": "X"}, KUBEFLOW, {"apiVersion": KUBEFLOW, "kind": "X"}),
    ],
)
def test_missing_kind_is_added_to_document(
    document: dict[str, Any], api_version: str | None, expected: dict[str, str]
) -> None:
    assert complete_kind(document, api_version) == expected


def test_document_with_other_api_version_is_rejected() -> None:
    with pytest.raises(InvalidResource, match=r"apiVersion: is 'spark.apache.org/v1', but the parameter"):
        complete_kind({"apiVersion": "spark.apache.org/v1"}, KUBEFLOW)


def test_only_model_instances_are_models() -> None:
    spec = {"pyFiles": "local:///a.py", "runtimeVersions": {"sparkVersion": "4.3.0"}}
    model = SparkApplication.model_validate({**new_application(), "metadata": {"name": "pi"}, "spec": spec})
    assert is_model(model)
    assert not is_model(SparkApplication)
    assert not is_model(new_application())


@pytest.mark.parametrize(
    ("text", "expected"),
    [("jobs/pi.yaml", True), ("pi.yml", True), ("pi.json", True), ("pi", False), ("kind: a\n# pi.yaml", False)],
)
def test_path_of_a_file_is_distinguished_from_a_document(text: str, expected: bool) -> None:
    assert is_file_name(text) is expected
