"""Find the problems of a manifest of Kubeflow's operator: those that its API server reports, and unknown fields."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..kubernetes.json_object import is_integer
from ..kubernetes.problems import Problem, Severity, filter_errors
from ..models.parse import format_path, name_type
from ..validation.fields import find_unknown_kubernetes_fields, suggest_field
from ..validation.json_values import find_json_problems
from ..validation.pod_objects import find_value_problems
from ..validation.validate import validate_without_status
from .application import build_application
from .fields import APPLICATION_FIELDS, SCHEDULE_FIELDS, Field, Shape
from .normalize import find_shape_problems, normalize
from .scheduled import IsTimeZone, find_schedule_problems, move_problem

RELEASE: Final = "2.5"
"""The release of Kubeflow's operator whose fields are known. Later releases may have more."""

_Location: TypeAlias = tuple[str | int, ...]

_SCHEDULED: Final = "ScheduledSparkApplication"
# The Kubernetes types of fields whose name does not depend on the role.
_TYPES: Final = {
    "volumes": "core.v1.Volume",
    "template": "core.v1.PodTemplateSpec",
    "env": "core.v1.EnvVar",
    "envFrom": "core.v1.EnvFromSource",
    "volumeMounts": "core.v1.VolumeMount",
    "affinity": "core.v1.Affinity",
    "tolerations": "core.v1.Toleration",
    "podSecurityContext": "core.v1.PodSecurityContext",
    "securityContext": "core.v1.SecurityContext",
    "lifecycle": "core.v1.Lifecycle",
    "dnsConfig": "core.v1.PodDNSConfig",
    "sidecars": "core.v1.Container",
    "initContainers": "core.v1.Container",
    "hostAliases": "core.v1.HostAlias",
}
_WORDS: Final = {"mode": ("cluster", "client"), "restartPolicy.type": ("Never", "OnFailure", "Always")}
_LEAST: Final = {
    "driver.cores": 1,
    "executor.cores": 1,
    "executor.instances": 1,
    "restartPolicy.onFailureRetries": 0,
    "restartPolicy.onSubmissionFailureRetries": 0,
    "restartPolicy.onFailureRetryInterval": 1,
    "restartPolicy.onSubmissionFailureRetryInterval": 1,
}


def check_manifest(document: Mapping[str, Any], is_time_zone: IsTimeZone | None = None) -> list[Problem]:
    """Return the problems of a SparkApplication or ScheduledSparkApplication; empty if it is valid.

    Unknown fields are warnings, because a later release of Kubeflow's operator may have them.

    Args:
        document: The document, whose apiVersion has the group of Kubeflow's operator.
        is_time_zone: Returns whether a time zone with this name exists. None if names are not checked.
    """
    if document.get("kind") != _SCHEDULED:
        problems = validate_without_status(document)
        if any(problem.path in ("apiVersion", "kind") for problem in problems) or find_json_problems(document):
            return problems
        problems = [*_check_fields(document, APPLICATION_FIELDS, "spec"), *problems]
        return _without_repetition([*problems, *_check_conversion(document, problems)])
    if problems := find_json_problems(document):
        return problems
    problems = list(_check_fields(document, SCHEDULE_FIELDS, "spec.template"))
    if filter_errors(problems):
        return problems
    return _without_repetition([*problems, *_check_schedule(document, is_time_zone)])


def _check_schedule(document: Mapping[str, Any], is_time_zone: IsTimeZone | None) -> Iterator[Problem]:
    """Find the problems of a ScheduledSparkApplication whose fields have the right types."""
    yield from find_schedule_problems(document, is_time_zone)
    spec = document.get("spec") or {}
    if isinstance(spec.get("template"), Mapping):
        metadata = {key: value for key, value in (document.get("metadata") or {}).items() if key != "generateName"}
        application = {**document, "kind": "SparkApplication", "metadata": metadata, "spec": spec["template"]}
        problems = validate_without_status(application)
        yield from map(move_problem, [*problems, *_check_conversion(application, problems)])


def _check_conversion(document: Mapping[str, Any], known: list[Problem]) -> list[Problem]:
    """Return the problems of the pods of an application without known errors, which only its conversion shows."""
    normalized = normalize(document, APPLICATION_FIELDS)
    if filter_errors(known) or normalized.problems:
        return []
    draft, converted = build_application(normalized.document)
    return [
        Problem("", f"is not valid after its conversion to spark.apache.org: {problem}")
        for problem in ([] if draft.problems else filter_errors(validate_without_status(converted)))
        # Other admissible errors concern only submissions without spark-submit, which Kubeflow's operator uses.
        if problem.is_refused or not problem.path or "podTemplateSpec" in problem.path
    ]


def _without_repetition(problems: list[Problem]) -> list[Problem]:
    """Return the first problem of each field, and all problems without a field."""
    return list({problem.path or problem.message: problem for problem in reversed(problems)}.values())[::-1]


def _check_fields(document: Mapping[str, Any], fields: Mapping[str, Field], spec_path: str) -> Iterator[Problem]:
    """Find unknown fields and values of a wrong type.

    Args:
        document: The document.
        fields: The fields of its definition by path, without `apiVersion` and `kind`.
        spec_path: The path of the spec of the application.
    """
    checker = _Checker(fields, _index_names(fields), spec_path)
    body = {key: value for key, value in document.items() if key not in ("apiVersion", "kind")}
    problems = list(checker.check_object(body, "", ()))
    yield from problems
    spec: Any = body
    for part in spec_path.split("."):
        spec = spec.get(part) if isinstance(spec, Mapping) else None
    if isinstance(spec, Mapping) and not filter_errors(problems):
        yield from find_shape_problems({key: value for key, value in spec.items() if value is not None}, spec_path)


@dataclass(frozen=True)
class _Checker:
    """Compares a document with the fields of its definition.

    Attributes:
        fields: The fields by path, with `[]` for the entries of a list.
        names: The names of the fields in each object, by its path.
        spec_path: The path of the spec of the application.
    """

    fields: Mapping[str, Field]
    names: Mapping[str, set[str]]
    spec_path: str

    def check_object(self, holder: Mapping[str, Any], pattern: str, location: _Location) -> Iterator[Problem]:
        """Find the problems in an object.

        Args:
            holder: The object.
            pattern: Its path in the definition.
            location: Its position in the document.
        """
        names = self.names[pattern]
        for key, value in holder.items():
            place = (*location, str(key))
            if str(key) not in names:
                owner = format_path(location) or "the resource"
                advice = suggest_field(str(key), names)
                message = f"is not a field of {owner} in release {RELEASE} of Kubeflow's operator{advice}"
                yield Problem(format_path(place), message, Severity.WARNING)
            elif value is not None:  # the API server removes nulls
                yield from self._check(value, f"{pattern}.{key}" if pattern else str(key), place)

    def _check(self, value: object, pattern: str, location: _Location) -> Iterator[Problem]:
        field = self.fields.get(pattern)
        if field is not None:
            yield from self._check_value(value, field, location)
        elif f"{pattern}[]" not in self.names:
            yield from self._check_entry(value, pattern, location)
        elif isinstance(value, list):
            for index, entry in enumerate(value):
                yield from self._check_entry(entry, f"{pattern}[]", (*location, index))
        else:
            yield _report_type(location, "a list of objects", value)

    def _check_entry(self, value: object, pattern: str, location: _Location) -> Iterator[Problem]:
        if isinstance(value, Mapping):
            yield from self.check_object(value, pattern, location)
        else:
            yield _report_type(location, "an object", value)

    def _check_value(self, value: Any, field: Field, location: _Location) -> Iterator[Problem]:
        problems = list(_check_shape(value, field.shape, location))
        yield from problems
        if problems:
            return
        path = field.path.removeprefix(f"{self.spec_path}.")
        words, least = _WORDS.get(path), _LEAST.get(path)
        if words and value not in words:
            yield Problem(format_path(location), f"must be one of {', '.join(words)}, not {value!r}")
        if least is not None and value < least:
            yield Problem(format_path(location), f"must be at least {least}, not {value}")
        type_name = _TYPES.get(str(location[-1])) if field.shape in (Shape.OBJECT, Shape.OBJECTS) else None
        if type_name:
            yield from find_unknown_kubernetes_fields(value, type_name, location)
            yield from find_value_problems(value, f"[{type_name}]" if isinstance(value, list) else type_name, location)


def _index_names(fields: Mapping[str, Field]) -> Mapping[str, set[str]]:
    """Return the names of the fields in each object of a definition."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for path in fields:
        pattern = ""
        for part in path.split("."):
            names[pattern].add(part.removesuffix("[]"))
            pattern = f"{pattern}.{part}" if pattern else part
    return names


def _check_shape(value: Any, shape: Shape, location: _Location) -> Iterator[Problem]:
    if shape in (Shape.TEXTS, Shape.OBJECTS):
        if not isinstance(value, list):
            yield _report_type(location, shape, value)
            return
        for index, entry in enumerate(value):
            yield from _check_shape(entry, Shape.TEXT if shape is Shape.TEXTS else Shape.OBJECT, (*location, index))
    elif shape is Shape.TEXT_MAP and isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _check_shape(entry, Shape.TEXT, (*location, str(key)))
    elif not _fits(value, shape):
        yield _report_type(location, shape, value)


def _fits(value: object, shape: Shape) -> bool:
    if shape is Shape.TEXT:
        return isinstance(value, str)
    if shape is Shape.INTEGER:
        return is_integer(value)
    return isinstance(value, bool) if shape is Shape.BOOLEAN else isinstance(value, Mapping)


def _report_type(location: _Location, expected: str, value: object) -> Problem:
    is_number = isinstance(value, int | float)
    advice = ": put it in quotes" if expected == Shape.TEXT and is_number else ""
    return Problem(format_path(location), f"must be {expected}, not {name_type(value)}{advice}")
