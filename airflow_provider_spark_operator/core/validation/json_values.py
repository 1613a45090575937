"""Find values that JSON cannot represent: dates, bytes, sets, NaN, infinity, and values that contain themselves."""

import math
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import islice
from typing import Any, Final, TypeAlias

from ..kubernetes.problems import MAX_PROBLEMS, Problem
from ..models.parse import format_path

_Location: TypeAlias = tuple[int | str, ...]

# Far deeper than any Kubernetes kind. Code that writes or copies documents is recursive.
_DEEPEST: Final = 100
# A SparkApplication with all fields has a few hundred values. The limit keeps the time of all later checks short.
_MAX_VALUES: Final = 3000


def find_json_problems(document: Mapping[str, object]) -> list[Problem]:
    """Return the problem of each value in `document` that cannot be sent to the API; empty if there is none.

    A value that several fields share is checked once, and reported at the first of them.
    """
    document = document if isinstance(document, dict) else dict(document)
    if _has_too_many_values(document):
        message = f"has more than {_MAX_VALUES} values: move data into a file or a ConfigMap that the driver reads"
        return [Problem("", f"the resource {message}")]
    return list(islice(_find_problems(document, (), [], set()), MAX_PROBLEMS))


def _has_too_many_values(document: Mapping[str, object]) -> bool:
    """Whether the objects and lists of `document` have too many entries, without those that the cluster writes."""
    metadata = document.get("metadata")
    written = {id(document.get("status")), id(metadata.get("managedFields") if isinstance(metadata, dict) else None)}
    count, pending, seen = 0, list[Any]([document]), written
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        count += len(value)
        if count > _MAX_VALUES:
            return True
        inner = value.values() if isinstance(value, dict) else value
        pending += (each for each in inner if isinstance(each, dict | list | tuple))
    return False


def _find_problems(value: object, location: _Location, above: list[int], seen: set[int]) -> Iterator[Problem]:
    """Find the problems of `value`, which is nested in the objects and lists with the ids `above`."""
    if not isinstance(value, dict | list | tuple):
        if message := _find_scalar_problem(value):
            yield Problem(format_path(location), message)
    elif id(value) in above:
        yield Problem(format_path(location), "contains itself: replace the YAML alias with a copy of its content")
    elif len(location) >= _DEEPEST:
        yield Problem(format_path(location), f"is nested more than {_DEEPEST} levels deep: reduce the nesting")
    elif id(value) not in seen:
        seen.add(id(value))
        inside = [*above, id(value)]
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            # Other scalar keys become strings, as with kubectl.
            if not isinstance(key, str | int | float | None):
                yield Problem(
                    format_path(location), f"has a key that is {_name_kind(key)}, not a string: put the key in quotes"
                )
            else:
                part = key if isinstance(key, int) and not isinstance(value, dict) else str(key)
                yield from _find_problems(inner, (*location, part), inside, seen)


def _find_scalar_problem(value: object) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return "must be a finite number"
    if value is None or isinstance(value, str | int | float):
        return None
    if isinstance(value, date):
        return f"must be a string, not {_name_kind(value)}: put it in quotes"
    return f"must be a string, a number, true or false, a list or an object, not {_name_kind(value)}"


def _name_kind(value: object) -> str:
    if isinstance(value, date):
        return "a date"
    return "binary data" if isinstance(value, bytes) else f"a {type(value).__name__}"
