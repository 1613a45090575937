"""Checks of `apiVersion`, `kind` and the metadata of a resource."""

from collections.abc import Mapping, Sequence
from typing import Final

from airflow_provider_spark_operator.core.identity import Identity, name_problem, namespace_problem
from airflow_provider_spark_operator.core.models.parse import name_type
from airflow_provider_spark_operator.core.names import GROUP, VERSIONS
from airflow_provider_spark_operator.core.problems import Problem
from airflow_provider_spark_operator.core.validation.metadata import metadata_problems

API_VERSIONS: Final = tuple(f"{GROUP}/{version}" for version in VERSIONS)


def identity_problems(document: Mapping[str, object], identity: Identity) -> list[Problem]:
    """What is wrong with `apiVersion`, `kind` and the metadata."""
    problems = []
    if document.get("apiVersion") not in API_VERSIONS:
        problems.append(unknown_word("apiVersion", document.get("apiVersion"), API_VERSIONS))
    if document.get("kind") != identity.kind:
        problems.append(unknown_word("kind", document.get("kind"), (identity.kind,)))
    metadata = document.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        return problems  # reading the model reports it
    given = metadata or {}
    return [*problems, *_name_problems(given, identity), *namespace_problems(given), *metadata_problems(given)]


def namespace_problems(metadata: Mapping[str, object]) -> list[Problem]:
    """What is wrong with the namespace, which may be absent."""
    namespace = metadata.get("namespace")
    if namespace in (None, ""):
        return []
    if not isinstance(namespace, str):
        return [Problem("metadata.namespace", f"must be a string, not {name_type(namespace)}: put it in quotes")]
    problem = namespace_problem(namespace)
    return [problem] if problem else []


def unknown_word(path: str, value: object, known: Sequence[str]) -> Problem:
    """The problem of a word at `path` that is none of `known`, or is missing."""
    wanted = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
    if value is None:
        return Problem(path, f"is required: give {wanted}")
    return Problem(path, f"{value!r} is not known here: give {wanted}")


def _name_problems(metadata: Mapping[str, object], identity: Identity) -> list[Problem]:
    name = metadata.get("name")
    if not name and metadata.get("generateName"):
        return []
    if not name:
        return [Problem("metadata.name", f"is required: give the {identity.noun} a name")]
    if not isinstance(name, str):
        return [Problem("metadata.name", f"must be a string, not {name_type(name)}: put it in quotes")]
    problem = name_problem(name, identity)
    return [problem] if problem else []
