"""Parse documents into the models of `spark.apache.org`, or report their problems."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..kubernetes.problems import InvalidResource, Problem
from .application import SparkApplication
from .base import Model

_HINTS = {
    "spec": "add an object with the application file, for example jars or pyFiles",
    "spec.runtimeVersions": "add an object with sparkVersion, the Spark version in the image",
    "spec.runtimeVersions.sparkVersion": 'use the Spark version in the image, for example "4.3.0"',
}

_EXPECTED = {
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "dict_type": "an object (key: value pairs)",
    "model_type": "an object (key: value pairs)",
    "mapping_type": "an object (key: value pairs)",
    "list_type": "a list",
}

AnyModel = TypeVar("AnyModel", bound=Model)


def parse_application(document: Mapping[str, object]) -> SparkApplication:
    """Parse a SparkApplication.

    Args:
        document: The resource, as JSON values with field names in camelCase.

    Raises:
        InvalidResource: A field is missing, has the wrong type, or an unsupported value.
    """
    return parse_model(SparkApplication, document)


def parse_model(model: type[AnyModel], document: Mapping[str, object]) -> AnyModel:
    """Parse `document` as a `model`.

    Args:
        model: The model of the resource.
        document: The resource, as JSON values with field names in camelCase.

    Raises:
        InvalidResource: A field is missing, has the wrong type, or an unsupported value.
    """
    try:
        return model.model_validate(dict(document))
    except ValidationError as error:
        problems = [_describe_problem(details) for details in error.errors(include_url=False)]
        raise InvalidResource(problems) from None


def _describe_problem(details: ErrorDetails) -> Problem:
    path = format_path(details["loc"])
    return Problem(path, _describe(path, details))


def _describe(path: str, details: ErrorDetails) -> str:
    # Messages contain no values, because a configuration value may be a secret. Enumeration words and fractions are
    # shown.
    kind = details["type"]
    if kind == "missing":
        return f"is required: {_HINTS.get(path, 'add the field')}"
    if kind == "enum":
        known = str(details.get("ctx", {}).get("expected", "")).replace("'", "").replace(" or ", ", ")
        return f"{details['input']!r} is not supported: use one of {known}"
    if kind in _EXPECTED:
        quotes = kind == "string_type" and isinstance(details["input"], int | float)
        advice = ": put it in quotes" if quotes else ""
        found = (
            repr(details["input"])
            if isinstance(details["input"], float) and not quotes
            else name_type(details["input"])
        )
        return f"must be {_EXPECTED[kind]}, not {found}{advice}"
    if kind in ("greater_than_equal", "less_than_equal"):
        return "is out of the range of a 64-bit integer"
    if kind.startswith("datetime"):
        return "must be a time in RFC 3339, such as 2026-01-01T00:00:00Z"
    return f"is not valid: {details['msg']}"


def format_path(location: Sequence[int | str]) -> str:
    """Return the path of the field at `location`, as users write it: `spec.pyFiles`, `spec.hosts[0].name`."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part == "[key]" or not re.fullmatch(r"[A-Za-z_]\w*", part):
            path += f"[{part!r}]"
        else:
            path += f".{part}" if path else part
    return path


def name_type(value: object) -> str:
    """Return the name of the type of `value` for messages, in the words of YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list | tuple):
        return "a list"
    return "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"
