"""Label and field selectors: parsed once, evaluated for each object."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .documents import get_text
from .kinds import Kind
from .status import build_bad_request


class Selector(Protocol):
    """Selects objects."""

    def matches(self, document: Mapping[str, Any]) -> bool:
        """Whether the object is selected."""
        ...


@dataclass(frozen=True)
class LabelRequirement:
    """One requirement on a label: `operator` is `in`, `notin`, `exists` or `absent`."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy the requirement; as in Kubernetes, a missing label satisfies `notin`."""
        value = labels.get(self.key)
        if self.operator == "exists":
            return value is not None
        if self.operator == "absent":
            return value is None
        if self.operator == "in":
            return value in self.values
        return value not in self.values


@dataclass(frozen=True)
class LabelSelector:
    """Label requirements that must all be satisfied."""

    requirements: tuple[LabelRequirement, ...]

    def matches(self, document: Mapping[str, Any]) -> bool:
        """Whether the object's labels satisfy every requirement."""
        labels = (document.get("metadata") or {}).get("labels") or {}
        # With a generator expression, a list of thousands of objects takes twice as long.
        for requirement in self.requirements:  # noqa: SIM110
            if not requirement.holds(labels):
                return False
        return True


@dataclass(frozen=True)
class FieldRequirement:
    """A field, the text to compare it with, and whether they must be equal."""

    path: tuple[str, ...]
    value: str
    equal: bool


@dataclass(frozen=True)
class FieldSelector:
    """Field comparisons that must all be satisfied."""

    requirements: tuple[FieldRequirement, ...]

    def matches(self, document: Mapping[str, Any]) -> bool:
        """Whether the object's fields satisfy every comparison."""
        return all(
            (get_text(document, requirement.path) == requirement.value) == requirement.equal
            for requirement in self.requirements
        )


_KEY = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?"
_VALUE = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_COMPARISON = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})?\s*")
_MEMBERSHIP = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)\s*")
_PRESENCE = re.compile(rf"(!?)\s*({_KEY})\s*")


def parse_label_selector(text: str) -> LabelSelector:
    """Parse `a=b,c!=d,e in (f, g),h notin (i),j,!k`; the empty text selects everything.

    Raises:
        ApiStatusError: 400 if the text is not a label selector.
    """
    requirements: list[LabelRequirement] = []
    position = len(text) - len(text.lstrip())
    while position < len(text):
        requirement, position = _parse_label_requirement(text, position)
        requirements.append(requirement)
        if position < len(text):
            if text[position] != "," or position + 1 == len(text):
                raise _build_parse_error(text, position)
            position += 1
            position += len(text) - position - len(text[position:].lstrip())
    return LabelSelector(tuple(requirements))


def parse_field_selector(text: str, kind: Kind) -> FieldSelector:
    """Parse `metadata.name=a,status.phase!=Running`; only the fields that the kind names are supported.

    Raises:
        ApiStatusError: 400 if the text is not a field selector or names another field.
    """
    requirements: list[FieldRequirement] = []
    for term in filter(None, re.split(r"(?<!\\),", text)):
        matched = re.fullmatch(r"(.*?)(!=|==|=)(.*)", term)
        if matched is None:
            raise build_bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        label, operator, value = matched.groups()
        if label not in kind.selectable_fields and not kind.fields and not kind.custom:
            known = ", ".join(f'"{name}"' for name in kind.selectable_fields)
            raise build_bad_request(f'"{label}" is not a known field selector: only {known}')
        if label not in kind.selectable_fields:
            raise build_bad_request(f"field label not supported: {label}")
        value = _unescape(value)
        requirements.append(FieldRequirement(_get_path(kind, label), value, operator != "!="))
    return FieldSelector(tuple(requirements))


def _unescape(value: str) -> str:
    bad = re.search(r"\\(?![\\,=]).?", re.sub(r"\\[\\,=]", "", value))
    if bad is not None:
        raise build_bad_request(f"invalid field selector: invalid escape sequence: {bad[0]}")
    return re.sub(r"\\([\\,=])", r"\1", value)


def _get_path(kind: Kind, label: str) -> tuple[str, ...]:
    if kind.key == ("", "events") and label == "source":
        return ("source", "component")
    return tuple(label.split("."))


def _parse_label_requirement(text: str, position: int) -> tuple[LabelRequirement, int]:
    readers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], LabelRequirement]], ...] = (
        (_MEMBERSHIP, _build_membership),
        (_COMPARISON, _build_comparison),
        (_PRESENCE, _build_presence),
    )
    for pattern, read in readers:
        matched = pattern.match(text, position)
        if matched is not None:
            requirement = read(matched)
            _check_key(requirement.key)
            return requirement, matched.end()
    raise _build_parse_error(text, position)


def _check_key(key: str) -> None:
    prefix, _, short = key.rpartition("/")
    if "/" in prefix or re.fullmatch(_VALUE, short) is None:
        raise build_bad_request(
            f'unable to parse requirement: <nil>: Invalid value: "{key}": a valid label key must consist of '
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
            "'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
            "'example.com/MyName')"
        )


def _check_lengths(key: str, values: Iterable[str]) -> None:
    for index, value in enumerate(sorted(values)):
        if len(value.encode()) > 63:
            why = "must be no more than 63 bytes"
            raise build_bad_request(
                f'unable to parse requirement: values[{index}][{key}]: Invalid value: "{value}": {why}'
            )


def _build_membership(matched: re.Match[str]) -> LabelRequirement:
    values = frozenset(value.strip() for value in matched[3].split(","))
    _check_lengths(matched[1], values)
    for value in values:
        if value and re.fullmatch(_VALUE, value) is None:
            raise _build_parse_error(matched.string, matched.start(3))
    return LabelRequirement(matched[1], matched[2], values)


def _build_comparison(matched: re.Match[str]) -> LabelRequirement:
    value = matched[3] or ""
    _check_lengths(matched[1], [value])
    return LabelRequirement(matched[1], "notin" if matched[2] == "!=" else "in", frozenset((value,)))


def _build_presence(matched: re.Match[str]) -> LabelRequirement:
    return LabelRequirement(matched[2], "absent" if matched[1] else "exists")


def _build_parse_error(text: str, position: int) -> Exception:
    found = text[position:]
    return build_bad_request(f"unable to parse requirement: found '{found}', expected: a label selector's term")
