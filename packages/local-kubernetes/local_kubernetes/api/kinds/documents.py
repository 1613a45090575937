"""JSON documents as the API server handles them: plain dictionaries, copied when they enter and leave."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

JsonObject = dict[str, Any]

Json = TypeVar("Json")

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")
_LARGEST = 2**63 - 1
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def copy_json(value: Json) -> Json:
    """Copy a JSON value deeply; several times faster than `copy.deepcopy`, which must handle cycles."""
    copied: Json = _copy_value(value)
    return copied


def get_text(document: Mapping[str, Any], path: Iterable[str]) -> str:
    """Return the value at a path as text, for selectors; the empty text if there is none."""
    value: object = document
    for key in path:
        if not isinstance(value, Mapping):
            return ""
        value = value.get(key)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def format_timestamp(moment: datetime) -> str:
    """Format a time as Kubernetes does: RFC 3339, UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_timestamp(text: str) -> datetime:
    """Parse a time that `format_timestamp` wrote, or one with fractions; raises ValueError otherwise."""
    return datetime.fromisoformat(text)


def parse_time(text: str) -> datetime:
    """Parse an RFC 3339 time; raises ValueError if it is none, OverflowError if Python cannot represent it in UTC."""
    if _TIME.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not an RFC 3339 time")
    return parse_timestamp(text).astimezone(UTC)


def add_seconds(moment: datetime, seconds: int) -> datetime:
    """Return the time a number of seconds later, within the times that can be written."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC) if seconds > 0 else datetime.min.replace(tzinfo=UTC)


def parse_whole_number(text: str) -> int:
    """Parse an integer as Kubernetes does: digits and a sign, 64 bits; raises ValueError otherwise."""
    if _WHOLE_NUMBER.fullmatch(text) is None or abs(int(text)) > _LARGEST:
        raise ValueError(f"{text!r} is not an integer of 64 bits")
    return int(text)


def _copy_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy_value(item) for item in value]
    return value
