"""The part of OpenAPI that kubectl needs: the requests that validate fields, and the fields.

kubectl leaves the validation of fields to servers whose PATCH has the parameter `fieldValidation`, and explains the
schemas. The schemas of built-in kinds have no descriptions.
"""

from collections.abc import Mapping
from typing import Any

from ..kinds import types
from ..kinds.documents import JsonObject
from ..kinds.status import PageNotFound
from ..store.registry import KindRegistry, ServedKind
from .discovery import VERSION, list_group_versions

_INT_OR_STRING = "x-kubernetes-int-or-string"
_PATCH_TYPES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_FIELD_VALIDATION: JsonObject = {
    "name": "fieldValidation",
    "in": "query",
    "description": "Treatment of unknown fields: Ignore, Warn or Strict.",
    "schema": {"type": "string", "uniqueItems": True},
}


_EVERY_OBJECT: JsonObject = {
    "apiVersion": {"type": "string", "description": "The group and version of this object."},
    "kind": {"type": "string", "description": "The kind of this object."},
    "metadata": {"type": "object", "description": "Metadata of the object: its name, labels and owners."},
}


def build_index(kinds: KindRegistry) -> JsonObject:
    """Return the answer to `/openapi/v3`: the paths of the groups' documents."""
    paths = {}
    for group, version in list_group_versions(kinds):
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}"}
    return {"paths": paths}


def build_document(kinds: KindRegistry, path: str) -> JsonObject:
    """Return the answer to `/openapi/v3/PATH`, for a group and version (`apis/GROUP/VERSION`, `api/v1`).

    Raises:
        ApiStatusError: 404.
    """
    parts = path.split("/")
    group, version = ("", parts[-1]) if parts[0] == "api" else ("/".join(parts[1:-1]), parts[-1])
    if (group, version) not in list_group_versions(kinds):
        raise PageNotFound("")
    served = [item for item in kinds if (item.group, item.version) == (group, version)]
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]},
        "paths": dict(_build_path(item) for item in served),
        "components": {"schemas": {name: schema for item in served for name, schema in _build_schemas(item).items()}},
    }


PROTOBUF_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The protobuf document of `/openapi/v2` for kubectl: it is empty and describes no kind."""


def build_swagger() -> JsonObject:
    """Return the answer to `/openapi/v2`: a document without kinds."""
    info = {"title": "Kubernetes", "version": VERSION["gitVersion"]}
    return {"swagger": "2.0", "info": info, "paths": {}, "definitions": {}}


def _build_path(served: ServedKind) -> tuple[str, JsonObject]:
    root = f"/apis/{served.group}/{served.version}" if served.group else f"/api/{served.version}"
    place = "/namespaces/{namespace}" if served.kind.namespaced else ""
    body = {media_type: {"schema": {"type": "object"}} for media_type in _PATCH_TYPES}
    operation: JsonObject = {
        "operationId": f"patch{served.kind.kind}",
        "parameters": [_FIELD_VALIDATION],
        "requestBody": {"content": body, "required": True},
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": _describe_type(served),
    }
    return f"{root}{place}/{served.kind.plural}/{{name}}", {"patch": operation}


def _build_schemas(served: ServedKind) -> dict[str, JsonObject]:
    """Return the schema of a kind and of the types that it refers to, by name."""
    if served.schema is None:
        name = types.get_type_name(served.group, served.version, served.kind.kind)
        described = types.describe(name, lambda other: f"#/components/schemas/{other}")
        return described | {name: described[name] | {"x-kubernetes-group-version-kind": [_describe_type(served)]}}
    schema = dict(_describe_choices(served.schema))
    schema["properties"] = _EVERY_OBJECT | (schema.get("properties") or {})
    return {_get_schema_name(served): schema | {"x-kubernetes-group-version-kind": [_describe_type(served)]}}


def _describe_choices(schema: Any) -> Any:
    """Return a schema in which an int-or-string value is described as clients of OpenAPI expect."""
    if isinstance(schema, list):
        return [_describe_choices(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    either = {"anyOf": [{"type": "integer"}, {"type": "string"}]} if schema.get(_INT_OR_STRING) is True else {}
    return either | {key: _describe_choices(value) for key, value in schema.items()}


def _get_schema_name(served: ServedKind) -> str:
    reversed_group = ".".join(reversed(served.group.split(".")))
    return f"{reversed_group}.{served.version}.{served.kind.kind}"


def _describe_type(served: ServedKind) -> JsonObject:
    return {"group": served.group, "version": served.version, "kind": served.kind.kind}
