"""Structural schemas of custom resources: pruning, defaults and validation.

Implements `openAPIV3Schema` of a CustomResourceDefinition as the API server does. Rules in CEL
(`x-kubernetes-validations`), combined schemas, exclusive bounds, multiples and string formats are not evaluated.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..kinds.documents import copy_json
from ..kinds.status import Cause
from ..kinds.types import get_schema
from .patterns import compile_pattern

Schema = Mapping[str, Any]

_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_OBJECT_KEYS = frozenset({"apiVersion", "kind", "metadata"})
_NOWHERE = "<nil>"


def find_unknown_fields(schema: Schema, document: Mapping[str, Any]) -> list[str]:
    """Return the paths of unknown fields, those of the metadata first."""
    unknown = list(_find_unknown(schema, document, "", root=True, remove=False))
    return [*_find_unknown_metadata(document, remove=False), *unknown]


def prune(schema: Schema, document: dict[str, Any]) -> None:
    """Remove unknown fields, in place."""
    for _ in (
        *_find_unknown(schema, document, "", root=True, remove=True),
        *_find_unknown_metadata(document, remove=True),
    ):
        pass


def apply_defaults(schema: Schema, value: Any) -> None:
    """Set the defaults of missing fields, in place, and of null fields where null is not allowed."""
    if isinstance(value, dict):
        for key, child in (schema.get("properties") or {}).items():
            missing = key not in value or (value[key] is None and not child.get("nullable"))
            if missing and "default" in child:
                value[key] = copy_json(child["default"])
            if key in value:
                apply_defaults(child, value[key])
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            for key, item in value.items():
                if key not in (schema.get("properties") or {}):
                    apply_defaults(others, item)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for item in value:
            apply_defaults(schema["items"], item)


def validate(schema: Schema, document: Mapping[str, Any]) -> list[Cause]:
    """Return all errors in a document; `metadata` is validated elsewhere."""
    own = {key: value for key, value in document.items() if key not in _OBJECT_KEYS}
    required = [key for key in schema.get("required") or [] if key not in _OBJECT_KEYS]
    properties = {k: v for k, v in (schema.get("properties") or {}).items() if k not in _OBJECT_KEYS}
    return list(find_violations({**schema, "required": required, "properties": properties}, own, ""))


def _find_unknown(schema: Schema, value: Any, path: str, *, root: bool, remove: bool) -> Iterator[str]:
    if isinstance(value, list):
        items = schema.get("items")
        for index, item in enumerate(value):
            if isinstance(items, dict):
                yield from _find_unknown(items, item, f"{path}[{index}]", root=False, remove=remove)
        return
    if not isinstance(value, dict):
        return
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    keeps = bool(schema.get(_PRESERVES)) or others is True
    known = _OBJECT_KEYS if root or schema.get(_EMBEDDED) else frozenset()
    for key in list(value):
        place = f"{path}.{key}" if path else key
        child = properties.get(key, others if isinstance(others, dict) else None)
        if key in known:
            continue
        if child is not None:
            yield from _find_unknown(child, value[key], place, root=False, remove=remove)
        elif not keeps:
            if remove:
                del value[key]
            yield place


def _find_unknown_metadata(document: Mapping[str, Any], *, remove: bool) -> Iterator[str]:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return
    known = get_schema("meta.v1.ObjectMeta")["properties"]
    for key in [key for key in metadata if key not in known]:
        if remove:
            del metadata[key]
        yield f"metadata.{key}"


def find_violations(schema: Schema, value: Any, path: str = "") -> Iterator[Cause]:
    """Yield the errors in a value at a path."""
    if value is None:
        if not schema.get("nullable") and schema.get("type"):
            yield _build_type_cause(path, schema["type"], value)
        return
    wrong_type = _find_type_violation(schema, value, path)
    if wrong_type is not None:
        yield wrong_type
    if _is_number(value):  # a number of the wrong type is still validated further
        yield from _find_number_violations(schema, value, path)
    elif wrong_type is not None:
        return
    yield from _find_keyword_violations(schema, value, path)
    if isinstance(value, dict):
        yield from _find_object_violations(schema, value, path)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        yield from _find_repeated(schema, value, path)
        for index, item in enumerate(value):
            yield from find_violations(schema["items"], item, f"{path}[{index}]")


def _find_type_violation(schema: Schema, value: Any, path: str) -> Cause | None:
    if schema.get(_INT_OR_STRING):
        fits = isinstance(value, int | str) and not isinstance(value, bool)
        return None if fits else _build_type_cause(path, "integer,string", value)
    expected = schema.get("type")
    if not expected or _is_of_type(value, expected):
        return None
    number_format = _get_number_format(schema)
    if not number_format or isinstance(value, str | list):
        return _build_type_cause(path, expected, value)
    found = "float64" if _is_number(value) else ""  # here the API server compares formats instead of types
    detail = f'Invalid value: "{found}": {path} in body must be of type {number_format}: "{found}"'
    return Cause(path, detail, "FieldValueTypeInvalid")


def _find_number_violations(schema: Schema, value: float, path: str) -> Iterator[Cause]:
    """Whether a number fits its type and format; the API server reports this error without a field."""
    expected, number_format = schema.get("type"), _get_number_format(schema)
    if expected == "integer":
        least, most = _INTEGERS.get(number_format, _INTEGERS["int64"])
        fits = float(value).is_integer() and least <= value <= most
    else:
        fits = number_format != "float" or abs(value) <= _LARGEST_FLOAT
    if not fits:
        detail = f"with format {number_format}" if number_format else "(default format)"
        yield Cause(_NOWHERE, f'Invalid value: "": Checked value must be of type {expected} {detail} in {path}')


def _find_object_violations(schema: Schema, value: Mapping[str, Any], path: str) -> Iterator[Cause]:
    for key in ("apiVersion", "kind") if schema.get(_EMBEDDED) else ():
        if not value.get(key):
            yield Cause(_join_path(path, key), "Required value", "FieldValueRequired")
    properties = schema.get("properties") or {}
    required = schema.get("required") or []
    others = schema.get("additionalProperties")
    for key, item in sorted(value.items()):
        child = properties.get(key, others if isinstance(others, dict) else None)
        if child is None:
            continue
        if item is None and not child.get("nullable"):
            continue  # the API server drops it, and reports it as missing if it is required
        yield from find_violations(child, item, _join_path(path, key))
    for key in required:
        if value.get(key) is None and not (properties.get(key) or {}).get("nullable"):
            yield Cause(_join_path(path, key), "Required value", "FieldValueRequired")


def _find_keyword_violations(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    if "enum" in schema and value not in schema["enum"]:
        supported = ", ".join(f'"{item}"' if isinstance(item, int) else json.dumps(item) for item in schema["enum"])
        message = f"Unsupported value: {json.dumps(value)}: supported values: {supported}"
        yield Cause(path, message, "FieldValueNotSupported")
    for keyword, (applies, holds, rule) in _KEYWORDS.items():
        bound = schema.get(keyword)
        if bound is None or not applies(value) or holds(value, bound):
            continue
        shown = len(value) if isinstance(value, list | dict) else json.dumps(value)
        detail = f"Invalid value: {shown}: {path} in body {rule.format(bound=bound)}"
        yield _LIMITS[keyword](path, bound, shown) if keyword in _LIMITS else Cause(path, detail)
        if _is_text(value):
            return  # a text is not validated further


def _find_repeated(schema: Schema, items: list[Any], path: str) -> Iterator[Cause]:
    """Yield the duplicate items of a set or keyed list."""
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or ()
    if kind not in ("map", "set"):
        return
    seen: list[Any] = []
    for index, item in enumerate(items):
        keyed = isinstance(item, dict) and kind == "map"
        identity = {key: item[key] for key in keys if key in item} if keyed else item
        if identity in seen:
            detail = f"Duplicate value: {json.dumps(identity, separators=(',', ':'))}"
            yield Cause(f"{path}[{index}]", detail, "FieldValueDuplicate")
        seen.append(identity)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: float) -> bool:
    """Whether a number is an integer for the API server: within 64 bits, or a float without a fraction."""
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return True
    return float(value).is_integer() and abs(value) < 2**53


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


_INTEGERS: Mapping[str, tuple[int, int]] = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
"""The smallest and the greatest integer, by format."""
_NUMBER_FORMATS = {"integer": tuple(_INTEGERS), "number": ("double", "float")}
_LARGEST_FLOAT = 3.4028235677973366e38

_Keyword = tuple[Callable[[Any], bool], Callable[[Any, Any], bool], str]
_KEYWORDS: dict[str, _Keyword] = {
    "minimum": (_is_number, lambda v, b: v >= b, "should be greater than or equal to {bound}"),
    "maximum": (_is_number, lambda v, b: v <= b, "should be less than or equal to {bound}"),
    "minLength": (_is_text, lambda v, b: len(v) >= b, "should be at least {bound} chars long"),
    "maxLength": (_is_text, lambda v, b: len(v) <= b, "should be at most {bound} chars long"),
    "pattern": (_is_text, lambda v, b: compile_pattern(b).search(v) is not None, "should match '{bound}'"),
    "minItems": (_is_list, lambda v, b: len(v) >= b, "should have at least {bound} items"),
    "maxItems": (_is_list, lambda v, b: len(v) <= b, "should have at most {bound} items"),
    "minProperties": (_is_object, lambda v, b: len(v) >= b, "should have at least {bound} properties"),
    "maxProperties": (_is_object, lambda v, b: len(v) <= b, "should have at most {bound} properties"),
}

_LIMITS: dict[str, Callable[[str, Any, Any], Cause]] = {
    "maxLength": lambda path, bound, _: Cause(
        path, f"Too long: may not be more than {bound} bytes", "FieldValueTooLong"
    ),
    **dict.fromkeys(
        ("maxItems", "maxProperties"),
        lambda path, bound, found: Cause(
            path, f"Too many: {found}: must have at most {bound} items", "FieldValueTooMany"
        ),
    ),
}

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": _is_object,
    "array": _is_list,
    "string": _is_text,
    "boolean": lambda value: isinstance(value, bool),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and _is_integer(value),
}


def _is_of_type(value: Any, expected: str) -> bool:
    return expected not in _TYPES or _TYPES[expected](value)


def _build_type_cause(path: str, expected: str, value: Any) -> Cause:
    found = next(
        (name for name in ("boolean", "integer", "number", "string", "array") if _TYPES[name](value)), "object"
    )
    found = "null" if value is None else found
    message = f'Invalid value: "{found}": {path} in body must be of type {expected}: "{found}"'
    return Cause(path, message, "FieldValueTypeInvalid")


def _get_number_format(schema: Schema) -> str:
    """Return the format of a number; empty for formats that its type does not have."""
    found = str(schema.get("format") or "")
    return found if found in _NUMBER_FORMATS.get(schema.get("type") or "", ()) else ""


def _join_path(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
