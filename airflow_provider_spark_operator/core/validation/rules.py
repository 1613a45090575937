"""The vocabulary of the rules of Kubernetes types: a rule finds the problems of an object."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from ..kubernetes.pods import get_object
from ..kubernetes.problems import Problem
from ..models.parse import format_path
from .identity import find_map_problems

Location: TypeAlias = tuple[str | int, ...]
Rule: TypeAlias = Callable[[Mapping[str, Any], Location], Iterator[Problem]]


def report(location: Location, message: str) -> Problem:
    """Return a problem that an admission policy of the cluster can remove."""
    return Problem(format_path(location), message, admissible=True)


def list_values(value: object, path: str, location: Location = ()) -> list[tuple[Location, Any]]:
    """Return what a value has at a path such as `containers.ports`, with the positions. Lists yield their entries."""
    name, _, rest = path.partition(".")
    given = get_object(value).get(name)
    if given is None:
        return []
    entries: list[tuple[Location, Any]] = [((*location, name), given)]
    if isinstance(given, list | tuple):
        entries = [((*location, name, index), entry) for index, entry in enumerate(given)]
    return [each for place, entry in entries for each in list_values(entry, rest, place)] if rest else entries


def within(path: str, *rules: Rule) -> Rule:
    """Return the rule that these rules hold for the objects at a path."""

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        for place, inner in list_values(value, path, location):
            for rule in rules if isinstance(inner, Mapping) else ():
                yield from rule(inner, place)

    return find


def when(condition: str, *rules: Rule) -> Rule:
    """Return the rule that these rules hold under a condition such as `operator=In|NotIn`. `operator=` is no value."""
    path, _, values = condition.partition("=")

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        given = next((str(each) for _, each in list_values(value, path)), "")
        for rule in rules if given in values.split("|") else ():
            for problem in rule(value, location):
                words = f"with {path} {given}" if given else f"without {path}"
                yield replace(problem, message=f"{problem.message} {words}")

    return find


def require(names: str) -> Rule:
    """Return the rule that an object has these fields, and that they are neither empty nor 0."""

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        for name in names.split():
            if not value.get(name):
                yield report((*location, name), "must not be 0" if value.get(name) == 0 else "is required")

    return find


def forbid(names: str) -> Rule:
    """Return the rule that an object does not have these fields, unless they are empty, false or 0."""

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        yield from (report((*location, name), "must not be set") for name in names.split() if value.get(name))

    return find


def limit(name: str, most: int) -> Rule:
    """Return the rule that a list has at most this number of entries."""

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        count = len(list_values(value, name))
        if count > most:
            yield report((*location, name), f"has {count} entries: use at most {most}")

    return find


def check(paths: str, is_valid: Callable[[Any], object], rule: str, kinds: type | tuple[type, ...] = str) -> Rule:
    """Return the rule that the fields at these paths are missing, empty, 0 or valid.

    Values of other classes than `kinds` are left out: `find_value_problems` reports them.
    """

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        for path in paths.split():
            for place, each in list_values(value, path, location):
                if each and isinstance(each, kinds) and not isinstance(each, bool) and not is_valid(each):
                    yield report(place, f"{each!r} is not valid: {rule}")

    return find


def choose(paths: str, words: str) -> Rule:
    """Return the rule that the fields at these paths have one of these values."""
    *others, last = words.split()
    return check(paths, [*others, last].__contains__, f"use {', '.join(others)}{' or ' * bool(others)}{last}")


def bound(paths: str, least: int, most: int, rule: str = "use a number from {} to {}") -> Rule:
    """Return the rule that the fields at these paths are in this range."""
    return check(paths, lambda number: least <= number <= most, rule.format(least, most), int)


def choose_field(names: str, least: int = 1) -> Rule:
    """Return the rule that an object has one of these fields, or none if `least` is 0."""

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        found = [name for name in names.split() if value.get(name) not in (None, "", [])]
        if len(found) < least:
            yield report(location, f"is incomplete: set one of the fields {', '.join(names.split())}")
        for name in found[1:]:
            yield report((*location, name), f"cannot be set in addition to {found[0]}: remove one of them")

    return find


def repeat_none(paths: str, *names: str) -> Rule:
    """Return the rule that the objects at these paths have different values in these fields."""

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        known: dict[str, Location] = {}
        for path in paths.split():
            for outer, entry in list_values(value, path, location):
                given, place = get_object(entry), (*outer, names[0])
                text = repr([given.get(name) for name in names])
                if given.get(names[0]) and text in known:
                    first = format_path(known[text])
                    yield report(place, f"repeats {first}, {given[names[0]]!r}: remove or change one of them")
                known.setdefault(text, place)

    return find


def check_labels(name: str) -> Rule:
    """Return the rule that an object in a field consists of labels."""

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        texts = {key: text for key, text in get_object(value.get(name)).items() if isinstance(text, str)}
        yield from (replace(each, admissible=True) for each in find_map_problems(name, texts, location))

    return find
