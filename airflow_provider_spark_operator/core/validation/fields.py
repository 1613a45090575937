"""Find unknown fields, which the API server rejects with strict validation and drops without it."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, get_args, get_origin

from airflow_provider_spark_operator.core.models.base import KubernetesType, Model
from airflow_provider_spark_operator.core.models.parse import format_path
from airflow_provider_spark_operator.core.models.status import ForeignRecord
from airflow_provider_spark_operator.core.problems import Problem, Severity
from airflow_provider_spark_operator.core.validation.kubernetes_fields import KUBERNETES_FIELDS, KUBERNETES_VERSION

# Fields that the Apache operator's definitions have since 1.1.0, but the definitions of this package do not.
_APACHE_ONLY: Final = frozenset({("SparkCluster", "spec.suspend"), ("SparkCluster", "spec.workerSpec.networkPolicy")})
# The minimum similarity of a field that is suggested.
_SIMILARITY: Final = 0.7


def find_unknown_fields(model: type[Model], document: Mapping[str, object], kind: str) -> Iterator[Problem]:
    """Find the fields of `document` that the definition of its kind or the Kubernetes types do not have.

    Unknown fields of Kubernetes types are warnings, because a newer cluster may have them. The status is checked
    as the API server checks it, although users cannot write it. Callers that drop the status, or read it from an
    operator, leave it out.
    """
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    for key, value in document.items():
        field = fields.get(str(key))
        if field is None:
            yield _report_unknown((str(key),), kind, kind, fields)
        elif key == "metadata":
            for problem in _check_kubernetes_type(value, "meta.v1.ObjectMeta", ("metadata",)):
                yield Problem(problem.path, problem.message)
        else:
            yield from _check_annotation(field.annotation, field.metadata, value, (str(key),), kind)


def _check_model(model: type[Model], value: object, path: tuple[str | int, ...], kind: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        return
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    for key, inner in value.items():
        field = fields.get(str(key))
        if field is None:
            yield _report_unknown((*path, str(key)), format_path(path), kind, fields)
        else:
            yield from _check_annotation(field.annotation, field.metadata, inner, (*path, str(key)), kind)


def _check_annotation(
    annotation: Any, metadata: Iterable[object], value: object, path: tuple[str | int, ...], kind: str
) -> Iterator[Problem]:
    """Find the unknown fields in the `value` of a field with this annotation."""
    for mark in metadata:
        if isinstance(mark, KubernetesType):
            yield from _check_marked(mark, value, path, kind)
            return
    if annotation is ForeignRecord:
        return  # the definition does not contain it
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield from _check_model(annotation, value, path, kind)
    elif hasattr(annotation, "__metadata__"):
        yield from _check_annotation(annotation.__origin__, annotation.__metadata__, value, path, kind)
    else:
        for inner in get_args(annotation):
            for place, item in _list_items(annotation, value):
                yield from _check_annotation(inner, (), item, (*path, *place), kind)


def _list_items(annotation: object, value: object) -> Iterable[tuple[tuple[str | int, ...], object]]:
    """Return the items of `value` that the arguments of a generic annotation describe, with their positions."""
    if isinstance(value, list):
        return (((index,), item) for index, item in enumerate(value))
    if get_origin(annotation) is dict and isinstance(value, Mapping):
        return (((str(key),), item) for key, item in value.items())
    return [((), value)]


def _check_marked(mark: KubernetesType, value: object, path: tuple[str | int, ...], kind: str) -> Iterator[Problem]:
    if not mark.parts:
        yield from _check_kubernetes_type(value, mark.name, path)
        return
    parts = dict(mark.parts)
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        if str(key) not in parts:
            yield _report_unknown((*path, str(key)), format_path(path), kind, parts)
        else:
            yield from _check_kubernetes_type(inner, parts[str(key)], (*path, str(key)))


def _check_kubernetes_type(value: object, type_name: str, path: tuple[str | int, ...]) -> Iterator[Problem]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _check_kubernetes_type(item, type_name, (*path, index))
        return
    known = KUBERNETES_FIELDS.get(type_name)
    if known is None or not isinstance(value, Mapping):
        return
    for key, inner in value.items():
        if str(key) not in known:
            message = f"is not a field of {type_name} in Kubernetes {KUBERNETES_VERSION}{_suggest(str(key), known)}"
            yield Problem(format_path((*path, str(key))), message, Severity.WARNING)
        else:
            yield from _check_kubernetes_type(inner, known[str(key)], (*path, str(key)))


def _report_unknown(path: tuple[str | int, ...], owner: str, kind: str, known: Iterable[str]) -> Problem:
    name = format_path(path)
    if (kind, name) in _APACHE_ONLY:
        message = "is supported by the Apache operator 1.1.0 only: spark-operator ignores it"
        return Problem(name, message, Severity.WARNING)
    return Problem(name, f"is not a field of {owner}{_suggest(str(path[-1]), known)}", admissible=True)


def _suggest(name: str, known: Iterable[str]) -> str:
    similar = difflib.get_close_matches(name.lower(), {each.lower(): each for each in known}, 1, _SIMILARITY)
    original = [each for each in known if similar and each.lower() == similar[0]]
    return f": did you mean {original[0]}?" if original else ": remove it"
