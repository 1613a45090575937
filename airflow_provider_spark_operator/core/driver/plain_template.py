"""Normalization of a pod template, as Spark's client library does it.

The library parses a template into typed objects and serializes them. This removes empty values, converts numbers and
booleans to strings where the API expects strings, and strings to numbers and booleans where it expects those. Fields
that are not in `pod_fields` are not changed. The API rejects values of a wrong type.
"""

import re
from collections.abc import Mapping

from airflow_provider_spark_operator.core.driver.numbers import format_double
from airflow_provider_spark_operator.core.driver.pod import JsonObject
from airflow_provider_spark_operator.core.driver.pod_fields import (
    BOOLEANS,
    INTEGERS,
    OCTAL_INTEGERS,
    TEXT_MAPS,
    TEXTS,
)

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_OCTAL_INTEGER = re.compile(r"0o?([0-7]{1,9})", re.ASCII)
_BOOLEAN_WORDS = {
    word: value for value, words in ((True, "true True TRUE"), (False, "false False FALSE")) for word in words.split()
}


def normalize_template(template: Mapping[str, object]) -> JsonObject:
    """Return the template without nulls, empty lists and empty string maps, and with each field in its type."""
    return {
        name: _normalize_value(name, value, template) for name, value in template.items() if not _is_empty(name, value)
    }


def _normalize_value(name: str, value: object, owner: Mapping[str, object]) -> object:
    """Return the normalized value of the field `name` of the object `owner`."""
    if isinstance(value, Mapping):
        return (
            {key: _format_scalar(each) for key, each in value.items()}
            if name in TEXT_MAPS
            else normalize_template(value)
        )
    if isinstance(value, list):
        return [_normalize_value(name, each, owner) for each in value]
    # The values of a selector requirement, which has a key, are strings.
    if name in TEXTS or (name == "values" and "key" in owner):
        return _format_scalar(value)
    return _parse_scalar(name, value) if isinstance(value, str) else value


def _is_empty(name: str, value: object) -> bool:
    return value is None or value == [] or (value == {} and name in TEXT_MAPS)


def _parse_scalar(name: str, text: str) -> object:
    """Return the text as the type of the field, or unchanged if it cannot be converted."""
    octal = _OCTAL_INTEGER.fullmatch(text) if name in OCTAL_INTEGERS else None
    if octal:
        return int(octal[1], 8)
    if name in INTEGERS and _INTEGER.fullmatch(text):
        return int(text)
    return _BOOLEAN_WORDS.get(text, text) if name in BOOLEANS else text


def _format_scalar(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return format_double(value) if isinstance(value, float) else value
