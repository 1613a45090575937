"""The types of built-in kinds from a real API server, in the format of the local one."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from local_kubernetes.api.kinds.kinds import BUILT_IN_KINDS
from local_kubernetes.api.kinds.types import PATH, get_type_name

Json = dict[str, Any]

_LEAVES = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "micro-time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
}
_ROOTS = [(kind.group, kind.versions[0], kind.kind) for kind in BUILT_IN_KINDS]


def read_stored() -> Json:
    """Return the types that the local server has stored."""
    found: Json = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def store(types: Json) -> None:
    """Store types, one per line so that a diff is readable."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(fields)}" for name, fields in sorted(types["types"].items()))
    whole = json.dumps(sorted(types["whole"]))
    PATH.write_text(f'{{\n "whole": {whole},\n "types": {{\n{lines}\n }}\n}}\n', encoding="utf-8")


def collect_types(definitions: Mapping[str, Json]) -> Json:
    """Return the definitions of an OpenAPI document for the served kinds and all types that they use."""
    types: dict[str, dict[str, str]] = {}
    whole: list[str] = []
    kinds = {get_type_name(**kind): name for name, kind in _list_kinds(definitions)}
    open_names = [kinds[get_type_name(*root)] for root in _ROOTS]
    while open_names:
        name = open_names.pop()
        definition = definitions[name]
        if _shorten(name) in types:
            continue
        types[_shorten(name)] = {
            field: _describe(field_schema, definitions) for field, field_schema in definition["properties"].items()
        }
        if definition.get("x-kubernetes-map-type") == "atomic":
            whole.append(_shorten(name))
        open_names += [found for found in _find_references(definition) if _is_object(definitions[found])]
    return {"whole": sorted(whole), "types": types}


def _list_kinds(definitions: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind") or ():
            yield name, kind


def _describe(schema: Json, definitions: Mapping[str, Json]) -> str:
    """Describe a field in one word: its type, `[type]` for a list, `{type}` for a map, and how either is merged."""
    if schema.get("type") == "array":
        inner = _describe(schema["items"], definitions)
        keys = schema.get("x-kubernetes-list-map-keys") or []
        patch_key = schema.get("x-kubernetes-patch-merge-key")
        merged = schema.get("x-kubernetes-list-type")
        words = [f"[{inner}]"]
        words += [f"by {','.join(keys)}"] if keys else ["set"] if merged == "set" else []
        if patch_key and (not keys or keys[0] != patch_key):
            words.append(f"patched by {patch_key}")
        elif not patch_key and schema.get("x-kubernetes-patch-strategy") == "merge":
            words.append("patched")
        elif keys and not patch_key:
            words.append("replaced")
        return " ".join(words)
    if "$ref" in schema:
        name = _get_target(schema)
        if name in _LEAVES:
            return _LEAVES[name]
        if not _is_object(definitions[name]):
            return "any"
        return _shorten(name) + (" whole" if schema.get("x-kubernetes-map-type") == "atomic" else "")
    if schema.get("type") == "object" and "additionalProperties" in schema:
        inner = _describe(schema["additionalProperties"], definitions)
        return f"{{{inner}}}" + (" whole" if schema.get("x-kubernetes-map-type") == "atomic" else "")
    if schema.get("type") == "integer":
        return str(schema.get("format", "int64"))
    return "any" if schema.get("type") == "object" else str(schema["type"])


def _find_references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):  # a field can have this name, too
            yield _get_target(schema)
        for value in schema.values():
            yield from _find_references(value)


def _get_target(schema: Json) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _is_object(definition: Json) -> bool:
    return bool(definition.get("properties"))


def _shorten(name: str) -> str:
    """Return `core.v1.Pod` for `io.k8s.api.core.v1.Pod`."""
    return ".".join(name.split(".")[-3:])
