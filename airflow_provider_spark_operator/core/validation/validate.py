"""The one validation of a resource of any kind, for every command, operator, webhook and controller."""

from collections.abc import Callable, Mapping
from typing import Final

from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.models.parse import name_type
from airflow_provider_spark_operator.core.pods import mapping
from airflow_provider_spark_operator.core.problems import Problem
from airflow_provider_spark_operator.core.validation.application import validate_application
from airflow_provider_spark_operator.core.validation.cluster import validate_cluster
from airflow_provider_spark_operator.core.validation.identity import namespace_problems, unknown_word
from airflow_provider_spark_operator.core.validation.json_values import json_problems
from airflow_provider_spark_operator.core.validation.metadata import metadata_problems

_VALIDATORS: Final[Mapping[str, Callable[[object], list[Problem]]]] = {
    "SparkApplication": validate_application,
    "SparkCluster": validate_cluster,
}


def validate(document: object) -> list[Problem]:
    """Everything that is wrong with `document` as the kind that it names; empty if nothing is.

    Returns:
        The problems. `Problem.severity` tells errors, which stop a submission, from warnings.
    """
    if not isinstance(document, Mapping):
        return [Problem("", f"a resource must be an object, not {name_type(document)}")]
    problems_of = dialect_of(document.get("apiVersion")).problems
    if problems_of:
        return _validate_without_model(document, problems_of)
    kind = document.get("kind")
    validator = _VALIDATORS.get(kind) if isinstance(kind, str) else None
    return validator(document) if validator else [unknown_word("kind", kind, tuple(_VALIDATORS))]


def validate_without_status(document: object) -> list[Problem]:
    """`validate` for callers that drop the status, or that have it from an operator."""
    if isinstance(document, Mapping):
        document = {key: value for key, value in document.items() if key != "status"}
    return validate(document)


def _validate_without_model(
    document: Mapping[str, object], problems_of: Callable[[Mapping[str, object]], list[Problem]]
) -> list[Problem]:
    if problems := json_problems(document):
        return problems
    metadata = mapping(document.get("metadata"))
    return [*problems_of(document), *namespace_problems(metadata), *metadata_problems(metadata)]
