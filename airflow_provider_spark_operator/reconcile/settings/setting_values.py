"""The readers of setting values. Each raises ValueError with a message such as "must be a number"."""

import math
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeAlias

from ...core.kubernetes import names
from ...core.kubernetes.ownership import LeaseReference
from ...core.parameters.parameter_types import read_flag as parse_flag
from ..objects.scope import EveryNamespace, NamedNamespaces, Scope

SettingValue: TypeAlias = str | bool | timedelta | float | int | Scope | LeaseReference | tuple[str, ...]

_MAX_PATTERNS = 100
_LONGEST_PATTERN = 200


def read_text(value: object) -> str:
    """Read a non-empty string, without the blanks around it."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a non-empty string")
    return value.strip()


def _read_valid(is_valid: Callable[[str], bool], noun: str, rule: str) -> Callable[[object], str]:
    """Return a reader of non-empty strings that satisfy a condition."""

    def read(value: object) -> str:
        if not is_valid(text := read_text(value)):
            raise ValueError(f"must be {noun} ({rule})")
        return text

    return read


read_namespace: Final = _read_valid(names.is_namespace, "the name of a namespace", names.NAMESPACE_RULE)
read_object_name: Final = _read_valid(names.is_object_name, "the name of an object", names.OBJECT_RULE)
read_label_value: Final = _read_valid(names.is_label_value, "a valid label value", names.LABEL_RULE)


def _read_words(value: object, message: str) -> tuple[str, ...]:
    """Read the entries of a list or of comma-separated text, without blanks and duplicates."""
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError(message)
    return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))


def read_flag(value: object) -> bool:
    """Read a boolean, or the text "true" or "false"."""
    flag = parse_flag(value)
    if flag is None:
        raise ValueError("must be true or false")
    return flag


def read_number(value: object) -> float:
    """Read a finite number, or the text of a number."""
    try:
        number = math.nan if isinstance(value, bool) else float(str(value).strip())
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("must be a number")
    return number


def read_seconds(value: object) -> timedelta:
    """Read a duration in seconds; a negative value counts as 0."""
    try:
        return timedelta(seconds=max(read_number(value), 0.0))
    except OverflowError:
        raise ValueError("must be a number of seconds below 86400000000000") from None


def read_positive(value: object) -> float:
    """Read a positive number of seconds."""
    seconds = read_number(value)
    if seconds <= 0:
        raise ValueError("must be a number of seconds above 0")
    return seconds


def read_count(value: object) -> int:
    """Read an integer; 0 and below mean no limit."""
    number = read_number(value)
    if number != int(number):
        raise ValueError("must be an integer")
    return int(number)


def read_workers(value: object) -> int:
    """Read a number of workers."""
    number = read_count(value)
    # In the Apache operator, 0 and below mean no limit. An idle worker here is only a waiting task.
    return number if number > 0 else 1000


def read_namespaces(value: object) -> Scope:
    """Read namespaces as a list or as comma-separated text; `*` means all namespaces."""
    stripped = _read_words(value, "must be a list of namespaces, or *")
    if not stripped:
        raise ValueError("must name at least one namespace, or *")
    if "*" in stripped:
        return EveryNamespace()
    if not all(map(names.is_namespace, stripped)):
        raise ValueError(f"must be names of namespaces ({names.NAMESPACE_RULE})")
    return NamedNamespaces(stripped)


def read_patterns(value: object) -> tuple[str, ...]:
    """Read regular expressions as a list or as comma-separated text, at most 100 of at most 200 characters."""
    stripped = _read_words(value, "must be a list of regular expressions")
    if len(stripped) > _MAX_PATTERNS or any(len(pattern) > _LONGEST_PATTERN for pattern in stripped):
        raise ValueError(
            f"must contain at most {_MAX_PATTERNS} regular expressions, each with at most {_LONGEST_PATTERN} characters"
        )
    for pattern in stripped:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"must be a list of regular expressions ({pattern!r}: {error})") from None
    return stripped


def read_lease(value: object) -> LeaseReference:
    """Read the reference `NAMESPACE/NAME` to a Lease."""
    lease = LeaseReference.parse(read_text(value))
    if lease is None:
        raise ValueError("must be a Lease as NAMESPACE/NAME")
    return lease
