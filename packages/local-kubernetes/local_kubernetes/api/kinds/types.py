"""The types of built-in kinds: their fields and the types of these.

`types.json` contains them as the real API server of `discovery.VERSION` describes them in its OpenAPI document. A field
is described by its type: `[type]` is a list, `{type}` a map. `by KEYS` marks a list with merge keys, `set` a set.
`patched by KEY` marks a list with another key for strategic merge patches. They add to a list marked `patched` and
replace a list marked `replaced`. `whole` marks a value with one owner.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from .documents import JsonObject

Schema = Mapping[str, Any]

PATH = Path(__file__).with_name("types.json")
LIST_KEYS = "x-kubernetes-list-map-keys"
LIST_TYPE = "x-kubernetes-list-type"
MAP_TYPE = "x-kubernetes-map-type"
PATCH_KEY = "x-kubernetes-patch-merge-key"
PATCH_STRATEGY = "x-kubernetes-patch-strategy"
OR_BOOLEAN = "or-boolean"
"""The format of an object for which true or false can stand."""
_FIELD = re.compile(r"(?P<shape>[\[{]?)(?P<type>[\w.-]+)[\]}]?(?P<words>.*)")
_SCALARS: Mapping[str, JsonObject] = {
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "boolean": {"type": "boolean"},
    "byte": {"type": "string", "format": "byte"},
    "int-or-string": {"format": "int-or-string", "x-kubernetes-int-or-string": True},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "micro-time": {"type": "string", "format": "micro-time"},
    "number": {"type": "number"},
    "quantity": {"type": "string", "format": "quantity"},
    "string": {"type": "string"},
    "time": {"type": "string", "format": "date-time"},
}


def get_type_name(group: str, version: str, kind: str) -> str:
    """Return the name of a kind's type, such as `core.v1.Pod` or `rbac.v1.Role`."""
    return f"{(group or 'core').partition('.')[0]}.{version}.{kind}"


def get_schema(name: str) -> Schema:
    """Return the schema of a type. A recursive type has a schema that contains itself and cannot be encoded."""
    return _build_schemas()[name]


def get_field(schema: Schema, name: str) -> Schema:
    """Return the schema of a field of an object; empty if it is not declared."""
    found = (schema.get("properties") or {}).get(name, schema.get("additionalProperties"))
    return found if isinstance(found, dict) else {}


def get_items(schema: Schema) -> Schema:
    """Return the schema of the items of a list; empty if it is not declared."""
    found = schema.get("items")
    return found if isinstance(found, dict) else {}


def describe(name: str, reference: Callable[[str], str]) -> dict[str, JsonObject]:
    """Return the schemas of a type and of all types that it uses, by name; `reference` formats a reference."""
    found: dict[str, JsonObject] = {}
    waiting = [name]

    def make_reference(other: str) -> JsonObject:
        waiting.append(other)
        return {"allOf": [{"$ref": reference(other)}]}

    while waiting:
        name = waiting.pop()
        if name not in found:
            fields = _read_types()["types"][name].items()
            found[name] = {
                "type": "object",
                "properties": {key: _build_schema(words, make_reference) for key, words in fields},
            }
    return found


@cache
def _read_types() -> JsonObject:
    detail: JsonObject = json.loads(PATH.read_text(encoding="utf-8"))
    return detail


@cache
def _build_schemas() -> Mapping[str, Schema]:
    types, whole = _read_types()["types"], _read_types()["whole"]
    schemas: dict[str, JsonObject] = {name: {"type": "object", "properties": {}} for name in types}
    for name in whole:
        schemas[name][MAP_TYPE] = "atomic"
    for name, fields in types.items():
        schemas[name]["properties"].update(
            {key: _build_schema(words, schemas.__getitem__) for key, words in fields.items()}
        )
    # OpenAPI describes these fields as any value, because the Go types are a schema or something else.
    definition = schemas["apiextensions.v1.JSONSchemaProps"]
    definition["properties"] |= {"items": definition, "additionalProperties": definition | {"format": OR_BOOLEAN}}
    return schemas


def _build_schema(detail: str, named: Callable[[str], JsonObject]) -> JsonObject:
    """Return the schema of a field; `named` returns the schema of a type."""
    shape, name, words = (_FIELD.fullmatch(detail) or _raise_no_field(detail)).groups()
    schema = _SCALARS[name] if name in _SCALARS else named(name)
    if shape:
        schema = (
            {"type": "array", "items": schema} if shape == "[" else {"type": "object", "additionalProperties": schema}
        )
    return schema | _build_merge_extensions(words.split()) if words else schema


def _build_merge_extensions(words: list[str]) -> JsonObject:
    """Return how a list or object is merged, as extensions of OpenAPI."""
    detail = " ".join(words)
    found: JsonObject = {MAP_TYPE: "atomic"} if "whole" in words else {}
    if "set" in words:
        found[LIST_TYPE] = "set"
    if keyed := re.search(r"(?<!patched )by (\S+)", detail):
        found |= {LIST_TYPE: "map", LIST_KEYS: keyed[1].split(",")}
        found[PATCH_KEY] = found[LIST_KEYS][0]
    if patched := re.search(r"patched by (\S+)", detail):
        found[PATCH_KEY] = patched[1]
    if "replaced" in words:
        del found[PATCH_KEY]
    if words[-1:] == ["patched"] or PATCH_KEY in found:
        found[PATCH_STRATEGY] = "merge"
    return found


def _raise_no_field(detail: str) -> NoReturn:
    raise ValueError(f"{detail!r} does not describe a field")
