"""Restarts of an application: by the operator with its restartConfig, or by Airflow with the retries of the task.

Malformed documents are accepted here, because they are validated before the submission.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from airflow_provider_spark_operator.core.arguments import RESTARTS_BY_AIRFLOW, RESTARTS_BY_CLUSTER
from airflow_provider_spark_operator.core.backoff import choose_backoff_millis
from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.json_object import JsonObject, is_integer
from airflow_provider_spark_operator.core.parameters import is_template
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem
from airflow_provider_spark_operator.core.times import to_duration

_NEVER: Final = "Never"


@dataclass(frozen=True)
class Retries:
    """The retries of a task that replace the restarts of its application.

    Attributes:
        number: Maximum number of retries.
        delay: Delay before a retry.
        application_failures: Whether failures of the application itself are retried.
    """

    number: int
    delay: timedelta
    application_failures: bool


def find_restarts_problem(restarts: object) -> Problem | None:
    """Return the problem with the parameter `restarts`; None if it is valid."""
    if restarts in (RESTARTS_BY_CLUSTER, RESTARTS_BY_AIRFLOW):
        return None
    return Problem("restarts", f"must be {RESTARTS_BY_CLUSTER!r} or {RESTARTS_BY_AIRFLOW!r}, not {restarts!r}")


def build_retries(document: object) -> Retries | None:
    """Return the retries that replace the restarts of an application; None if it never restarts or is not known yet.

    Args:
        document: The application, or anything else that a task may be given.

    Raises:
        InvalidResource: The policy restarts the application after a success, which retries do not.
    """
    if not isinstance(document, Mapping):
        return None
    dialect = dialect_of(document.get("apiVersion"))
    config = dialect.read_restart_config(document)
    policy = config.get("restartPolicy", _NEVER)
    if policy == _NEVER or is_template(policy):
        return None
    if policy == "Always":
        message = 'restartPolicy Always is not supported by restarts="airflow": Airflow does not retry a success'
        raise InvalidResource([Problem("", message)])
    millis = _get_integer(config.get("restartBackoffMillis"), dialect.default_restart_backoff_millis)
    return Retries(
        number=max(0, _get_integer(config.get("maxRestartAttempts"), dialect.default_restart_attempts)),
        delay=to_duration(millis),
        application_failures=policy == "OnFailure",
    )


def describe_double_restarts(document: JsonObject, retries: int) -> str | None:
    """Return a warning if both the operator and Airflow restart the application; None if at most one does."""
    dialect = dialect_of(document.get("apiVersion"))
    config = dialect.read_restart_config(document)
    if retries < 1 or config.get("restartPolicy", _NEVER) == _NEVER:
        return None
    attempts = _get_integer(config.get("maxRestartAttempts"), dialect.default_restart_attempts) + 1
    return (
        f"the application restarts itself (up to {attempts} attempts), and the task is retried (up to {retries + 1} "
        f"tries): together up to {attempts * (retries + 1)} attempts. Remove one of them, or set "
        'restarts="airflow" to use only the task\'s retries'
    )


def get_backoff(document: Mapping[str, object], failure_kind: str | None) -> timedelta | None:
    """Return the delay that the application requests after a failure; None if it requests none.

    Args:
        document: The application.
        failure_kind: A word of `core.verdict.FailureKind`.
    """
    config = dialect_of(document.get("apiVersion")).read_restart_config(document)
    millis = choose_backoff_millis(
        general=_read_integer(config, "restartBackoffMillis"),
        failure=_read_integer(config, "restartBackoffMillisForFailure"),
        scheduling_failure=_read_integer(config, "restartBackoffMillisForSchedulingFailure"),
        failed=True,
        failed_to_schedule=failure_kind == "scheduling",
    )
    # Without a setting the controller uses the field's default of 30 s. A task uses its own retry_delay instead.
    return None if millis is None else to_duration(millis)


def _read_integer(config: Mapping[str, object], field: str) -> int | None:
    value = config.get(field)
    return value if is_integer(value) else None


def _get_integer(value: object, default: int) -> int:
    return value if is_integer(value) else default
