"""Checks of values, composed of small functions.

A check gets the path of a value, for messages, and the value, and returns the problems of the value. The functions in
this module return checks.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Final, TypeAlias

from ..kubernetes.names import is_object_name
from ..kubernetes.problems import Problem
from .parameter_types import Group, advise_native, is_pending

Check: TypeAlias = Callable[[str, object], Sequence[Problem]]
Condition: TypeAlias = Callable[[object], object]
Rule: TypeAlias = Callable[[Mapping[str, Any]], str | None]

_USER: Final = re.compile(r"(?<![^/\s'\"@])[^/\s'\"@]++@")
# The first check is the faster one, and applies to most values.
OBJECT: Final = (dict, Mapping)
# Python refuses to parse thousands of digits.
_INTEGER: Final = re.compile(r"0|[1-9][0-9]{0,17}")


def mask_user(text: str) -> str:
    """Return the text without the user information of URLs, which may be a password."""
    return _USER.sub("***@", text)


def satisfies(is_valid: Condition, message: str, rule: str = "") -> Check:
    """Return a check of a condition. Its message contains the value."""

    def check(path: str, value: object) -> list[Problem]:
        return [] if is_valid(value) else [Problem(path, f"{message}, not {mask_user(repr(value))}{rule}")]

    return check


def instance_of(kinds: type | tuple[type, ...], message: str, advice: str = "") -> Check:
    """Return a check of the type of a value. Its message does not contain the value."""

    def check(path: str, value: object) -> list[Problem]:
        given = f"{type(value).__name__}{advise_native(value)}{advice}"
        return [] if isinstance(value, kinds) else [Problem(path, f"{message}, but is of type {given}")]

    return check


def text(is_valid: Callable[[str], object], message: str, rule: str = "") -> Check:
    """Return a check of a condition that only strings can satisfy."""
    return satisfies(lambda value: isinstance(value, str) and is_valid(value), message, rule)


def matches(pattern: str, message: str) -> Check:
    """Return a check of a string that must match a regular expression."""
    return text(re.compile(pattern).fullmatch, message)


def one_of(*words: str) -> Check:
    """Return a check of a value that must be one of these words."""
    return satisfies(lambda value: value in words, f"must be one of {', '.join(filter(None, words))}")


def integer(minimum: int) -> Check:
    """Return a check of an integer, which can be a text."""

    def is_valid(value: object) -> bool:
        text = str(value).strip() if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
        return _INTEGER.fullmatch(text) is not None and int(text) >= minimum

    return satisfies(is_valid, f"must be an integer of {minimum} or more")


def name_of(noun: str, is_valid: Callable[[str], object] = is_object_name, rule: str = "") -> Check:
    """Return a check of a name, by the rule for most kinds of objects if there is no other rule."""
    return text(lambda name: is_valid(name.strip()), f"must be the name of {noun}", rule)


def optional(check: Check) -> Check:
    """Return a check that accepts a value that is missing or not known yet."""
    return lambda path, value: [] if is_pending(value) else check(path, value)


def and_(*checks: Check) -> Check:
    """Return a check that reports the problems of the first of `checks` that finds any."""
    return lambda path, value: next((found for one in checks if (found := one(path, value))), [])


def choose(is_first: Condition, first: Check, second: Check) -> Check:
    """Return the first check for values that satisfy the condition, and the second check for others."""
    return lambda path, value: first(path, value) if is_first(value) else second(path, value)


def follows(find_problem: Rule) -> Check:
    """Return a check of parts of an object that depend on each other."""

    def check(path: str, value: object) -> list[Problem]:
        problem = find_problem(value) if isinstance(value, OBJECT) else None
        return [Problem(path, problem)] if problem else []

    return check


def each(check: Check, message: str = "must be a list") -> Check:
    """Return a check of each entry of a list."""

    def check_entries(path: str, value: object) -> list[Problem]:
        entries = value if isinstance(value, (list, tuple)) else ()
        return [one for position, entry in enumerate(entries) for one in check(f"{path}[{position}]", entry)]

    return and_(instance_of((list, tuple), message), check_entries)


def each_value(check: Check) -> Check:
    """Return a check of each known value of an object."""
    check = optional(check)

    def check_values(path: str, value: object) -> list[Problem]:
        entries = value.items() if isinstance(value, OBJECT) else ()
        return [one for key, entry in entries for one in check(f"{path}[{key!r}]", entry)]

    return check_values


def each_key(is_valid: Condition, rule: str) -> Check:
    """Return a check of each key of an object. The rule completes the sentence that begins with the key."""

    def check(path: str, value: object) -> list[Problem]:
        wrong = [key for key in value if not is_valid(key)] if isinstance(value, OBJECT) else []
        return [Problem(path, f"{key!r} {rule}") for key in wrong]

    return check


def each_word(is_valid: Callable[[str], object], rule: str, advise: Callable[[str], str] = lambda _: "") -> Check:
    """Return a check of each entry of a list or of a string with commas.

    Args:
        is_valid: Whether an entry is valid.
        rule: Completes the sentence about an entry that is not.
        advise: Returns the end of this sentence.
    """

    def check(path: str, value: object) -> list[Problem]:
        words = value.split(",") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else ()
        wrong = [word for word in words if not (is_pending(word) or (isinstance(word, str) and is_valid(word.strip())))]
        return [Problem(path, f"{mask_user(repr(word))} {rule}{advise(str(word))}") for word in wrong]

    return and_(instance_of((list, tuple, str), "must be a list"), check)


def record(checks: Mapping[str, Check], required: Sequence[str] = ()) -> Check:
    """Return a check of an object that can have only these keys."""
    known = {name: optional(check) for name, check in checks.items()}

    def check(path: str, value: object) -> list[Problem]:
        parts = value if isinstance(value, OBJECT) else {}
        if unknown := [str(name) for name in parts if name not in known]:
            return [Problem(path, f"unknown key {', '.join(unknown)}: the keys are {', '.join(known)}")]
        if missing := [name for name in required if parts.get(name) is None]:
            return [Problem(path, f"needs {' and '.join(missing)}")]
        return [one for name, entry in parts.items() for one in known[name](f"{path}.{name}", entry)]

    return check


def group(kind: type[Group], checks: Mapping[str, Check], rule: Rule = lambda _: None) -> Check:
    """Return a check of a value of a type for groups of settings, or of an object with the same keys."""
    required = [one.name for one in fields(kind) if one.default is MISSING]
    check_parts = and_(record(checks, required), follows(rule))

    def check(path: str, value: object) -> Sequence[Problem]:
        plain = vars(value) if isinstance(value, kind) else value
        if isinstance(plain, OBJECT):
            return check_parts(path, plain)
        given = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
        # A class of another package can have the same name.
        advice = ". Import the class from airflow_provider_spark_operator.parameters" if "." in given else ""
        wrong = f"must be a {kind.__name__} or a dict with its parameters, not {given}{advice}{advise_native(value)}"
        return [Problem(path, wrong)]

    return check


def each_group(kind: type[Group], checks: Mapping[str, Check], rule: Rule = lambda _: None) -> Check:
    """Return a check of a list of values of a type for groups of settings."""
    return each(optional(group(kind, checks, rule)), f"must be a list of {kind.__name__}")
