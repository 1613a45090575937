"""The CustomResourceDefinition of the SparkApplication: what the Apache operator's accepts, this one does.

`v1` is stored. `v1beta1` and `v1alpha1`, in which many documents are written, are served with the same
schema, so that they need no conversion.
"""

from typing import Any

from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.names import GROUP
from airflow_provider_spark_operator.crds.schema import Schema, at, structural_schema

_STORED_VERSION = "v1"
_SERVED_VERSIONS = (_STORED_VERSION, "v1beta1", "v1alpha1")

# The Apache operator's definition fills these in, and no others.
_DEFAULTS = {
    "spec.applicationTolerations.resourceRetainDurationMillis": -1,
    "spec.applicationTolerations.restartConfig.restartCounterResetMillis": -1,
    "spec.applicationTolerations.ttlAfterStopMillis": -1,
}

_COLUMNS: list[dict[str, str | int]] = [
    {"name": "Current State", "type": "string", "jsonPath": ".status.currentState.currentStateSummary"},
    {
        "name": "Attempt",
        "type": "integer",
        "jsonPath": ".status.currentAttemptSummary.attemptInfo.id",
        "priority": 1,
    },
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def custom_resource_definitions() -> list[dict[str, Any]]:
    """Every CustomResourceDefinition of this package, as documents to apply; new ones at every call."""
    return [
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"sparkapplications.{GROUP}"},
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": {
                    "kind": "SparkApplication",
                    "listKind": "SparkApplicationList",
                    "plural": "sparkapplications",
                    "singular": "sparkapplication",
                    "shortNames": ["sparkapp"],
                },
                "versions": [_version(name) for name in _SERVED_VERSIONS],
            },
        }
    ]


def _version(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "storage": name == _STORED_VERSION,
        "schema": {"openAPIV3Schema": application_schema()},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [dict(column) for column in _COLUMNS],
    }


def application_schema() -> Schema:
    """The schema of a SparkApplication.

    Nothing is required at the top, nor in the status, which other operators write too.
    """
    schema = structural_schema(SparkApplication)
    del schema["required"]
    schema["properties"]["metadata"] = {"type": "object"}
    _drop_required(schema["properties"]["status"])
    for path, value in _DEFAULTS.items():
        at(schema, path)["default"] = value
    return schema


def _drop_required(schema: Schema) -> None:
    schema.pop("required", None)
    for part in (*schema.get("properties", {}).values(), schema.get("additionalProperties"), schema.get("items")):
        if isinstance(part, dict):
            _drop_required(part)
