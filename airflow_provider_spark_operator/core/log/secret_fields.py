"""Hide secrets in the fields of a resource: the names of fields, variables and options tell which values are secret."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from .driver_log import HIDDEN, NAMES_OF_SECRETS, redact

# The quantifier does not give back what it has matched: the time is linear.
_NAME: Final = rf"(?=[\w.-]*?(?:{NAMES_OF_SECRETS}))[\w.-]++"
_IS_SECRET: Final = re.compile(_NAME, re.IGNORECASE)
_IS_OPTION: Final = re.compile(rf"-{_NAME}", re.IGNORECASE)
_ASSIGNMENT: Final = re.compile(rf"({_NAME}=).+", re.IGNORECASE | re.DOTALL)
_OPTION_IN_TEXT: Final = re.compile(rf"((?<!\S)-{_NAME}\s+)(?!--)\S+", re.IGNORECASE)
# Their values are names of Secrets.
_REFERENCES: Final = frozenset({"secretName"})


def hide_secrets(value: object, name: str = "") -> object:
    """Return a JSON value without the values of settings, environment variables and options with names of secrets.

    Args:
        value: The value. It is not changed.
        name: The name of the field with this value.
    """
    if isinstance(value, Mapping):
        variable = str(value.get("name", ""))
        return {key: hide_secrets(inner, variable if key == "value" else key) for key, inner in value.items()}
    if isinstance(value, list):
        if all(isinstance(inner, str) for inner in value):
            return hide_arguments(value)
        return [hide_secrets(inner) for inner in value]
    if value is None or isinstance(value, bool):
        return value
    if _IS_SECRET.fullmatch(name) and name not in _REFERENCES:
        return HIDDEN
    return _hide_in_text(value) if isinstance(value, str) else value


def hide_arguments(words: Sequence[str]) -> list[str]:
    """Return the words of a command line without the values of options and settings with names of secrets."""
    return [
        HIDDEN
        if _IS_OPTION.fullmatch(before) and not word.startswith("--")
        else _hide_in_text(_ASSIGNMENT.sub(rf"\1{HIDDEN}", word) if _ASSIGNMENT.fullmatch(word) else word)
        for before, word in zip(["", *words], words, strict=False)
    ]


def _hide_in_text(text: str) -> str:
    return redact(_OPTION_IN_TEXT.sub(rf"\1{HIDDEN}", text))
