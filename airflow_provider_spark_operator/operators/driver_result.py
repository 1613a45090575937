"""The return value of the function that a driver runs. DAG files do not import this module: it loads object storage."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from airflow.sdk import ObjectStoragePath

from ..core.compose.files import LocalFile, convert_to_spark_url
from ..core.dialects.dialect import dialect_of
from ..core.kubernetes.json_object import JsonObject
from ..exceptions import SparkApplicationError
from ..follow.submission import driver_script
from ..follow.submission.sql_driver import MAX_BYTES, MAX_ROWS
from ..follow.submission.stamp import TaskStamp

logger = logging.getLogger(__name__)

# A terminated driver uses no memory and no CPU.
_RETENTION_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class DriverResult:
    """A program whose function returns a value to the task.

    Attributes:
        upload_to: URL of a folder for files and results. If None, nothing is uploaded.
        download_from: URL of the same folder as the driver accesses it.
        handle_output: Turns the return value of the function into the result of the task.
        read_stored: Turns the path of a large return value into the result of the task.
    """

    upload_to: str | None
    download_from: str | None
    handle_output: Callable[[Any], Any]
    read_stored: Callable[[ObjectStoragePath], Any] = lambda path: path

    def render_files(self, stamp: TaskStamp) -> tuple[LocalFile, ...]:  # noqa: ARG002 - part of the protocol
        """Return no files: the parameters describe the program."""
        return ()

    def build_arguments(self, stamp: TaskStamp) -> list[str]:
        """Return the arguments of the script: where it writes its message, and where a large result."""
        folder = self.download_from or (convert_to_spark_url(self.upload_to) if self.upload_to else "")
        url = f"{folder.rstrip('/')}/{_name_result(stamp)}" if folder else ""
        return [driver_script.MESSAGE_FILE, url]

    def keep_driver(self, document: JsonObject) -> JsonObject:
        """Return `document` with a retention of the driver pod, which holds the message with the result."""
        return dialect_of(document.get("apiVersion")).keep_driver(document, _RETENTION_SECONDS)

    def read_result(self, subject: str, driver_message: str | None, stamp: TaskStamp) -> Any:
        """Return the return value of the function, or that of `read_stored` for a large one.

        Raises:
            SparkApplicationError: The message of the driver is lost, and no copy is stored.
        """
        report = driver_script.parse_report(driver_message)
        if report is not None and not report.get("stored"):
            return self.handle_output(report.get("value"))
        stored = self._find_result(stamp)
        if stored is not None:
            return self.read_stored(stored)
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


def _name_result(stamp: TaskStamp) -> str:
    return f"results/{stamp.identity}/{stamp.try_number}.json"


def create_rows_result(upload_to: str | None, download_from: str | None) -> DriverResult:
    """Return the program whose result are the rows of the last SQL statement.

    Args:
        upload_to: See `DriverResult`.
        download_from: See `DriverResult`.
    """
    return DriverResult(
        upload_to=upload_to, download_from=download_from, handle_output=_read_rows, read_stored=_read_stored_rows
    )


def _read_stored_rows(path: ObjectStoragePath) -> Any:
    with path.open("rb") as file:  # type: ignore[no-untyped-call]
        return _read_rows(json.loads(file.read(MAX_BYTES)))


def _read_rows(value: Any) -> Any:
    if value["truncated"]:
        logger.warning(
            "the result of the last statement has more than %d rows: the XCom contains the first %d. Add ORDER BY and "
            "LIMIT to choose rows, or write the result to a table",
            MAX_ROWS,
            MAX_ROWS,
        )
    return value["rows"]
