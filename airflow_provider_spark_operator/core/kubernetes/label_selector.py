"""Match labels against a label selector, as the API server does for `kubectl -l`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .names import is_label_selector
from .problems import InvalidResource, Problem

# A comma inside parentheses separates values, not requirements.
_PART: Final = re.compile(r"[^,(]++(?:\([^)]*+\)\s*+)?")
_REQUIREMENT: Final = re.compile(
    r"(?P<not>!)?\s*(?P<key>[^\s=!<>(]+)\s*(?P<operator>==?|!=|<|>|notin|in)?\s*(?P<value>.*)"
)


@dataclass(frozen=True)
class LabelSelector:
    """A label selector, which selects objects whose labels meet each requirement.

    Attributes:
        requirements: The key, the operator and the values of each requirement. The operators are those of the API:
            `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` and `Lt`.
    """

    requirements: tuple[tuple[str, str, frozenset[str]], ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels meet each requirement."""
        return all(_is_met(labels.get(key), operator, values) for key, operator, values in self.requirements)


def parse_label_selector(text: str, path: str) -> LabelSelector:
    """Parse a label selector. An empty text selects every object.

    Args:
        text: The selector in the syntax of `kubectl -l`, for example `team=a,stage in (test, live)`.
        path: Name of the argument with the selector, for messages.

    Raises:
        InvalidResource: The text is not a label selector.
    """
    if not text.strip():
        return LabelSelector()
    if not is_label_selector(text):
        message = f"invalid label selector {text!r}: use the syntax of `kubectl -l`, for example team=a"
        raise InvalidResource([Problem(path, message)])
    return LabelSelector(tuple(_parse_requirement(part.strip()) for part in _PART.findall(text)))


def read_label_selector(selector: Mapping[str, Any]) -> LabelSelector:
    """Return the selector of a resource, which has `matchLabels` and `matchExpressions`."""
    labels = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or []
    return LabelSelector(
        tuple(
            [(key, "In", frozenset({value})) for key, value in labels.items()]
            + [(one["key"], one["operator"], frozenset(one.get("values") or ())) for one in expressions]
        )
    )


def _parse_requirement(text: str) -> tuple[str, str, frozenset[str]]:
    found = _REQUIREMENT.fullmatch(text)
    assert found is not None  # noqa: S101 - `is_label_selector` has checked the syntax
    key, operator, value = found["key"], found["operator"], found["value"].strip()
    if found["not"]:
        return key, "DoesNotExist", frozenset()
    if operator is None:
        return key, "Exists", frozenset()
    if operator in {"in", "notin"}:
        values = frozenset(one.strip() for one in value.strip("()").split(","))
        return key, "In" if operator == "in" else "NotIn", values
    names = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}
    return key, names[operator], frozenset({value})


def _is_met(label: str | None, operator: str, values: frozenset[str]) -> bool:
    if operator == "Exists":
        return label is not None
    if operator == "DoesNotExist":
        return label is None
    if operator == "In":
        return label in values
    if operator == "NotIn":  # an object without the label is selected
        return label not in values
    if label is None or not re.fullmatch(r"-?[0-9]+", label):
        return False
    (bound,) = values
    return int(label) > int(bound) if operator == "Gt" else int(label) < int(bound)
