"""A pod template in the form in which Spark's client library passes it on.

It reads a template into typed objects and writes those: what says nothing is left out, and numbers where the
API wants text become text. To the API both forms of what it accepts mean the same.
"""

from collections.abc import Mapping

from airflow_provider_spark_operator.core.driver.numbers import java_double
from airflow_provider_spark_operator.core.driver.pod import JsonObject

_TEXT_MAPS = frozenset(
    {
        "annotations",
        "labels",
        "limits",
        "matchLabels",
        "minResources",
        "nodeSelector",
        "overhead",
        "requests",
        "volumeAttributes",
    }
)
_TEXT_LISTS = frozenset({"args", "command"})
_TEXTS = frozenset({"divisor", "sizeLimit", "storage"})


def plain(template: Mapping[str, object]) -> JsonObject:
    """The template (JSON values) without nulls, empty lists and empty maps of text."""
    return {name: _plain_value(name, value) for name, value in template.items() if not _says_nothing(name, value)}


def _plain_value(name: str, value: object) -> object:
    """The value of a field called `name` in that form."""
    if isinstance(value, Mapping):
        if name in _TEXT_MAPS:
            return {key: _text(each) for key, each in value.items()}
        return plain(value)
    if isinstance(value, list):
        if name in _TEXT_LISTS:
            return [_text(each) for each in value]
        entries = [plain(each) if isinstance(each, Mapping) else each for each in value]
        return [_with_text_value(each) for each in entries] if name == "env" else entries
    return _text(value) if name in _TEXTS else value


def _says_nothing(name: str, value: object) -> bool:
    return value is None or value == [] or (value == {} and name in _TEXT_MAPS)


def _with_text_value(variable: object) -> object:
    if isinstance(variable, dict) and "value" in variable:
        return {**variable, "value": _text(variable["value"])}
    return variable


def _text(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return java_double(value) if isinstance(value, float) else value
