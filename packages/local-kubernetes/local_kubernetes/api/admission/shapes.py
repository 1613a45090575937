"""The JSON types of documents, as the types of Kubernetes require them.

The real API server decodes documents into Go types and rejects those that do not fit; all later steps rely on it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ..kinds import kinds
from ..kinds.documents import JsonObject, format_timestamp, parse_time
from ..kinds.quantities import normalize_quantity
from ..kinds.status import build_bad_request
from ..kinds.types import OR_BOOLEAN, Schema, get_schema
from ..store.registry import ServedKind

_METADATA = "meta.v1.ObjectMeta"
_EMPTY_LISTS_COUNT = frozenset({kinds.CUSTOM_RESOURCE_DEFINITIONS.key, kinds.ROLES.key, kinds.CLUSTER_ROLES.key})
_RULES = frozenset({kinds.ROLES.key, kinds.CLUSTER_ROLES.key})
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\d*(Z|[+-]\d\d:\d\d)", re.ASCII)


class _MisfitError(Exception):
    """A value at a path has another type than required."""


def check_shape(served: ServedKind, document: JsonObject) -> None:
    """Reject a document whose fields do not have the types of its kind; for a custom resource, check its metadata only.

    Nulls are dropped, in place, and quantities and times are converted to their canonical form.

    Raises:
        ApiStatusError: 400 with the first field that does not fit.
    """
    try:
        if not served.kind.custom:
            _decode_object(served.declared, document, "")
        elif document.get("metadata") is not None:
            document["metadata"] = _decode(get_schema(_METADATA), document["metadata"], "metadata")
    except _MisfitError as error:
        kind = served.kind.kind
        detail = f'{kind} in version "{served.version}" cannot be handled as a {kind}: {error}'
        raise build_bad_request(detail) from error
    if served.kind.key in _RULES and not document.get("rules"):
        document["rules"] = None
    if not served.kind.custom and served.kind.key not in _EMPTY_LISTS_COUNT:
        _drop_empty_lists(served.declared, document)


def _decode(schema: Schema, value: Any, path: str) -> Any:
    """Return a value as its type requires; containers are changed in place."""
    kind = schema.get("type")
    if kind == "object" and not (schema.get("format") == OR_BOOLEAN and isinstance(value, bool)):
        return _decode_object(schema, value, path)
    if kind == "array":
        return _decode_list(schema["items"], value, path)
    name = schema.get("format", kind)
    return _SCALARS[name](value, path) if name in _SCALARS else value


def _decode_object(schema: Schema, value: Any, path: str) -> JsonObject:
    if not isinstance(value, dict):
        _refuse(path, "an object", value)
    fields = schema.get("properties")
    for key, item in list(value.items()):
        place = f"{path}.{key}" if path else key
        child = schema["additionalProperties"] if fields is None else fields.get(key)
        if child is None:
            continue  # an unknown field is reported elsewhere
        if item is not None:
            value[key] = _decode(child, item, place)
        elif fields is None:
            value[key] = _get_zero(child)
        else:
            del value[key]
    return value


def _decode_list(items: Schema, value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        _refuse(path, "a list", value)
    for index, item in enumerate(value):
        value[index] = _get_zero(items) if item is None else _decode(items, item, f"{path}[{index}]")
    return value


def _get_zero(schema: Schema) -> Any:
    """Return the zero value that replaces null in a list or a map."""
    if schema.get("format") == "quantity":
        return "0"
    return _ZEROES[schema["type"]]() if "type" in schema else None


_ZEROES: Mapping[str, Callable[[], Any]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "number": int,
    "object": dict,
    "string": str,
}


def _check_text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _MisfitError(f"{path}: text is expected")  # the value may be secret
    return value


def _check_flag(value: Any, path: str) -> bool:
    return value if isinstance(value, bool) else _refuse(path, "true or false", value)


def _build_whole_number_check(bits: int) -> Callable[[Any, str], int]:
    def check(value: Any, path: str) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            return value
        _refuse(path, f"a whole number of {bits} bits", value)

    return check


def _check_number(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(path, "a number", value)
    return value


def _check_number_or_text(value: Any, path: str) -> int | str:
    return value if isinstance(value, str) else _build_whole_number_check(32)(value, path)


def _convert_quantity(value: Any, path: str) -> str:
    fits = isinstance(value, str | int | float) and not isinstance(value, bool)
    try:
        return normalize_quantity(value) if fits else _refuse(path, "a quantity", value)
    except ValueError:
        _refuse(path, "a quantity", value)


def _convert_time(value: Any, path: str) -> str:
    try:
        return format_timestamp(parse_time(value)) if isinstance(value, str) else _refuse(path, "a time", value)
    except (OverflowError, ValueError):
        _refuse(path, "a time", value)


def _check_micro_time(value: Any, path: str) -> str:
    if not isinstance(value, str) or _MICRO_TIME.fullmatch(value) is None:
        _refuse(path, "a time with microseconds", value)
    return value


_SCALARS: Mapping[str, Callable[[Any, str], Any]] = {
    "boolean": _check_flag,
    "byte": _check_text,
    "date-time": _convert_time,
    "int-or-string": _check_number_or_text,
    "int32": _build_whole_number_check(32),
    "int64": _build_whole_number_check(64),
    "micro-time": _check_micro_time,
    "number": _check_number,
    "quantity": _convert_quantity,
    "string": _check_text,
}


def _refuse(path: str, expected: str, value: Any) -> NoReturn:
    shown = repr(value)
    raise _MisfitError(f"{path}: {expected} is expected, not {shown if len(shown) <= 60 else type(value).__name__}")


def _drop_empty_lists(schema: Schema, document: JsonObject) -> None:
    """Remove the empty lists of a document and its specification, in place; the API server never shows them."""
    fields = schema["properties"]
    for part, known in ((document, fields), (document.get("spec"), (fields.get("spec") or {}).get("properties"))):
        if isinstance(part, dict) and known:
            for key in [key for key, item in part.items() if item == [] and key in known]:
                del part[key]
