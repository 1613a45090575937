"""Checks of `apiVersion`, `kind` and the metadata of a resource."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from ..kubernetes import names
from ..kubernetes.problems import Problem
from ..models.parse import format_path, name_type

_LONGEST_START: Final = 58
_SUFFIX: Final = "x" * 5  # the API server adds five letters or digits
API_VERSIONS: Final = tuple(f"{names.GROUP}/{version}" for version in names.VERSIONS)


def find_identity_problems(document: Mapping[str, object], identity: names.NameRules) -> list[Problem]:
    """Find the problems of `apiVersion`, `kind` and the metadata."""
    problems = []
    if document.get("apiVersion") not in API_VERSIONS:
        problems.append(report_unknown_word("apiVersion", document.get("apiVersion"), API_VERSIONS))
    if document.get("kind") != identity.kind:
        problems.append(report_unknown_word("kind", document.get("kind"), (identity.kind,)))
    metadata = document.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        return problems  # parsing the model reports the problem
    given = metadata or {}
    return [
        *problems,
        *_find_name_problems(given, identity),
        *find_namespace_problems(given),
        *find_metadata_problems(given),
    ]


def find_namespace_problems(metadata: Mapping[str, object]) -> list[Problem]:
    """Find the problems of the namespace, which may be missing."""
    namespace = metadata.get("namespace")
    if namespace in (None, ""):
        return []
    if not isinstance(namespace, str):
        return [Problem("metadata.namespace", f"must be a string, not {name_type(namespace)}: put it in quotes")]
    problem = names.find_namespace_problem(namespace)
    return [problem] if problem else []


def report_unknown_word(path: str, value: object, known: Sequence[str]) -> Problem:
    """Return the problem of a missing or unknown word at `path`."""
    wanted = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
    if value is None:
        return Problem(path, f"is required: use {wanted}")
    return Problem(path, f"{value!r} is not supported: use {wanted}")


def _find_name_problems(metadata: Mapping[str, object], identity: names.NameRules) -> list[Problem]:
    name = metadata.get("name")
    start = metadata.get("generateName")
    if not name and isinstance(start, str) and start:
        generated = names.find_name_problem(f"{start[:_LONGEST_START]}{_SUFFIX}", identity)
        return [replace(generated, path="metadata.generateName")] if generated else []
    if not name:
        return [Problem("metadata.name", f"is required: add a name for the {identity.noun}")]
    if not isinstance(name, str):
        return [Problem("metadata.name", f"must be a string, not {name_type(name)}: put it in quotes")]
    problem = names.find_name_problem(name, identity)
    return [problem] if problem else []


_KEY_RULE: Final = f"{names.LABEL_RULE}; a DNS name and '/' may precede it"


def find_metadata_problems(
    metadata: Mapping[str, object], location: tuple[str | int, ...] = ("metadata",), *, admissible: bool = False
) -> Iterator[Problem]:
    """Find the problems of labels, annotations and finalizers, all of which the API server rejects.

    Args:
        metadata: The metadata of a resource or of a pod.
        location: The position of the metadata in the document.
        admissible: Whether operators can run a resource despite these problems.
    """
    problems = chain(
        find_map_problems("labels", metadata.get("labels"), location),
        find_map_problems("annotations", metadata.get("annotations"), location),
        _find_finalizer_problems(metadata.get("finalizers"), (*location, "finalizers")),
    )
    yield from (replace(problem, admissible=admissible) for problem in problems)


def find_map_problems(field: str, given: object, location: tuple[str | int, ...]) -> Iterator[Problem]:
    """Find the problems of `given`, the labels or annotations in the field of the object at `location`."""
    if given is None:
        return
    if not isinstance(given, Mapping):
        yield Problem(format_path((*location, field)), f"must be an object (key: value pairs), not {name_type(given)}")
        return
    is_label = field != "annotations"
    for key, value in given.items():
        path = format_path((*location, field, str(key)))
        # Kubernetes accepts capital letters only in the domain of an annotation.
        if not _is_qualified(str(key) if is_label else str(key).lower()):
            yield Problem(path, f"is not a valid {'label' if is_label else 'annotation'} key: {_KEY_RULE}")
        elif value is not None and not isinstance(value, str):
            yield Problem(path, f"must be a string, not {name_type(value)}: put it in quotes")
        elif is_label and value and not names.is_label_value(value):
            yield Problem(path, f"{value!r} is not a valid label value: {names.LABEL_RULE}")


def _find_finalizer_problems(given: object, location: tuple[str | int, ...]) -> Iterator[Problem]:
    if given is None:
        return
    if not isinstance(given, list):
        yield Problem(format_path(location), f"must be a list, not {name_type(given)}")
        return
    for index, name in enumerate(given):
        path = format_path((*location, index))
        if not isinstance(name, str):
            yield Problem(path, f"must be a string, not {name_type(name)}: put it in quotes")
        elif not _is_qualified(name):
            yield Problem(path, f"{name!r} is not a valid finalizer: {_KEY_RULE}")


def _is_qualified(key: str) -> bool:
    domain, slash, name = key.rpartition("/")
    return names.is_label_value(name) and (not slash or names.is_object_name(domain))
