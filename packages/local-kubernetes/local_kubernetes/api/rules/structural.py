"""Validation of a definition's schema: done once, so that all readers can rely on it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .patterns import compile_pattern
from .rules import build_required_cause, find_choice_causes

_UNTYPED = ("type", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")
_TYPES = ("array", "boolean", "integer", "number", "object", "string")


def find_schema_causes(schema: Mapping[str, Any], path: str, *, typed: bool = True) -> Iterator[Cause]:
    """Return all errors in the schema at a path of a definition; a `typed` schema must have a type.

    The keywords have the types of `JSONSchemaProps`; `check_shape` requires them.
    """
    if typed and not any(schema.get(key) for key in _UNTYPED):
        yield build_required_cause(f"{path}.type", "must not be empty for specified fields")
    if schema.get("type"):
        yield from find_choice_causes(schema["type"], _TYPES, f"{path}.type")
    if schema.get("multipleOf", 1) <= 0:
        yield Cause(f"{path}.multipleOf", "Invalid value: must be a number greater than 0")
    try:
        compile_pattern(schema.get("pattern", ""))
    except re.error as error:
        yield Cause(f"{path}.pattern", f"Invalid value: {schema['pattern']!r} is not a regular expression: {error}")
    for name, child in (schema.get("properties") or {}).items():
        yield from find_schema_causes(child, f"{path}.properties[{name}]", typed=typed)
    for keyword in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(keyword), dict):
            yield from find_schema_causes(schema[keyword], f"{path}.{keyword}", typed=typed and keyword != "not")
    for keyword in ("allOf", "anyOf", "oneOf"):
        for index, child in enumerate(schema.get(keyword) or []):
            yield from find_schema_causes(child, f"{path}.{keyword}[{index}]", typed=False)
