"""The CustomResourceDefinitions. They accept every resource that those of the Apache operator accept.

`v1` is stored. `v1beta1` and `v1alpha1`, which many resource files use, are deprecated and served with the same schema.
So a write through any version keeps all fields, as Kubernetes requires of versions that are served together.
"""

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from pydantic import BaseModel

from ..core.cluster_resources.frame import LAST_PORT
from ..core.kubernetes.names import GROUP, VERSIONS
from ..core.models.application import SparkApplication
from ..core.models.base import Resource
from ..core.models.cluster import SparkCluster

Schema: TypeAlias = dict[str, Any]

_DEFINITION = "#/$defs/"


def build_structural_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of `model` with field aliases and without defaults, which the operator sets."""
    return copy.deepcopy(_build_schema(model))


@cache  # pydantic needs longer for a schema than the local API server for its start
def _build_schema(model: type[BaseModel]) -> Schema:
    schema = model.model_json_schema(by_alias=True)
    return _convert(schema, schema.get("$defs", {}))


def find_part(schema: Schema, path: str) -> Schema:
    """Return the part of `schema` at `path`, a list of property names joined by dots.

    Raises:
        KeyError: The property does not exist.
    """
    for name in path.split("."):
        schema = schema["properties"][name]
    return schema


def _convert(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    own_description, nullable = schema.get("description"), schema.get("nullable", False)
    schema = _resolve(schema, definitions)
    kind = schema["type"]
    result: Schema = {"type": kind}
    if description := own_description or schema.get("description"):
        result["description"] = description.split("\n\n")[0].replace("\n", " ")
    if nullable:
        result["nullable"] = True
    if "enum" in schema:
        result["enum"] = sorted(schema["enum"])
    if kind == "integer":
        result["format"] = "int64"
    elif kind == "array":
        result["items"] = _convert(schema["items"], definitions)
    elif kind == "object":
        result |= _convert_object(schema, definitions)
    return result


def _convert_object(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    if properties := schema.get("properties"):
        result: Schema = {"properties": {name: _convert(each, definitions) for name, each in properties.items()}}
        if required := schema.get("required"):
            result["required"] = sorted(required)
        return result
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        return {"additionalProperties": _convert(values, definitions)}
    return {"x-kubernetes-preserve-unknown-fields": True}


def _resolve(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `schema` with its reference resolved, and without the null of an optional field."""
    for alternative in schema.get("anyOf", ()):
        if alternative.get("type") != "null":
            return _resolve(alternative, definitions)
    reference = schema.get("$ref")
    return definitions[reference.removeprefix(_DEFINITION)] if reference else schema


_STORED_VERSION = "v1"

# The only defaults that the definitions of the Apache operator set.
_APPLICATION_DEFAULTS = {
    "spec.suspend": False,
    "spec.applicationTolerations.resourceRetainDurationMillis": -1,
    "spec.applicationTolerations.restartConfig.restartCounterResetMillis": -1,
    "spec.applicationTolerations.ttlAfterStopMillis": -1,
}

# Numbers of workers with which Kubernetes rejects the StatefulSet or the autoscaler of a cluster.
# Every cluster that the Apache operator runs must be accepted. Kubernetes accepts an autoscaler with a minimum of 0
# if it has an Object or External metric and the feature HPAScaleToZero is
# enabled. Resources that are stored already can
# still be updated, since the API server checks only fields that change.
_WORKER_RULES = [
    {"rule": "self.initWorkers >= 0", "message": "must not be negative", "fieldPath": ".initWorkers"},
    {
        "rule": "self.minWorkers >= self.maxWorkers || self.minWorkers >= 0",
        "message": "must not be negative if the cluster scales automatically (minWorkers is less than maxWorkers)",
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


def build_custom_resource_definitions() -> list[dict[str, Any]]:
    """Return every CustomResourceDefinition of this package as a new document."""
    return [
        _build_definition(
            "SparkApplication",
            "sparkapp",
            build_application_schema(),
            (_STATE_COLUMN, _OUTCOME_COLUMN, _ATTEMPT_COLUMN, _AGE_COLUMN),
        ),
        _build_definition("SparkCluster", "sparkcluster", build_cluster_schema(), (_STATE_COLUMN, _AGE_COLUMN)),
    ]


def build_application_schema() -> Schema:
    """Return the schema of a SparkApplication."""
    schema = _build_resource_schema(SparkApplication)
    for path, value in _APPLICATION_DEFAULTS.items():
        find_part(schema, path)["default"] = value
    return schema


def build_cluster_schema() -> Schema:
    """Return the schema of a SparkCluster."""
    schema = _build_resource_schema(SparkCluster)
    find_part(schema, "spec.clusterTolerations.instanceConfig")["x-kubernetes-validations"] = copy.deepcopy(
        _WORKER_RULES
    )
    find_part(schema, "spec.suspend")["default"] = False
    find_part(schema, "spec.workerSpec.networkPolicy.metricsPort").update(minimum=1, maximum=LAST_PORT)
    return schema


def _build_definition(kind: str, short_name: str, schema: Schema, columns: Sequence[Schema]) -> dict[str, Any]:
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
            "versions": [_build_version(name, kind, schema, columns) for name in VERSIONS],
        },
    }


def _build_version(name: str, kind: str, schema: Schema, columns: Sequence[Schema]) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "storage": name == _STORED_VERSION,
        **({} if name == _STORED_VERSION else _build_deprecation(name, kind)),
        "schema": {"openAPIV3Schema": copy.deepcopy(schema)},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [dict(column) for column in columns],
    }


def _build_deprecation(version: str, kind: str) -> dict[str, Any]:
    # The API server sends the warning with every answer; kubectl prints it.
    warning = f"{GROUP}/{version} {kind} is deprecated; use {GROUP}/{_STORED_VERSION} {kind}"
    return {"deprecated": True, "deprecationWarning": warning}


def _build_resource_schema(model: type[Resource]) -> Schema:
    """Return the schema of a kind; no field is required at the top, or in the status, which others write too."""
    schema = build_structural_schema(model)
    del schema["required"]
    schema["properties"]["metadata"] = {"type": "object"}
    _drop_required(schema["properties"]["status"])
    return schema


def _drop_required(schema: Schema) -> None:
    schema.pop("required", None)
    for part in (*schema.get("properties", {}).values(), schema.get("additionalProperties"), schema.get("items")):
        if isinstance(part, dict):
            _drop_required(part)
