"""Checks of `apiVersion`, `kind` and the metadata of a resource."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..kubernetes.identity import NameRules, find_name_problem, find_namespace_problem
from ..kubernetes.names import GROUP, VERSIONS
from ..kubernetes.problems import Problem
from ..models.parse import name_type
from .metadata import find_metadata_problems

_LONGEST_START: Final = 58
_SUFFIX: Final = "x" * 5  # the API server adds five letters or digits
API_VERSIONS: Final = tuple(f"{GROUP}/{version}" for version in VERSIONS)


def find_identity_problems(document: Mapping[str, object], identity: NameRules) -> list[Problem]:
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
    problem = find_namespace_problem(namespace)
    return [problem] if problem else []


def report_unknown_word(path: str, value: object, known: Sequence[str]) -> Problem:
    """Return the problem of a missing or unknown word at `path`."""
    wanted = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
    if value is None:
        return Problem(path, f"is required: use {wanted}")
    return Problem(path, f"{value!r} is not supported: use {wanted}")


def _find_name_problems(metadata: Mapping[str, object], identity: NameRules) -> list[Problem]:
    name = metadata.get("name")
    start = metadata.get("generateName")
    if not name and isinstance(start, str) and start:
        generated = find_name_problem(f"{start[:_LONGEST_START]}{_SUFFIX}", identity)
        return [replace(generated, path="metadata.generateName")] if generated else []
    if not name:
        return [Problem("metadata.name", f"is required: add a name for the {identity.noun}")]
    if not isinstance(name, str):
        return [Problem("metadata.name", f"must be a string, not {name_type(name)}: put it in quotes")]
    problem = find_name_problem(name, identity)
    return [problem] if problem else []
