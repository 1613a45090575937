"""Defaults and checks of the arguments of hooks, operators, sensors and retry policies.

DAG files run these checks each time they are parsed, so the checks are cheap.
"""

import math
import re
from datetime import timedelta
from enum import StrEnum
from typing import Final

from ..kubernetes.names import is_namespace, is_object_name
from ..kubernetes.problems import Problem
from ..kubernetes.times import to_seconds

DEFAULT_CONNECTION_ID = "kubernetes_default"
# The extensions of files with manifests and pod templates.
FILE_EXTENSIONS: Final = (".yaml", ".yml", ".json")
# The limit of a log in bytes: enough for a long job at the level INFO. Longer logs belong in the log store.
LONGEST_LOG: Final = 64 * 1024 * 1024
# The limits of the lists of the hook. The limit of Events is that of each object.
MAX_APPLICATIONS: Final = 1000
MAX_EVENTS: Final = 500
# Who starts a failed application again: its operator in the cluster in each try of the task, or Airflow with the
# retries of the task. By default, the operator does in the first try, and Airflow afterwards.
RESTARTS_BY_CLUSTER: Final = "cluster"
RESTARTS_BY_AIRFLOW: Final = "airflow"
LOG_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
KEEP: Final = -1
"""The time to live of an application that is never deleted."""
# The defaults of applications that Airflow submits: time to examine a failure after a weekend, without thousands of
# successful applications in etcd.
DEFAULT_TTL_SECONDS: Final = 7 * 24 * 3600
TTL_AFTER_SUCCESS_SECONDS: Final = 24 * 3600
KEEP_FAILED_DRIVER: Final = timedelta(minutes=5)
# Kubernetes stores it as a 64-bit integer of milliseconds.
_LONGEST_SECONDS: Final = 2**63 // 1000


class IfExists(StrEnum):
    """The action of a task if another of its runs has submitted an application with the requested name."""

    REPLACE_ENDED = "replace_ended"
    """Delete the application if it has ended, and its task has recorded the result or can no longer do so.

    Otherwise fail.
    """
    FAIL = "fail"
    """Fail."""


class OnBudgetExceeded(StrEnum):
    """The action of a task whose application has used more than its budget."""

    WARN = "warn"
    """Log a warning."""
    FAIL = "fail"
    """End the application, and fail."""


class OnFailedCheck(StrEnum):
    """The action of a task whose job succeeds, but reports that a check failed."""

    FAIL = "fail"
    """Fail."""
    WARN = "warn"
    """Log a warning."""


class WaitFor(StrEnum):
    """When a task with streaming queries succeeds."""

    END = "end"
    """When the application ends."""
    PROGRESS = "progress"
    """When a query has made progress."""


def check_choice(name: str, value: object, choices: type[StrEnum]) -> None:
    """Reject a value that is not one of the choices of an argument.

    Raises:
        ValueError: It is not.
    """
    values = [choice.value for choice in choices]
    if value not in values:
        raise ValueError(f"{name} must be {' or '.join(map(repr, values))}, not {value!r}")


def check_budget(
    max_core_hours: object, max_cost: object, on_budget_exceeded: object, *, wait_for_completion: bool
) -> None:
    """Reject a budget that is not valid, or that no task checks.

    Raises:
        ValueError: An argument is not valid.
    """
    limits = {"max_core_hours": max_core_hours, "max_cost": max_cost}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    for name, limit in given.items():
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < math.inf:
            raise ValueError(f"{name} must be a number greater than 0 or None, not {limit!r}")
    check_choice("on_budget_exceeded", on_budget_exceeded, OnBudgetExceeded)
    if given and not wait_for_completion:
        raise ValueError(
            f"{', '.join(given)}: has no effect with wait_for_completion=False. Set wait_for_completion=True"
        )


def advise_suffix(path: str) -> str:
    """Return the advice for a path that ends with the suffix of a template engine."""
    is_engine = path.endswith((".j2", ".jinja", ".jinja2"))
    return f". Templates in {', '.join(FILE_EXTENSIONS)} files are rendered: rename the file" if is_engine else ""


def check_booleans(**arguments: object) -> None:
    """Reject values that are not booleans: Python treats a string such as "false" as true.

    Args:
        **arguments: Values by the names of their parameters.

    Raises:
        TypeError: A value is not a boolean.
    """
    for name, value in arguments.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, not {value!r}")


def check_log_level(driver_log_level: object) -> None:
    """Reject a level that no line of a driver's log has.

    Args:
        driver_log_level: Name of a level, or None.

    Raises:
        ValueError: The level is not one of `LOG_LEVELS`.
    """
    if driver_log_level is not None and driver_log_level not in LOG_LEVELS:
        levels = ", ".join(map(repr, LOG_LEVELS))
        raise ValueError(f"driver_log_level must be {levels} or None, not {driver_log_level!r}")


def check_metrics(spark_metrics: object) -> None:
    """Reject a value that is neither a boolean nor the URL of a folder, and a URL with a password.

    Args:
        spark_metrics: Whether to read what Spark does, or the URL of the folder with event logs.

    Raises:
        ValueError: The value is neither, or contains a password.
    """
    is_folder = isinstance(spark_metrics, str) and re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://.", spark_metrics)
    if not isinstance(spark_metrics, bool) and not is_folder:
        raise ValueError(
            f"spark_metrics must be True, False or the URL of a folder with event logs, such as "
            f"s3://connection@bucket/events, not {spark_metrics!r}"
        )
    if is_folder and re.match(r"[^/]*//[^/]*:[^/]*@", str(spark_metrics)):
        raise ValueError(
            "spark_metrics must not contain a password, which Airflow would show. Use the id of a connection, such as "
            "s3://connection@bucket/events"
        )


def check_connection_id(kubernetes_conn_id: object) -> None:
    """Reject an id that no connection can have. None, templates and results of other tasks pass.

    Args:
        kubernetes_conn_id: Id of the connection.

    Raises:
        ValueError: The id is empty, or not a string.
    """
    # The result of another task is an object of Airflow, which this module cannot import.
    is_known = isinstance(kubernetes_conn_id, (str, int, float, list, tuple, dict))
    if is_known and not (isinstance(kubernetes_conn_id, str) and kubernetes_conn_id.strip()):
        raise ValueError(f"kubernetes_conn_id must be the id of a connection or None, not {kubernetes_conn_id!r}")


def check_existing_name(name: object, namespace: object) -> None:
    """Reject a name or namespace that no resource can have. Templates and results of other tasks pass.

    Args:
        name: Name of a resource that other software may have created.
        namespace: Namespace of the resource.

    Raises:
        ValueError: The name or the namespace is invalid.
    """
    # This rule is less strict than the rule for names that this package builds: other software may have named the
    # resource of a sensor.
    for noun, given, is_valid in (("name", name, is_object_name), ("namespace", namespace, is_namespace)):
        if isinstance(given, str) and "{{" not in given and "{%" not in given and not is_valid(given):
            raise ValueError(
                f"invalid {noun} {given!r}: use lowercase letters, digits and '-', and begin and end with a letter or "
                "digit"
            )


def check_sensor_mode(mode: str, sensor: str, *, deferrable: bool) -> None:
    """Reject `mode="reschedule"` of a sensor that waits on a worker: the sensor would hold the worker anyway.

    A deferrable sensor needs no worker while it waits, in either mode.

    Args:
        mode: Mode of the sensor: `poke` or `reschedule`.
        sensor: Name of the sensor's class, for the message.
        deferrable: Whether the sensor waits in the triggerer.

    Raises:
        ValueError: The mode is not supported.
    """
    if mode == "reschedule" and not deferrable:
        raise ValueError(
            f"mode='reschedule' is not supported by {sensor}: it keeps a watch open while it waits. "
            "Use deferrable=True to wait without a worker, or leave out mode to wait on a worker"
        )


def find_ttl_problem(ttl: object) -> Problem | None:
    """Return the problem with the parameter `ttl`; None if it is valid."""
    if ttl is None or ttl == KEEP:
        return None
    seconds = to_seconds(ttl)
    if seconds is None or not seconds >= 0:
        return Problem(
            "ttl", f"must be a number of seconds, a timedelta, or {KEEP} to keep the application, not {ttl!r}"
        )
    if seconds > _LONGEST_SECONDS:
        return Problem(
            "ttl", f"must be at most {_LONGEST_SECONDS} seconds, not {ttl!r}. Use {KEEP} to keep the application"
        )
    return None


def find_retention_problem(name: str, keep: object) -> Problem | None:
    """Return the problem with the parameter `keep_driver` or `keep_failed_driver`; None if it is valid."""
    seconds = to_seconds(keep)
    if keep is None or (seconds is not None and 0 <= seconds < math.inf):
        return None
    return Problem(name, f"must be a number of seconds, a timedelta, or None, not {keep!r}")
