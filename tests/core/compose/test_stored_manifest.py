from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.manifest import build_manifest, is_stored
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_CLAIM, LABEL_TASK

STORED: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "metadata": {
        "name": "pi",
        "namespace": "jobs",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 2,
        "managedFields": [],
        "finalizers": ["sparkapplications.spark.apache.org/finalizer"],
        "labels": {"team": "a", LABEL_TASK: "hash"},
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "note": "kept",
            ANNOTATION_CLAIM: "c",
        },
    },
    "spec": {"pyFiles": "local:///pi.py"},
    "status": {"currentState": {}},
}


def test_manifest_has_only_what_the_user_has_set() -> None:
    assert build_manifest(STORED) == {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {"name": "pi", "namespace": "jobs", "labels": {"team": "a"}, "annotations": {"note": "kept"}},
        "spec": {"pyFiles": "local:///pi.py"},
    }


def test_metadata_that_is_absent_or_invalid_stays_so() -> None:
    assert build_manifest({"metadata": {"name": "pi", "labels": 7}})["metadata"] == {"name": "pi", "labels": 7}


@pytest.mark.parametrize(
    ("document", "stored"),
    [(STORED, True), ({"metadata": {"name": "pi"}}, False), ({"metadata": 7}, False), ({}, False)],
)
def test_stored_application_has_a_uid(document: dict[str, Any], stored: bool) -> None:
    assert is_stored(document) is stored
