"""A pod template in the form in which Spark's client library passes it on.

It reads a template into typed objects and writes those: what says nothing is left out, numbers and truths where the
API wants text become text, and text where it wants them becomes what it says. The API itself refuses what is of
another type. Fields that are not known here are passed on as they are.
"""

import re
from collections.abc import Mapping

from airflow_provider_spark_operator.core.driver.numbers import java_double
from airflow_provider_spark_operator.core.driver.pod import JsonObject
from airflow_provider_spark_operator.core.driver.pod_fields import (
    BOOLEANS,
    INTEGERS,
    OCTAL_INTEGERS,
    TEXT_MAPS,
    TEXTS,
)

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_OCTAL_NUMBER = re.compile(r"0o?([0-7]{1,9})", re.ASCII)
_TRUTHS = {
    word: truth for truth, words in ((True, "true True TRUE"), (False, "false False FALSE")) for word in words.split()
}


def plain(template: Mapping[str, object]) -> JsonObject:
    """The template (JSON values) without nulls, empty lists and empty maps of text, each field in its type."""
    return {
        name: _plain_value(name, value, template) for name, value in template.items() if not _says_nothing(name, value)
    }


def _plain_value(name: str, value: object, owner: Mapping[str, object]) -> object:
    """The value of the field `name` of the object `owner` in that form."""
    if isinstance(value, Mapping):
        return {key: _text(each) for key, each in value.items()} if name in TEXT_MAPS else plain(value)
    if isinstance(value, list):
        return [_plain_value(name, each, owner) for each in value]
    # What selects by a key compares texts.
    if name in TEXTS or (name == "values" and "key" in owner):
        return _text(value)
    return _scalar(name, value) if isinstance(value, str) else value


def _says_nothing(name: str, value: object) -> bool:
    return value is None or value == [] or (value == {} and name in TEXT_MAPS)


def _scalar(name: str, text: str) -> object:
    """What the text says, if the field has another type and the text is one of that."""
    octal = _OCTAL_NUMBER.fullmatch(text) if name in OCTAL_INTEGERS else None
    if octal:
        return int(octal[1], 8)
    if name in INTEGERS and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return _TRUTHS.get(text, text) if name in BOOLEANS else text


def _text(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return java_double(value) if isinstance(value, float) else value
