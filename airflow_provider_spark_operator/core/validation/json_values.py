"""What Python and YAML can say and JSON cannot: dates, bytes, sets, no-numbers, values that contain themselves."""

import math
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Final, TypeAlias

from airflow_provider_spark_operator.core.models.parse import format_path
from airflow_provider_spark_operator.core.problems import Problem

_Location: TypeAlias = tuple[int | str, ...]

# Kubernetes' own kinds do not come near it; whatever writes or copies documents recurses.
_DEEPEST: Final = 100


def json_problems(document: Mapping[str, object]) -> list[Problem]:
    """Everything in `document` that could not be sent to the API; empty if nothing is.

    A value that several fields share is looked at once, and named by the first of them.
    """
    return list(_problems(document if isinstance(document, dict) else dict(document), (), [], set()))


def _problems(value: object, location: _Location, above: list[int], seen: set[int]) -> Iterator[Problem]:
    """What is wrong with `value`, which stands inside the objects and lists whose ids are `above`."""
    if not isinstance(value, dict | list | tuple):
        if message := _scalar_problem(value):
            yield Problem(format_path(location), message)
    elif id(value) in above:
        yield Problem(format_path(location), "contains itself: write out what is meant in place of the alias")
    elif len(location) >= _DEEPEST:
        yield Problem(format_path(location), f"is nested more than {_DEEPEST} levels deep: make it flatter")
    elif id(value) not in seen:
        seen.add(id(value))
        inside = [*above, id(value)]
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            # Other plain keys become strings, as kubectl makes them.
            if not isinstance(key, str | int | float | None):
                yield Problem(format_path(location), f"has a key that is {_named(key)}, no string: put it in quotes")
            else:
                part = key if isinstance(key, int) and not isinstance(value, dict) else str(key)
                yield from _problems(inner, (*location, part), inside, seen)


def _scalar_problem(value: object) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return "must be a finite number"
    if value is None or isinstance(value, str | int | float):
        return None
    if isinstance(value, date):
        return f"must be a string, not {_named(value)}: put it in quotes"
    return f"must be a string, a number, true or false, a list or an object, not {_named(value)}"


def _named(value: object) -> str:
    if isinstance(value, date):
        return "a date"
    return "binary data" if isinstance(value, bytes) else f"a {type(value).__name__}"
