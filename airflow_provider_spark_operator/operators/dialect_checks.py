"""Checks of arguments that depend on the dialect of the application.

The dialects take about 15 ms to load. A DAG file loads them only if it sets one of these arguments.
"""

from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.core.compose.document import is_model
from airflow_provider_spark_operator.core.compose.restarts import build_retries, find_restarts_problem
from airflow_provider_spark_operator.core.dialects.dialect import find_api_version_problem
from airflow_provider_spark_operator.operators.checks import check_problems, reject_if_invalid
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy


def check_api_version(api_version: str) -> None:
    """Reject an API version that no dialect has.

    Raises:
        ValueError: The API version is not supported.
    """
    check_problems([find_api_version_problem(api_version)])


def map_restarts(restarts: str, application: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a task whose retries replace the restarts of the application.

    Args:
        restarts: The parameter `restarts`, which is not the default.
        application: The application, in any form that the operator accepts.
        arguments: The arguments of the task.

    Raises:
        ValueError: `restarts` is not supported, or retries cannot replace the restartConfig.
    """
    check_problems([find_restarts_problem(restarts)])
    with reject_if_invalid():
        retries = build_retries(application.to_document() if is_model(application) else application)
    if retries is None:
        return {**arguments}
    mapped: dict[str, Any] = {"retries": retries.number, "retry_delay": retries.delay}
    if arguments.get("retry_policy") is None:
        mapped["retry_policy"] = SparkRetryPolicy(application_failures=retries.application_failures)
    return {**arguments, **mapped}
