"""From a document to a model, or to the list of what is wrong with it."""

import re
from collections.abc import Mapping, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from airflow_provider_spark_operator.core.models.application import SparkApplication, SparkApplicationSpec
from airflow_provider_spark_operator.core.names import GROUP
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem

API_VERSIONS = tuple(f"{GROUP}/{version}" for version in ("v1", "v1beta1", "v1alpha1"))

_MAX_NAME_LENGTH = 63
# Services are named after the application, and their names must begin with a letter (RFC 1035).
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


def parse_application(document: Mapping[str, object]) -> SparkApplication:
    """Read a SparkApplication out of `document` (JSON values, camelCase).

    Raises:
        InvalidResource: a field is missing, of the wrong type, or has an unknown word.
    """
    try:
        return SparkApplication.model_validate(dict(document))
    except ValidationError as error:
        raise InvalidResource([_problem(details) for details in error.errors(include_url=False)]) from None


def validate_document(document: object) -> list[Problem]:
    """Everything that is wrong with `document` as a SparkApplication to be submitted; empty if nothing is.

    Beyond types: apiVersion and kind, the name (children are named after it), and that there is
    exactly one thing to run.
    """
    if not isinstance(document, Mapping):
        return [Problem("", f"a SparkApplication must be an object, not {_named(document)}")]
    problems = _identity_problems(document)
    try:
        application = parse_application(document)
    except InvalidResource as error:
        return problems + list(error.problems)
    return problems + _main_resource_problems(application.spec) + _instance_problems(application.spec)


def _identity_problems(document: Mapping[str, object]) -> list[Problem]:
    problems = []
    if document.get("apiVersion") not in API_VERSIONS:
        problems.append(_unknown("apiVersion", document.get("apiVersion"), API_VERSIONS))
    if document.get("kind") != "SparkApplication":
        problems.append(_unknown("kind", document.get("kind"), ("SparkApplication",)))
    metadata = document.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        return problems  # the model's own message says it
    return problems + _name_problems(metadata or {})


def _name_problems(metadata: Mapping[str, object]) -> list[Problem]:
    name = metadata.get("name")
    if not name and metadata.get("generateName"):
        return []
    if not name:
        return [Problem("metadata.name", "is required: give the application a name")]
    if not isinstance(name, str):
        return [Problem("metadata.name", f"must be a string, not {_named(name)}: put it in quotes")]
    if len(name) > _MAX_NAME_LENGTH:
        return [
            Problem(
                "metadata.name",
                f"has {len(name)} characters: use at most {_MAX_NAME_LENGTH}, since it becomes a label",
            )
        ]
    if not _NAME.match(name):
        return [
            Problem(
                "metadata.name",
                f"{name!r} cannot name the driver's service: begin with a lower-case letter, "
                "use lower-case letters, digits and '-', end with a letter or digit",
            )
        ]
    return []


def _main_resource_problems(spec: SparkApplicationSpec) -> list[Problem]:
    if spec.py_files and spec.spark_r_files:
        message = "cannot be combined with spec.pyFiles: an application runs either Python or R"
        return [Problem("spec.sparkRFiles", message)]
    if spec.jars and not spec.main_class:
        message = "is required where spec.jars is set: name the class to run"
        return [Problem("spec.mainClass", message)]
    if not (spec.main_class or spec.py_files or spec.spark_r_files):
        message = "says nothing to run: set mainClass with jars, or pyFiles, or sparkRFiles"
        return [Problem("spec", message)]
    return []


def _instance_problems(spec: SparkApplicationSpec) -> list[Problem]:
    instances = spec.application_tolerations.instance_config
    path = "spec.applicationTolerations.instanceConfig"
    problems = [
        Problem(f"{path}.{name}", f"must not be negative, but is {value}")
        for name, value in (
            ("initExecutors", instances.init_executors),
            ("minExecutors", instances.min_executors),
            ("maxExecutors", instances.max_executors),
        )
        if value < 0
    ]
    if 0 < instances.max_executors < instances.min_executors:
        message = f"is {instances.min_executors}, more than maxExecutors ({instances.max_executors})"
        problems.append(Problem(f"{path}.minExecutors", message))
    return problems


def _unknown(path: str, value: object, known: Sequence[str]) -> Problem:
    wanted = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
    if value is None:
        return Problem(path, f"is required: give {wanted}")
    return Problem(path, f"{value!r} is not known here: give {wanted}")


def _problem(details: ErrorDetails) -> Problem:
    path = _path(details["loc"])
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
        return f"must be {_EXPECTED[kind]}, not {_named(details['input'])}{advice}"
    if kind in ("greater_than_equal", "less_than_equal"):
        return "is out of the range of a whole number of 64 bits"
    if kind.startswith("datetime"):
        return "must be a time in RFC 3339, such as 2026-01-01T00:00:00Z"
    return f"is not valid: {details['msg']}"


def _path(location: Sequence[int | str]) -> str:
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part == "[key]" or not re.fullmatch(r"[A-Za-z_]\w*", part):
            path += f"[{part!r}]"
        else:
            path += f".{part}" if path else part
    return path


def _named(value: object) -> str:
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
