"""Reduce the definition of another operator to the fields that a test needs.

`python -m tests.contract.reduce_definition SOURCE TARGET` reads the operator's CustomResourceDefinition and writes the
schema of its stored version, without descriptions and without the parts that no parameter of the operator writes.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.compose.document import new_application, override_metadata
from airflow_provider_spark_operator.core.parameters.parameters import Parameters
from tests.every_parameter import EVERY, KUEUE, TIMEOUTS

KUBEFLOW = "sparkoperator.k8s.io"
_DROPPED = ("description", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")


def compose_every(group: str, version: str) -> dict[str, Any]:
    """Return the application of a group that every parameter describes."""
    unsupported = {**TIMEOUTS, **KUEUE} if group == KUBEFLOW else {}
    parameters = Parameters(**{name: value for name, value in EVERY.items() if name not in unsupported})
    document = override_metadata(new_application(f"{group}/{version}"), name="every", namespace=None)
    return apply_parameters(document, parameters)


def reduce_schema(schema: dict[str, Any], value: object) -> dict[str, Any]:
    """Return the schema with the properties of `value`, and those whose values are no objects or lists."""
    kept = {key: part for key, part in schema.items() if key not in (*_DROPPED, "properties", "items", "required")}
    values = value if isinstance(value, list) else [value]
    if "items" in schema:
        merged: dict[str, Any] = {}
        for entry in values:
            merged |= entry if isinstance(entry, dict) else {}
        return kept | {"items": reduce_schema(schema["items"], merged or None)}
    given = value if isinstance(value, dict) else {}
    properties = {
        name: reduce_schema(part, given.get(name))
        for name, part in schema.get("properties", {}).items()
        if name in given or part.get("type") not in ("object", "array")
    }
    required = [name for name in schema.get("required", ()) if name in properties]
    return kept | ({"properties": properties} if properties else {}) | ({"required": required} if required else {})


def main(source: str, target: str) -> None:
    """Write the reduced definition."""
    definition = yaml.safe_load(Path(source).read_text())
    spec = definition["spec"]
    version = next(one for one in spec["versions"] if one["storage"])
    document = compose_every(spec["group"], version["name"])
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    reduced = {
        "group": spec["group"],
        "version": version["name"],
        "spec": reduce_schema(schema, json.loads(json.dumps(document["spec"]))),
    }
    Path(target).write_text(yaml.safe_dump(reduced, sort_keys=True, width=120), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
