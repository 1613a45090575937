"""Compose an application from its document and the parameters of a task."""

from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.parameters import Parameters
from airflow_provider_spark_operator.core.problems import InvalidResource


def apply_parameters(document: JsonObject, parameters: Parameters) -> JsonObject:
    """Return `document` with the fields that `parameters` override.

    Args:
        document: The document of an application. It stays unchanged.
        parameters: Rendered parameters.

    Raises:
        InvalidResource: A parameter is not valid, or a part of the document has the wrong type.
    """
    problems = parameters.problems()
    if problems:
        raise InvalidResource(problems)
    return dialect_of(document.get("apiVersion")).write_parameters(document, parameters)
