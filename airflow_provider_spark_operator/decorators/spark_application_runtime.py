"""The runtime of a decorated function's task. DAG files do not import this module: it loads object storage."""

import inspect
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from airflow.sdk import Context, ObjectStoragePath

from ..airflow_compat import AirflowFailException
from ..core.compose.files import LocalFile, convert_to_spark_url
from ..core.dialects.dialect import dialect_of
from ..core.kubernetes.json_object import JsonObject
from ..exceptions import SparkApplicationError
from ..follow.submission.stamp import TaskStamp
from . import driver_script

# A terminated driver uses no memory and no CPU.
_RETENTION_SECONDS = 600


@dataclass(frozen=True)
class FunctionProgram:
    """The function of one task as the program of a driver.

    Attributes:
        function: The function.
        read_source: Returns the source of the function.
        positional: Rendered positional arguments.
        keywords: Rendered keyword arguments.
        wants_spark: Whether the driver passes its session as `spark`.
        context: The context of the task.
        upload_to: URL of a folder for files and results. If None, nothing is uploaded.
        download_from: URL of the same folder as the driver accesses it.
        handle_output: Turns the return value of the function into the result of the task.
    """

    function: Callable[..., Any]
    read_source: Callable[[], object]
    positional: Collection[Any]
    keywords: Mapping[str, Any]
    wants_spark: bool
    context: Context
    upload_to: str | None
    download_from: str | None
    handle_output: Callable[[Any], Any]

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
        script = driver_script.render_script(str(self.read_source()))
        return (
            LocalFile(driver_script.SCRIPT, driver_script.SCRIPT, script.encode()),
            LocalFile(driver_script.ARGUMENTS, driver_script.ARGUMENTS, arguments.encode(), needed_by_executors=True),
        )

    def build_arguments(self, stamp: TaskStamp) -> list[str]:
        """Return the arguments of the script: where it writes its message, and where a large result."""
        folder = self.download_from or (convert_to_spark_url(self.upload_to) if self.upload_to else "")
        url = f"{folder.rstrip('/')}/{_name_result(stamp)}" if folder else ""
        return [driver_script.MESSAGE_FILE, url]

    def keep_driver(self, document: JsonObject) -> JsonObject:
        """Return `document` with a retention of the driver pod, which holds the message with the result."""
        return dialect_of(document.get("apiVersion")).keep_driver(document, _RETENTION_SECONDS)

    def read_result(self, subject: str, driver_message: str | None, stamp: TaskStamp) -> Any:
        """Return the return value of the function, or the path of a large one.

        Raises:
            SparkApplicationError: The message of the driver is lost, and no copy is stored.
        """
        report = driver_script.parse_report(driver_message)
        if report is not None and not report.get("stored"):
            return self.handle_output(report.get("value"))
        stored = self._find_result(stamp)
        if stored is not None:
            return stored
        raise SparkApplicationError(
            f"{subject} succeeded, but the return value of the function is lost: "
            f"the driver pod was deleted before its message in {driver_script.MESSAGE_FILE} was read. "
            "To keep a copy of return values in an object store, set upload_to"
        )

    def _find_result(self, stamp: TaskStamp) -> ObjectStoragePath | None:
        if not self.upload_to:
            return None
        path = ObjectStoragePath(self.upload_to.rstrip("/")) / _name_result(stamp)
        return path if path.exists() else None


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


def _name_result(stamp: TaskStamp) -> str:
    return f"results/{stamp.identity}/{stamp.try_number}.json"


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
