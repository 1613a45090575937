"""From a pydantic model to a structural schema (OpenAPI v3) as the API server asks for it.

A structural schema has no references, no titles, no unions with null, a type everywhere. Whatever the
model leaves open (`dict[str, Any]`: Kubernetes' own types) keeps all its fields.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel

Schema: TypeAlias = dict[str, Any]

_DEFINITION = "#/$defs/"


def structural_schema(model: type[BaseModel]) -> Schema:
    """The schema of `model` by its documents' names; without defaults, which are the operator's business."""
    schema = model.model_json_schema(by_alias=True)
    return _structural(schema, schema.get("$defs", {}))


def at(schema: Schema, path: str) -> Schema:
    """The part of `schema` at `path`: property names joined by dots.

    Raises:
        KeyError: there is no such property.
    """
    for name in path.split("."):
        schema = schema["properties"][name]
    return schema


def _structural(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    own_description = schema.get("description")
    schema = _resolved(schema, definitions)
    kind = schema["type"]
    result: Schema = {"type": kind}
    if description := own_description or schema.get("description"):
        result["description"] = description.split("\n\n")[0].replace("\n", " ")
    if "enum" in schema:
        result["enum"] = sorted(schema["enum"])
    if kind == "integer":
        result["format"] = "int64"
    elif kind == "array":
        result["items"] = _structural(schema["items"], definitions)
    elif kind == "object":
        result |= _object(schema, definitions)
    return result


def _object(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    if properties := schema.get("properties"):
        result: Schema = {"properties": {name: _structural(each, definitions) for name, each in properties.items()}}
        if required := schema.get("required"):
            result["required"] = sorted(required)
        return result
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        return {"additionalProperties": _structural(values, definitions)}
    return {"x-kubernetes-preserve-unknown-fields": True}


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """`schema` with its reference followed, and without the null of an optional field."""
    for alternative in schema.get("anyOf", ()):
        if alternative.get("type") != "null":
            return _resolved(alternative, definitions)
    reference = schema.get("$ref")
    return definitions[reference.removeprefix(_DEFINITION)] if reference else schema
