"""Conversion of a pydantic model to a structural schema (OpenAPI v3), as the API server requires.

A structural schema has no references, titles or unions with null, and a type for each value. Values that the model
leaves open (`dict[str, Any]`, for Kubernetes types) keep all fields.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel

Schema: TypeAlias = dict[str, Any]

_DEFINITION = "#/$defs/"


def build_structural_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of `model` with field aliases and without defaults, which the operator sets."""
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
