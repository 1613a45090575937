"""Checking a document of any kind of `spark.apache.org`, for those who do not know which it will be."""

from collections.abc import Callable, Mapping
from typing import Final

from airflow_provider_spark_operator.core.models.cluster_parse import validate_cluster_document
from airflow_provider_spark_operator.core.models.parse import validate_document
from airflow_provider_spark_operator.core.models.reading import unknown_word
from airflow_provider_spark_operator.core.problems import Problem

_VALIDATORS: Final[Mapping[str, Callable[[object], list[Problem]]]] = {
    "SparkApplication": validate_document,
    "SparkCluster": validate_cluster_document,
}


def validate_resource(document: object) -> list[Problem]:
    """Everything that is wrong with `document` as what its `kind` says it is; empty if nothing is."""
    if not isinstance(document, Mapping):
        return validate_document(document)
    kind = document.get("kind")
    validate = _VALIDATORS.get(kind) if isinstance(kind, str) else None
    return validate(document) if validate else [unknown_word("kind", kind, tuple(_VALIDATORS))]
