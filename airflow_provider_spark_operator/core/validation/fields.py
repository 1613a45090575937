"""Find unknown fields, which the API server rejects with strict validation and drops without it."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, get_args, get_origin

from ..kubernetes.problems import Problem, Severity
from ..models.base import KubernetesType, Model
from ..models.parse import format_path
from ..models.status import ForeignRecord
from .kubernetes_fields import KUBERNETES_FIELDS, KUBERNETES_VERSION

# The minimum similarity of a field that is suggested.
_SIMILARITY: Final = 0.7
_LONGEST_NAME: Final = 100


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
            yield _report_unknown((str(key),), kind, fields)
        elif key == "metadata":
            for problem in find_unknown_kubernetes_fields(value, "meta.v1.ObjectMeta", ("metadata",)):
                yield Problem(problem.path, problem.message)
        else:
            yield from _check_annotation(field.annotation, field.metadata, value, (str(key),))


def _check_model(model: type[Model], value: object, path: tuple[str | int, ...]) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        return
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    for key, inner in value.items():
        field = fields.get(str(key))
        if field is None:
            yield _report_unknown((*path, str(key)), format_path(path), fields)
        else:
            yield from _check_annotation(field.annotation, field.metadata, inner, (*path, str(key)))


def _check_annotation(
    annotation: Any, metadata: Iterable[object], value: object, path: tuple[str | int, ...]
) -> Iterator[Problem]:
    """Find the unknown fields in the `value` of a field with this annotation."""
    for mark in metadata:
        if isinstance(mark, KubernetesType):
            yield from _check_marked(mark, value, path)
            return
    if annotation is ForeignRecord:
        return  # the definition does not contain it
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield from _check_model(annotation, value, path)
    elif hasattr(annotation, "__metadata__"):
        yield from _check_annotation(annotation.__origin__, annotation.__metadata__, value, path)
    else:
        for inner in get_args(annotation):
            if isinstance(inner, type) and not issubclass(inner, Model):
                continue  # a scalar has no fields
            for place, item in _list_items(annotation, value):
                yield from _check_annotation(inner, (), item, (*path, *place))


def _list_items(annotation: object, value: object) -> Iterable[tuple[tuple[str | int, ...], object]]:
    """Return the items of `value` that the arguments of a generic annotation describe, with their positions."""
    if isinstance(value, list):
        return (((index,), item) for index, item in enumerate(value))
    if get_origin(annotation) is dict and isinstance(value, Mapping):
        return (((str(key),), item) for key, item in value.items())
    return [((), value)]


def _check_marked(mark: KubernetesType, value: object, path: tuple[str | int, ...]) -> Iterator[Problem]:
    if not mark.parts:
        yield from find_unknown_kubernetes_fields(value, mark.name, path)
        return
    parts = dict(mark.parts)
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        if str(key) not in parts:
            yield _report_unknown((*path, str(key)), format_path(path), parts)
        else:
            yield from find_unknown_kubernetes_fields(inner, parts[str(key)], (*path, str(key)))


def find_unknown_kubernetes_fields(value: object, type_name: str, path: tuple[str | int, ...]) -> Iterator[Problem]:
    """Find the fields that a Kubernetes type does not have. They are warnings: a newer cluster may have them.

    Args:
        value: An object of the type, or a list of such objects.
        type_name: The type, for example `core.v1.PodTemplateSpec`, or `[core.v1.Container]` for a list.
        path: The position of the value in the document.
    """
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from find_unknown_kubernetes_fields(item, type_name, (*path, index))
        return
    type_name = type_name.strip("[]")
    known = KUBERNETES_FIELDS.get(type_name)
    if known is None or not isinstance(value, Mapping):
        return
    for key, inner in value.items():
        if str(key) not in known:
            advice = suggest_field(str(key), known)
            message = f"is not a field of {type_name} in Kubernetes {KUBERNETES_VERSION}{advice}"
            yield Problem(format_path((*path, str(key))), message, Severity.WARNING)
        else:
            yield from find_unknown_kubernetes_fields(inner, known[str(key)], (*path, str(key)))


def _report_unknown(path: tuple[str | int, ...], owner: str, known: Iterable[str]) -> Problem:
    name = format_path(path)
    return Problem(name, f"is not a field of {owner}{suggest_field(str(path[-1]), known)}", admissible=True)


def suggest_field(name: str, known: Iterable[str]) -> str:
    """Return `: did you mean …?` with the most similar field, or `: remove it`."""
    if len(name) > _LONGEST_NAME:
        return ": remove it"
    similar = difflib.get_close_matches(name.lower(), {each.lower(): each for each in known}, 1, _SIMILARITY)
    original = [each for each in known if similar and each.lower() == similar[0]]
    return f": did you mean {original[0]}?" if original else ": remove it"
