"""Restarts of an application: by the operator with its restartConfig, or by Airflow with the retries of the task.

Malformed documents are accepted here, because they are validated before the submission.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ..dialects.dialect import dialect_of
from ..kubernetes.json_object import is_integer
from ..kubernetes.problems import InvalidResource, Problem
from ..kubernetes.times import to_duration
from ..parameters.arguments import RESTARTS_BY_AIRFLOW, RESTARTS_BY_CLUSTER
from ..parameters.parameter_types import is_template
from ..states.states import RESTART_ATTEMPTS, RESTART_BACKOFF_MILLIS, choose_backoff_millis

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
    if restarts in (None, RESTARTS_BY_CLUSTER, RESTARTS_BY_AIRFLOW):
        return None
    return Problem("restarts", f"must be {RESTARTS_BY_CLUSTER!r}, {RESTARTS_BY_AIRFLOW!r} or None, not {restarts!r}")


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
    millis = _get_integer(config.get("restartBackoffMillis"), RESTART_BACKOFF_MILLIS)
    return Retries(
        number=max(0, _get_integer(config.get("maxRestartAttempts"), RESTART_ATTEMPTS)),
        delay=to_duration(millis),
        application_failures=policy == "OnFailure",
    )


def has_double_restarts(document: Mapping[str, object], retries: int) -> bool:
    """Return whether both the operator and Airflow may run the application again.

    Args:
        document: The application that a task submits.
        retries: Maximum number of retries of the task.
    """
    config = dialect_of(document.get("apiVersion")).read_restart_config(document)
    return retries > 0 and config.get("restartPolicy", _NEVER) != _NEVER


def describe_restarts(document: Mapping[str, object], retries: int, restarts: str | None) -> str | None:
    """Return how restarts by the operator and retries by Airflow add up; None if at most one of them applies.

    Args:
        document: The application that the first try of the task submits.
        retries: Maximum number of retries of the task.
        restarts: The parameter `restarts`.
    """
    if not has_double_restarts(document, retries):
        return None
    dialect = dialect_of(document.get("apiVersion"))
    config = dialect.read_restart_config(document)
    number = _get_integer(config.get("maxRestartAttempts"), RESTART_ATTEMPTS)
    if restarts is None:
        return (
            f"the application runs up to {number + 1 + retries} times: the first try of the task runs it once, and the "
            f"Spark operator then restarts it up to {number} times; each of the {retries} retries runs it once. "
            'Set restarts="cluster" to allow restarts in each try, or restarts="airflow" to use only the '
            "task's retries"
        )
    return (
        "both the cluster and the task repeat a failed application: "
        f"up to {number + 1} attempts in each of up to {retries + 1} tries, "
        f"together up to {(number + 1) * (retries + 1)} attempts. To allow restarts in the first try "
        'only, remove the parameter restarts. To use only the task\'s retries, set restarts="airflow"'
    )


def get_backoff(document: Mapping[str, object], failure_kind: str | None) -> timedelta | None:
    """Return the delay that the application requests after a failure; None if it requests none.

    Args:
        document: The application.
        failure_kind: A word of `core.verdict.verdict.FailureKind`.
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
