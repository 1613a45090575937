"""Validation of a definition's schema: done once, so that all readers can rely on it."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..kinds.status import Cause
from .patterns import compile_pattern

_INT_OR_STRING = "x-kubernetes-int-or-string"
_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_TYPES = ("array", "boolean", "integer", "number", "object", "string")


def find_schema_causes(schema: object, path: str, *, typed: bool = True) -> Iterator[Cause]:
    """Return all errors in the schema at a path of a definition; a `typed` schema must have a type."""
    if not isinstance(schema, dict):
        yield Cause(path, "Invalid value: a schema must be an object", "FieldValueTypeInvalid")
        return
    if typed and not any(schema.get(key) for key in ("type", _INT_OR_STRING, _PRESERVES)):
        yield Cause(f"{path}.type", "Required value: must not be empty for specified fields", "FieldValueRequired")
    for keyword, value in schema.items():
        place = f"{path}.{keyword}"
        rule = _KEYWORDS.get(keyword)
        if rule is not None and value is not None and not rule[0](value):
            yield Cause(place, f"Invalid value: {rule[1]}")
        else:
            yield from _find_inner_causes(keyword, value, place, typed=typed)


def _find_inner_causes(keyword: str, value: Any, path: str, *, typed: bool) -> Iterator[Cause]:
    if value is None:
        return
    if keyword == "properties":
        for name, child in value.items():
            yield from find_schema_causes(child, f"{path}[{name}]", typed=typed)
    elif keyword == "not":
        yield from find_schema_causes(value, path, typed=False)
    elif keyword == "items" or (keyword == "additionalProperties" and not isinstance(value, bool)):
        yield from find_schema_causes(value, path, typed=typed)
    elif keyword in ("allOf", "anyOf", "oneOf"):
        for index, child in enumerate(value):
            yield from find_schema_causes(child, f"{path}[{index}]", typed=False)
    elif keyword == "pattern":
        try:
            compile_pattern(value)
        except re.error as error:
            yield Cause(path, f"Invalid value: {value!r} is not a regular expression: {error}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_Rule = tuple[Callable[[Any], bool], str]
_FLAG: _Rule = (lambda value: isinstance(value, bool), "must be true or false")
_NUMBER: _Rule = (_is_number, "must be a number")
_COUNT: _Rule = (_is_count, "must be an integer of at least 0")
_LIST: _Rule = (lambda value: isinstance(value, list), "must be a list")
_TEXT: _Rule = (lambda value: isinstance(value, str), "must be a string")
_TEXTS: _Rule = (_are_texts, "must be a list of strings")

_KEYWORDS: dict[str, _Rule] = {
    "type": (lambda value: value in _TYPES or value == "", f"must be one of {', '.join(_TYPES)}"),
    "properties": (lambda value: isinstance(value, dict), "must be an object"),
    "required": _TEXTS,
    "enum": _LIST,
    "allOf": _LIST,
    "anyOf": _LIST,
    "oneOf": _LIST,
    "nullable": _FLAG,
    "pattern": _TEXT,
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "exclusiveMinimum": _FLAG,
    "exclusiveMaximum": _FLAG,
    "multipleOf": (lambda value: _is_number(value) and value > 0, "must be a number greater than 0"),
    "minLength": _COUNT,
    "maxLength": _COUNT,
    "minItems": _COUNT,
    "maxItems": _COUNT,
    "minProperties": _COUNT,
    "maxProperties": _COUNT,
    "x-kubernetes-preserve-unknown-fields": _FLAG,
    "x-kubernetes-embedded-resource": _FLAG,
    "x-kubernetes-int-or-string": _FLAG,
    "x-kubernetes-list-type": _TEXT,
    "x-kubernetes-map-type": _TEXT,
    "x-kubernetes-list-map-keys": _TEXTS,
}
