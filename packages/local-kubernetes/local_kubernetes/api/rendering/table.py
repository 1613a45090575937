"""Columns of `kubectl get`, and the format of ages and printer columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..kinds.documents import get_text, parse_timestamp
from .jsonpath import find_values

if TYPE_CHECKING:
    from ..kinds.documents import JsonObject

Document = Mapping[str, Any]
Cell = str | int | float | bool | None
NONE = "<none>"
_UNKNOWN = "<unknown>"


@dataclass(frozen=True)
class Column:
    """A column: its title, a function that returns its cell, its type and priority (1: only with `-o wide`)."""

    name: str
    cell: Callable[[Document, datetime], Cell]
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""

    def build_definition(self) -> JsonObject:
        """Return the column in the format of a table's header."""
        return {key: getattr(self, key) for key in ("name", "type", "format", "description", "priority")}


def format_age(moment: str | None, now: datetime) -> str:
    """Format the age of a time as kubectl does: `45s`, `3m20s`, `5h`, `2d`."""
    if not moment:
        return _UNKNOWN
    try:
        return format_duration(int((now - parse_timestamp(moment).astimezone(UTC)).total_seconds()))
    except ValueError:
        return "<invalid>"


def format_duration(seconds: int) -> str:
    """Format a duration with at most two units, rounded as Kubernetes does."""
    if seconds < 0:
        return "0s" if seconds > -2 else "<invalid>"
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10:
        return f"{minutes}m" + _format_rest(seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h" + _format_rest(minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d" + _format_rest(hours % 24, "h")
    if days < 730:
        return f"{days}d"
    years = days // 365
    return f"{years}y" + (_format_rest(days % 365, "d") if years < 8 else "")


def _format_rest(number: int, unit: str) -> str:
    return f"{number}{unit}" if number else ""


def build_field(*path: str, empty: str = "") -> Callable[[Document, datetime], Cell]:
    """Return the function of a column that shows a field."""
    return lambda document, _: get_text(document, path) or empty


def build_column(column: Mapping[str, Any]) -> Column:
    """Return the column of an entry in a CustomResourceDefinition."""
    kind = column.get("type") or "string"

    def format_cell(document: Document, now: datetime) -> Cell:
        values = find_values(document, column.get("jsonPath") or "")
        if not values:
            return _UNKNOWN if kind == "date" else None
        if kind == "date":
            return format_age(str(values[0]), now)
        if kind == "string":
            return ",".join(_format_text(value) for value in values)
        found = values[0]
        return found if isinstance(found, bool | int | float) else _format_text(found)

    more = {key: column[key] for key in ("priority", "format", "description") if key in column}
    return Column(column.get("name") or "", format_cell, kind, **more)


def _format_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


NAME = Column("Name", lambda document, _: str(document["metadata"]["name"]), format="name")
AGE = Column("Age", lambda document, now: format_age(document["metadata"].get("creationTimestamp"), now))
