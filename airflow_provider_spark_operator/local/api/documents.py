"""JSON documents as the API server handles them: plain dictionaries, copied on the way in and out."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

JsonObject = dict[str, Any]

Json = TypeVar("Json")


def copy_json(value: Json) -> Json:
    """Copy a JSON value deeply: several times faster than `copy.deepcopy`, which must expect cycles."""
    copied: Json = _copied(value)
    return copied


def text_at(document: Mapping[str, Any], path: Iterable[str]) -> str:
    """The value at a path of keys as a selector compares it: text, and the empty text where there is none."""
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


def timestamp(moment: datetime) -> str:
    """A time as Kubernetes writes it: RFC 3339, UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_timestamp(text: str) -> datetime:
    """The time that `timestamp` wrote (or one with fractions); raises ValueError otherwise."""
    return datetime.fromisoformat(text)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value
