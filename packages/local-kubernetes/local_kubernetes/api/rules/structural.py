"""Validation of a definition's schema: done once, so that all readers can rely on it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .patterns import compile_pattern
from .rules import build_required_cause, find_choice_causes

_UNTYPED = ("type", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")
_TYPES = ("array", "boolean", "integer", "number", "object", "string")


def find_schema_causes(schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """Return all errors in the schema at a path of a definition.

    The keywords have the types of `JSONSchemaProps`; `check_shape` requires them.
    """
    if not any(schema.get(key) for key in _UNTYPED):
        yield build_required_cause(f"{path}.type", "must not be empty for specified fields")
    if schema.get("type"):
        yield from find_choice_causes(schema["type"], _TYPES, f"{path}.type")
    try:
        compile_pattern(schema.get("pattern", ""))
    except re.error as error:
        yield Cause(f"{path}.pattern", f"Invalid value: {schema['pattern']!r} is not a regular expression: {error}")
    for name, child in (schema.get("properties") or {}).items():
        yield from find_schema_causes(child, f"{path}.properties[{name}]")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from find_schema_causes(schema[keyword], f"{path}.{keyword}")
