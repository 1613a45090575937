"""The runtime of a decorated function's task. DAG files do not import this module: it loads object storage."""

import inspect
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import libcst  # Airflow's own decorators load it as well
from airflow.sdk import Context, ObjectStoragePath

from ..airflow_compat import AirflowFailException
from ..core.compose.files import LocalFile
from ..follow.submission import driver_script
from ..follow.submission.stamp import TaskStamp
from ..operators.driver_result import DriverResult


@dataclass(frozen=True, kw_only=True)
class FunctionProgram(DriverResult):
    """The function of one task as the program of a driver.

    Attributes:
        function: The function.
        read_source: Returns the source of the function.
        positional: Rendered positional arguments.
        keywords: Rendered keyword arguments.
        wants_spark: Whether the driver passes its session as `spark`.
        context: The context of the task.
    """

    function: Callable[..., Any]
    read_source: Callable[[], object]
    positional: Collection[Any]
    keywords: Mapping[str, Any]
    wants_spark: bool
    context: Context

    def render_files(self, stamp: TaskStamp) -> tuple[LocalFile, ...]:  # noqa: ARG002 - the files do not depend on the try
        """Return the script of the driver and the file with the arguments of the function.

        Raises:
            AirflowFailException: An argument is not a JSON value.
        """
        name = self.function.__name__
        known = add_context(self.function, self.positional, self.keywords, self.context)
        keywords = {key: value for key, value in known.items() if key != "spark" or not self.wants_spark}
        arguments = driver_script.render_arguments(
            name,
            [
                _convert_to_json(value, f"argument {number} of {name}")
                for number, value in enumerate(self.positional, 1)
            ],
            {key: _convert_to_json(value, f"argument {key} of {name}") for key, value in keywords.items()},
            wants_spark=self.wants_spark,
        )
        script = driver_script.render_script(remove_annotations(str(self.read_source())))
        return driver_script.build_files(script, arguments)


def add_context(
    function: Callable[..., Any], positional: Collection[Any], keywords: Mapping[str, Any], context: Context
) -> dict[str, Any]:
    """Return the keyword arguments, with those parts of the context for which the function has a parameter.

    Args:
        function: The function of the task.
        positional: Its positional arguments.
        keywords: Its keyword arguments.
        context: The context of the task.
    """
    known: Mapping[str, Any] = dict(context)
    signature = inspect.signature(function)
    given = signature.bind_partial(*positional, **keywords).arguments
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    missing = [one.name for one in signature.parameters.values() if one.kind in kinds and one.name not in given]
    return {**keywords, **{name: known[name] for name in missing if name in known}}


def _convert_to_json(value: object, noun: str) -> object:
    """Return `value` as a JSON value. The path of a stored result is replaced by the result.

    Args:
        value: An argument.
        noun: The name of the argument, for the message.

    Raises:
        AirflowFailException: The argument is not a JSON value.
    """
    plain = json.loads(value.read_text()) if isinstance(value, ObjectStoragePath) else value
    try:
        json.dumps(plain)
    except (TypeError, ValueError) as error:
        raise AirflowFailException(
            f"{noun} must be a JSON value: {error}. Convert it, for example with str()"
        ) from error
    return plain


def remove_annotations(source: str) -> str:
    """Return `source` without the annotations of the function's parameters and result.

    Python evaluates them when it defines the function. They use names of the module, which is not shipped.
    Annotations inside the function stay: pandas UDFs need theirs.
    """
    module = libcst.parse_module(source)
    body = [_strip(one) if isinstance(one, libcst.FunctionDef) else one for one in module.body]
    return module.with_changes(body=body).code


def _strip(function: libcst.FunctionDef) -> libcst.FunctionDef:
    def strip(given: object) -> object:
        return given.with_changes(annotation=None) if isinstance(given, libcst.Param) else given

    given = function.params
    lists = ("posonly_params", "params", "kwonly_params")
    changed: dict[str, object] = {name: [strip(one) for one in getattr(given, name)] for name in lists}
    changed |= {name: strip(getattr(given, name)) for name in ("star_arg", "star_kwarg")}
    return function.with_changes(params=given.with_changes(**changed), returns=None)
