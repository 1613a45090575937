"""Checks of arguments that depend on the dialect of the application.

The dialects take about 15 ms to load. A DAG file loads them only if it sets one of these arguments.
"""

from collections.abc import Mapping
from typing import Any

from airflow.sdk import XComArg

from ..core.compose.application import apply_parameters
from ..core.compose.document import is_model, new_application
from ..core.compose.restarts import build_retries, find_restarts_problem
from ..core.dialects.dialect import dialect_of, find_api_version_problem
from ..core.parameters.parameter_types import convert_to_plain, is_pending, is_template
from ..core.parameters.parameters import Parameters
from ..retry_policy import SparkRetryPolicy
from .checks import check_problems, reject_if_invalid


def check_dialect(api_version: str | None, application: Any, parameters: Parameters) -> None:
    """Reject an API version that no dialect has, and parameters that the dialect does not support.

    Args:
        api_version: The parameter `api_version`.
        application: The application, in any form that the operator stores.
        parameters: The parameters that are known.

    Raises:
        ValueError: The API version or a parameter is not supported.
    """
    if api_version:
        check_problems([find_api_version_problem(api_version)])
    given = application.get("apiVersion") if isinstance(application, Mapping) else None
    if not is_template(given or api_version):
        check_problems(dialect_of(given or api_version).find_unsupported(parameters))


def map_restarts(
    restarts: object, application: Any, restart_policy: Any, api_version: str | None, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a task whose retries replace the restarts of the application.

    The arguments that the task sets itself, `retries`, `retry_delay` and `retry_policy`, are kept.

    Args:
        restarts: The parameter `restarts`, which is not the default.
        application: The application, in any form that the operator accepts.
        restart_policy: The parameter `restart_policy`, which overrides the restart policy of the application.
        api_version: The parameter `api_version`.
        arguments: The arguments of the task.

    Raises:
        ValueError: `restarts` is not supported, or retries cannot replace the restarts of the application.
    """
    check_problems([find_restarts_problem(restarts)])
    document = application.to_document() if is_model(application) else application
    policy = convert_to_plain(restart_policy)
    with reject_if_invalid():
        if _is_known(policy):
            document = dict(document) if isinstance(document, Mapping) else new_application(api_version)
            document = apply_parameters(document, Parameters(restart_policy=restart_policy))
        retries = build_retries(document)
    if retries is None:
        return {**arguments}
    mapped = {
        "retries": retries.number,
        "retry_delay": retries.delay,
        "retry_policy": SparkRetryPolicy(application_failures=retries.application_failures),
    }
    return {**arguments, **{name: value for name, value in mapped.items() if arguments.get(name) is None}}


def _is_known(policy: object) -> bool:
    """Return whether the whole restart policy is known when the DAG is parsed."""
    parts = policy.values() if isinstance(policy, Mapping) else [policy]
    return not any(is_pending(part) or isinstance(part, XComArg) for part in parts)
