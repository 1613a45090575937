"""The inexpensive checks of an operator's arguments at DAG parse time, and the exceptions for invalid resources."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

from airflow.sdk import XComArg

from ..core.compose.document import is_model
from ..core.kubernetes.names import DEFAULT_API_VERSION
from ..core.kubernetes.problems import InvalidResource, Problem
from ..core.parameters.arguments import OnFailedCheck, WaitFor, advise_suffix, check_choice
from ..core.parameters.parameter_types import PENDING, Streaming, is_template
from ..core.parameters.parameters import Parameters


def convert_application(application: Any, noun: str = "application") -> Any:
    """Return `application` in the form that Airflow can store and render.

    Args:
        application: The application, or another resource.
        noun: What the resource is, for the message.

    Raises:
        TypeError: The type of the resource is not supported.
        ValueError: The file has the suffix of a template engine.
    """
    if is_model(application):
        return application.to_document()
    if isinstance(application, (str, os.PathLike)):
        advice = advise_suffix(os.fspath(application)) if "\n" not in os.fspath(application) else ""
        if advice:
            raise ValueError(
                f"{noun} must be YAML text or the path of a YAML or JSON file, not {application!r}{advice}"
            )
        return convert_path(application)
    if application is None or isinstance(application, (Mapping, XComArg)):
        return application
    raise TypeError(
        f"{noun} must be a dict, a Pydantic model, YAML text or the path of a file, not {type(application).__name__}"
    )


def convert_path(value: Any) -> Any:
    """Return a path as text, and any other value that is not text unchanged.

    The text is a new object. The operator can then distinguish the path of a manifest from an equal text in
    another parameter, for which Python may use the same object.
    """
    return os.fspath(value).encode().decode() if isinstance(value, (str, os.PathLike)) else value


def convert_paths(value: Any) -> Any:
    """Return a path or a list of paths as `convert_path` does."""
    return [convert_path(one) for one in value] if isinstance(value, (list, tuple)) else convert_path(value)


def check_sql_result(sql: object, *, sql_result: bool, wait_for_completion: bool) -> None:
    """Reject a result that no statement has, or for which the task does not wait.

    Raises:
        ValueError: `sql` or `wait_for_completion` is not set.
    """
    if sql_result and (sql is None or not wait_for_completion):
        raise ValueError("sql_result: needs sql, and wait_for_completion=True")


def names_other_dialect(application: object) -> bool:
    """Return whether a manifest names an apiVersion other than the default."""
    return isinstance(application, Mapping) and application.get("apiVersion") not in (None, DEFAULT_API_VERSION)


def check_unless_template(value: object, problem_of: Callable[[object], Problem | None]) -> None:
    """Reject `value` if it has a problem that no template can change.

    Raises:
        ValueError: The value has a problem.
    """
    problem = problem_of(value) if isinstance(value, str) and not is_template(value) else None
    if problem:
        raise ValueError(str(problem))


def check_retry_policy(policy: object) -> None:
    """Reject a value that cannot decide about a retry, such as a class. Airflow would call it only after a failure.

    Raises:
        TypeError: The value is not a retry policy.
    """
    if policy is not None and (isinstance(policy, type) or not callable(getattr(policy, "evaluate", None))):
        raise TypeError(f"retry_policy must be a retry policy, such as SparkRetryPolicy(), not {policy!r}")


def check_problems(problems: Iterable[Problem | None]) -> None:
    """Reject arguments that have problems.

    Raises:
        ValueError: There is a problem.
    """
    found = [str(problem) for problem in problems if problem]
    if found:
        raise ValueError("; ".join(found))


def select_known_parameters(values: Mapping[str, Any]) -> Parameters:
    """Select the parameters that are known at DAG parse time: the results of other tasks are not.

    Args:
        values: Values by the names of their parameters.
    """
    return Parameters(**{name: _replace_pending(value) for name, value in values.items() if value is not None})


def _replace_pending(value: Any) -> Any:
    """Return `value` with `PENDING` in place of the results of other tasks in it."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, list):
        return [_replace_pending(entry) for entry in value]
    # The check for a dict is faster than that for a Mapping, and DAG files run it for each task.
    if isinstance(value, (dict, Mapping)):
        return {key: _replace_pending(entry) for key, entry in value.items()}
    return PENDING if isinstance(value, XComArg) else value


def convert_streaming(value: object) -> Streaming | None:
    """Return the settings of streaming queries; None if the application has none.

    Raises:
        TypeError: The value has another type.
        ValueError: A setting is not valid.
    """
    if value is None or isinstance(value, bool):
        return Streaming() if value else None
    if not isinstance(value, Streaming):
        raise TypeError(f"streaming must be True, False or a Streaming, not {value!r}")
    check_choice("streaming.wait_for", value.wait_for, WaitFor)
    check_choice("streaming.on_stall", value.on_stall, OnFailedCheck)
    for name in ("stalled_after", "stop_timeout"):
        seconds = getattr(value, name)
        seconds = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
            raise ValueError(f"streaming.{name} must be a number of seconds greater than 0 or a timedelta")
    return value


NEEDS_NAME: Final = (
    "needs a name, because each DAG run would otherwise start another application next to the running one, with the "
    "same checkpoint. Set name"
)


def check_streaming(streaming: Streaming | None, *, waits_on_worker: bool, is_named: bool, runs_sql: bool) -> None:
    """Reject streaming queries in a task that cannot watch or replace them.

    Raises:
        ValueError: Another parameter of the task contradicts them.
    """
    if streaming is not None and not waits_on_worker:
        raise ValueError("streaming: needs a worker that waits. Remove start_from_trigger and wait_for_completion")
    if streaming is not None and runs_sql:
        raise ValueError("streaming: sql reports no progress of a query. Set py_file instead of sql")
    if streaming is not None and not is_named:
        raise ValueError(f"streaming: {NEEDS_NAME}")


@contextmanager
def reject_if_invalid() -> Iterator[None]:
    """Translate an invalid resource into the error of a DAG file.

    Raises:
        ValueError: The resource is not valid.
    """
    try:
        yield
    except InvalidResource as error:
        raise ValueError("; ".join(map(str, error.problems))) from None
