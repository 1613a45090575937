"""What an operator checks of its arguments while the DAG is parsed: cheap, and only what cannot be right."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from airflow.sdk import XComArg

from airflow_provider_spark_operator.operators import document as documents
from airflow_provider_spark_operator.operators import restarts as restarting
from airflow_provider_spark_operator.operators.parameters import is_template

# The words of `follow.replace.IfExists`, which a DAG file must not import: it loads the Kubernetes client.
REPLACE_ENDED = "replace_ended"
FAIL = "fail"


def checked_application(application: Any, noun: str = "application") -> Any:
    """`application`, or another `noun`, as Airflow can store and render it, if it is of a type that can be one.

    Raises:
        TypeError: It can be no application.
    """
    if documents.is_model(application):
        return application.to_document()
    if isinstance(application, os.PathLike):
        return os.fspath(application)
    if application is None or isinstance(application, (str, Mapping, XComArg)):
        return application
    raise TypeError(
        f"{noun} must be an object (dict), a model, YAML text or the path of a file, not {type(application).__name__}"
    )


def as_path(value: "str | os.PathLike[str] | None") -> str | None:
    """`value` as text, if it is the path of a file; anything else as it is."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def check_unless_template(value: object, problem_of: Callable[[object], str | None]) -> None:
    """Refuse `value` if it has a problem already now.

    Raises:
        ValueError: It has.
    """
    problem = problem_of(value) if isinstance(value, str) and not is_template(value) else None
    if problem:
        raise ValueError(problem)


def check_if_exists(value: object) -> None:
    """Refuse what is no answer to an application of the same name.

    Raises:
        ValueError: `value` is no such word.
    """
    if value not in (REPLACE_ENDED, FAIL):
        raise ValueError(f"if_exists must be {REPLACE_ENDED!r} or {FAIL!r}, not {value!r}")


def with_restarts(restarts: str, application: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The task's own arguments, with the application's restartConfig in them where Airflow stands for it.

    Raises:
        ValueError: `restarts` is no word for it, or the restartConfig cannot be stood for.
    """
    if restarts not in (restarting.CLUSTER, restarting.AIRFLOW):
        raise ValueError(f"restarts must be {restarting.CLUSTER!r} or {restarting.AIRFLOW!r}, not {restarts!r}")
    if restarts == restarting.CLUSTER:
        return arguments
    document = application.to_document() if documents.is_model(application) else application
    mapped = restarting.mapped_arguments(restarting.restart_config(document))
    if arguments.get("retry_policy") is not None:
        mapped.pop("retry_policy", None)
    return arguments | mapped
