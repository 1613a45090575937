"""Reading any resource of `spark.apache.org`: from a document to its model, or to what is wrong with it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from airflow_provider_spark_operator.core.models.base import Model
from airflow_provider_spark_operator.core.names import GROUP, VERSIONS
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem

API_VERSIONS = tuple(f"{GROUP}/{version}" for version in VERSIONS)

# Services are named after the resource, and their names must begin with a letter (RFC 1035).
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")

_HINTS = {
    "spec": "give what to run under it",
    "spec.runtimeVersions": "give at least sparkVersion under it, the Spark version of the image",
    "spec.runtimeVersions.sparkVersion": 'give the Spark version of the image, for example "4.3.0"',
}

_EXPECTED = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "dict_type": "an object (key: value pairs)",
    "model_type": "an object (key: value pairs)",
    "mapping_type": "an object (key: value pairs)",
    "list_type": "a list",
}

AnyModel = TypeVar("AnyModel", bound=Model)


@dataclass(frozen=True)
class Identity:
    """What a kind of resource must say of itself.

    Attributes:
        kind: its `kind`.
        noun: what people call it.
        longest_name: the characters that its name may have.
        because: why no more, for the message.
        names: what else bears its name, and so restricts its form.
    """

    kind: str
    noun: str
    longest_name: int
    because: str
    names: str


def read(model: type[AnyModel], document: Mapping[str, object]) -> AnyModel:
    """Read a `model` out of `document` (JSON values, camelCase).

    Raises:
        InvalidResource: a field is missing, of the wrong type, or has an unknown word.
    """
    try:
        return model.model_validate(dict(document))
    except ValidationError as error:
        raise InvalidResource([_problem(details) for details in error.errors(include_url=False)]) from None


def identity_problems(document: Mapping[str, object], identity: Identity) -> list[Problem]:
    """What is wrong with `apiVersion`, `kind` and the name."""
    problems = []
    if document.get("apiVersion") not in API_VERSIONS:
        problems.append(unknown_word("apiVersion", document.get("apiVersion"), API_VERSIONS))
    if document.get("kind") != identity.kind:
        problems.append(unknown_word("kind", document.get("kind"), (identity.kind,)))
    metadata = document.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        return problems  # the model's own message says it
    return problems + _name_problems(metadata or {}, identity)


def name_problem(name: str, identity: Identity) -> Problem | None:
    """What is wrong with a resource's name, None if its children can be named after it."""
    if len(name) > identity.longest_name:
        message = f"has {len(name)} characters: use at most {identity.longest_name}, since {identity.because}"
        return Problem("metadata.name", message)
    if not _NAME.match(name):
        return Problem(
            "metadata.name",
            f"{name!r} cannot name {identity.names}: begin with a lower-case letter, "
            "use lower-case letters, digits and '-', end with a letter or digit",
        )
    return None


def negative_counts(path: str, counts: Mapping[str, int]) -> list[Problem]:
    """A problem for each of `counts`, the fields under `path`, that is below 0."""
    return [
        Problem(f"{path}.{name}", f"must not be negative, but is {count}")
        for name, count in counts.items()
        if count < 0
    ]


def _name_problems(metadata: Mapping[str, object], identity: Identity) -> list[Problem]:
    name = metadata.get("name")
    if not name and metadata.get("generateName"):
        return []
    if not name:
        return [Problem("metadata.name", f"is required: give the {identity.noun} a name")]
    if not isinstance(name, str):
        return [Problem("metadata.name", f"must be a string, not {named(name)}: put it in quotes")]
    problem = name_problem(name, identity)
    return [problem] if problem else []


def unknown_word(path: str, value: object, known: Sequence[str]) -> Problem:
    """The problem of a word at `path` that is none of `known`, or is missing."""
    wanted = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
    if value is None:
        return Problem(path, f"is required: give {wanted}")
    return Problem(path, f"{value!r} is not known here: give {wanted}")


def _problem(details: ErrorDetails) -> Problem:
    path = path_of(details["loc"])
    return Problem(path, _message(path, details))


def _message(path: str, details: ErrorDetails) -> str:
    # Values are not repeated (a configuration value may be a secret), except words out of a fixed list.
    kind = details["type"]
    if kind == "missing":
        return f"is required: {_HINTS.get(path, 'add it')}"
    if kind == "enum":
        known = str(details.get("ctx", {}).get("expected", "")).replace("'", "").replace(" or ", ", ")
        return f"{details['input']!r} is not known here: give one of {known}"
    if kind in _EXPECTED:
        quotes = kind == "string_type" and isinstance(details["input"], int | float)
        advice = ": put it in quotes" if quotes else ""
        return f"must be {_EXPECTED[kind]}, not {named(details['input'])}{advice}"
    if kind in ("greater_than_equal", "less_than_equal"):
        return "is out of the range of a whole number of 64 bits"
    if kind.startswith("datetime"):
        return "must be a time in RFC 3339, such as 2026-01-01T00:00:00Z"
    return f"is not valid: {details['msg']}"


def path_of(location: Sequence[int | str]) -> str:
    """The field at `location`, as users write it: `spec.pyFiles`, `spec.hosts[0].name`."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part == "[key]" or not re.fullmatch(r"[A-Za-z_]\w*", part):
            path += f"[{part!r}]"
        else:
            path += f".{part}" if path else part
    return path


def named(value: object) -> str:
    """What kind of value this is, in the words of YAML."""
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
