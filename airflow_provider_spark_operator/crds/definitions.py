"""The CustomResourceDefinitions: what the Apache operator's accept, these do.

`v1` is stored. `v1beta1` and `v1alpha1`, in which many documents are written, are served with the same
schema, so that they need no conversion.
"""

import copy
from collections.abc import Sequence
from typing import Any

from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.models.resource import Resource
from airflow_provider_spark_operator.core.names import GROUP, VERSIONS
from airflow_provider_spark_operator.crds.schema import Schema, at, structural_schema

_STORED_VERSION = "v1"

# The Apache operator's definition fills these in, and no others.
_DEFAULTS = {
    "spec.applicationTolerations.resourceRetainDurationMillis": -1,
    "spec.applicationTolerations.restartConfig.restartCounterResetMillis": -1,
    "spec.applicationTolerations.ttlAfterStopMillis": -1,
}

# Numbers of workers with which no operator can run a cluster: Kubernetes refuses the StatefulSet or the autoscaler.
# What the Apache operator runs must be accepted: Kubernetes accepts an autoscaler with a minimum of 0 if the feature
# HPAScaleToZero is enabled and the autoscaler has an Object or External metric. Resources that are stored already can
# still be updated, since the API server checks only fields that change.
_WORKER_RULES = [
    {"rule": "self.initWorkers >= 0", "message": "must not be negative", "fieldPath": ".initWorkers"},
    {
        "rule": "self.minWorkers >= self.maxWorkers || self.minWorkers >= 0",
        "message": "must not be negative if it is less than maxWorkers",
        "fieldPath": ".minWorkers",
    },
]

_STATE_COLUMN: Schema = {
    "name": "Current State",
    "type": "string",
    "jsonPath": ".status.currentState.currentStateSummary",
}
_OUTCOME_COLUMN: Schema = {
    "name": "Outcome",
    "type": "string",
    "jsonPath": ".status.outcome",
    "description": "Succeeded, Failed or Cancelled, once the application has ended.",
}
_ATTEMPT_COLUMN: Schema = {
    "name": "Attempt",
    "type": "integer",
    "jsonPath": ".status.currentAttemptSummary.attemptInfo.id",
    "priority": 1,
}
_AGE_COLUMN: Schema = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def custom_resource_definitions() -> list[dict[str, Any]]:
    """Every CustomResourceDefinition of this package, as documents to apply; new ones at every call."""
    return [
        _definition(
            "SparkApplication",
            "sparkapp",
            application_schema(),
            (_STATE_COLUMN, _OUTCOME_COLUMN, _ATTEMPT_COLUMN, _AGE_COLUMN),
        ),
        _definition("SparkCluster", "sparkcluster", cluster_schema(), (_STATE_COLUMN, _AGE_COLUMN)),
    ]


def application_schema() -> Schema:
    """The schema of a SparkApplication."""
    schema = _resource_schema(SparkApplication)
    for path, value in _DEFAULTS.items():
        at(schema, path)["default"] = value
    return schema


def cluster_schema() -> Schema:
    """The schema of a SparkCluster."""
    schema = _resource_schema(SparkCluster)
    at(schema, "spec.clusterTolerations.instanceConfig")["x-kubernetes-validations"] = copy.deepcopy(_WORKER_RULES)
    return schema


def _definition(kind: str, short_name: str, schema: Schema, columns: Sequence[Schema]) -> dict[str, Any]:
    singular = kind.lower()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": f"{singular}s",
                "singular": singular,
                "shortNames": [short_name],
            },
            "versions": [_version(name, schema, columns) for name in VERSIONS],
        },
    }


def _version(name: str, schema: Schema, columns: Sequence[Schema]) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "storage": name == _STORED_VERSION,
        "schema": {"openAPIV3Schema": copy.deepcopy(schema)},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [dict(column) for column in columns],
    }


def _resource_schema(model: type[Resource]) -> Schema:
    """The schema of a kind; nothing is required at the top, nor in the status, which other operators write too."""
    schema = structural_schema(model)
    del schema["required"]
    schema["properties"]["metadata"] = {"type": "object"}
    _drop_required(schema["properties"]["status"])
    return schema


def _drop_required(schema: Schema) -> None:
    schema.pop("required", None)
    for part in (*schema.get("properties", {}).values(), schema.get("additionalProperties"), schema.get("items")):
        if isinstance(part, dict):
            _drop_required(part)
