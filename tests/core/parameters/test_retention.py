"""The time to live of a stopped application, and the retention of failed driver pods."""

from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import APACHE, dialect_of
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_TTL_AFTER_SUCCESS
from airflow_provider_spark_operator.core.parameters.arguments import find_retention_problem, find_ttl_problem

DOCUMENT: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {"pyFiles": "local:///opt/job.py"},
}
WEEK = 604_800_000
KUBEFLOW_DOCUMENT = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "spec": {"type": "Python"},
}


def build_apache_document(**tolerations: Any) -> dict[str, Any]:
    return DOCUMENT | {"spec": DOCUMENT["spec"] | {"applicationTolerations": tolerations}}


def set_ttl(document: JsonObject, ttl: float | None) -> JsonObject:
    return dialect_of(document["apiVersion"]).write_ttl(document, ttl)


def keep_failed_driver(document: JsonObject, seconds: float) -> JsonObject:
    return dialect_of(document["apiVersion"]).keep_failed_driver(document, seconds)


def get_ttl_millis(document: dict[str, Any]) -> int | None:
    tolerations: dict[str, int] = document["spec"].get("applicationTolerations", {})
    return tolerations.get("ttlAfterStopMillis")


def test_default_ttl_is_seven_days_and_shorter_after_success() -> None:
    made = set_ttl(DOCUMENT, None)
    assert get_ttl_millis(made) == WEEK
    assert made["metadata"]["annotations"] == {ANNOTATION_TTL_AFTER_SUCCESS: "86400"}
    assert "applicationTolerations" not in DOCUMENT["spec"]


@pytest.mark.parametrize("stated", [-1, 0, 5])
def test_ttl_of_document_is_kept(stated: int) -> None:
    document = build_apache_document(ttlAfterStopMillis=stated)
    assert set_ttl(document, None) == document


@pytest.mark.parametrize(("ttl", "expected"), [(90, 90_000), (0.5, 500), (0, 0), (-1, -1)])
def test_given_ttl_overrides_ttl_of_document(ttl: float, expected: int) -> None:
    document = build_apache_document(ttlAfterStopMillis=5, resourceRetainPolicy="Always")
    made = set_ttl(document, ttl)
    assert made["spec"]["applicationTolerations"] == {"ttlAfterStopMillis": expected, "resourceRetainPolicy": "Always"}
    assert "metadata" not in made


def test_v1alpha1_document_gets_no_default_ttl() -> None:
    older = DOCUMENT | {"apiVersion": "spark.apache.org/v1alpha1"}
    assert set_ttl(older, None) == older
    assert get_ttl_millis(set_ttl(older, 5)) == 5000


def test_invalid_tolerations_are_unchanged() -> None:
    document = DOCUMENT | {"spec": {"applicationTolerations": ["ttl"]}}
    assert set_ttl(document, 5) == document


@pytest.mark.parametrize(
    ("own", "ttl", "expected"),
    [
        ({}, None, {"timeToLiveSeconds": 604_800}),
        ({"timeToLiveSeconds": 30}, None, {"timeToLiveSeconds": 30}),
        ({"timeToLiveSeconds": 30}, 1.5, {"timeToLiveSeconds": 2}),
        # For Kubeflow, -1 would mean to delete the application immediately.
        ({"timeToLiveSeconds": 30}, -1, {}),
    ],
)
def test_kubeflow_ttl_is_written_in_seconds(own: dict[str, Any], ttl: float | None, expected: dict[str, Any]) -> None:
    document = KUBEFLOW_DOCUMENT | {"spec": {"type": "Python"} | own}
    assert set_ttl(document, ttl) == KUBEFLOW_DOCUMENT | {"spec": {"type": "Python"} | expected}


@pytest.mark.parametrize("ttl", [-2, timedelta(seconds=-1), "1h", True, float("nan")])
def test_invalid_time_to_live_is_reported(ttl: timedelta | float | str) -> None:
    assert str(find_ttl_problem(ttl)).startswith("ttl: must be a number of seconds, a timedelta, or -1 to keep")


def test_time_to_live_that_kubernetes_cannot_store_is_reported() -> None:
    assert str(find_ttl_problem(1e300)).startswith("ttl: must be at most 9223372036854775 seconds")


@pytest.mark.parametrize("ttl", [None, -1, 0, 5, timedelta(hours=1)])
def test_valid_time_to_live_is_accepted(ttl: timedelta | int | None) -> None:
    assert find_ttl_problem(ttl) is None


@pytest.mark.parametrize(
    ("millis", "seconds"), [(1500, 1.5), (0, 0.0), (-1, None), (True, None), ("5", None), (None, None)]
)
def test_time_to_live_is_read_in_seconds(millis: int | str | None, seconds: float | None) -> None:
    assert APACHE.read_ttl(build_apache_document(ttlAfterStopMillis=millis)) == seconds


def test_keep_failed_driver_sets_retain_policy_and_duration() -> None:
    made = keep_failed_driver(build_apache_document(ttlAfterStopMillis=5), 300)
    assert made["spec"]["applicationTolerations"] == {
        "ttlAfterStopMillis": 5,
        "resourceRetainPolicy": "OnFailure",
        "resourceRetainDurationMillis": 300_000,
    }


@pytest.mark.parametrize(
    "document",
    [
        build_apache_document(resourceRetainPolicy="Never"),
        build_apache_document(resourceRetainDurationMillis=1000),
        build_apache_document() | {"apiVersion": "spark.apache.org/v1beta1"},
        DOCUMENT | {"spec": {"applicationTolerations": ["ttl"]}},
        KUBEFLOW_DOCUMENT,
    ],
)
def test_document_without_retention_fields_or_with_own_values_is_unchanged(document: dict[str, Any]) -> None:
    assert keep_failed_driver(document, 5) == document


@pytest.mark.parametrize(("keep", "valid"), [(None, True), (5, True), (-1, False), (True, False), ("5m", False)])
def test_invalid_retention_duration_is_reported(keep: int | str | None, valid: bool) -> None:
    assert (find_retention_problem("keep_failed_driver", keep) is None) is valid


def test_keep_driver_respects_retain_policy_of_document() -> None:
    made = APACHE.keep_driver(build_apache_document(resourceRetainPolicy="Never"), 600)
    assert made["spec"]["applicationTolerations"] == {
        "resourceRetainPolicy": "Never",
        "resourceRetainDurationMillis": 600_000,
    }
