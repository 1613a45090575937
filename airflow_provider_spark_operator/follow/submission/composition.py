"""Compose the application that a task, a hook or a command submits, from a manifest, parameters and local files."""

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol
from uuid import uuid4

from ... import spark_task
from ...core.compose.application import TaskSettings, compose_application
from ...core.compose.files import (
    REPORT_MODULE,
    TASK_SCRIPT,
    LocalFile,
    MountedFiles,
    build_mounted_files,
    build_mounted_uri,
    convert_to_spark_url,
    list_paths,
    locate_files,
    needs_report_module,
    pack_files,
)
from ...core.compose.sql import NO_FILE, SqlText, is_sql_file, split_statements
from ...core.dialects.dialect import dialect_of
from ...core.driver.configuration.uris import is_local
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ANNOTATION_STOP
from ...core.kubernetes.problems import InvalidResource, Problem
from ...core.parameters.parameters import Parameters, find_folder_problem, split_list
from . import driver_script, sql_driver
from .document import parse_pod_template
from .stamp import TaskStamp

ROWS: Final = "rows"
"""The output of an application whose result the task reads."""
_NO_MESSAGE: Final = "/dev/null"
logger = logging.getLogger(__name__)
# The driver pod holds the report of the job. A terminated driver uses no memory and no CPU.
_RETENTION_SECONDS = 600


def write_program(
    parameters: Parameters, folders: Sequence[str], output: str
) -> tuple[Parameters, tuple[LocalFile, ...]]:
    """Return the parameters with the program in place of the statements, and the files of the program.

    Args:
        parameters: The parameters, with SQL.
        folders: Folders to search for SQL files.
        output: What the driver does with the result of the last statement, see `sql_driver.run_statements`.

    Raises:
        InvalidResource: There is no statement, or a file is not text.
        FileUnavailable: A file does not exist or cannot be read.
    """
    given = parameters.sql or ()
    texts = [_read(text, folders) for text in ([given] if isinstance(given, str) else given)]
    statements = [
        {"text": one.text, "line": one.line, "file": getattr(text, "file", NO_FILE)}
        for text in texts
        for one in split_statements(text)
    ]
    if not statements:
        file = f"{given} " if isinstance(given, str) and is_sql_file(given) else ""
        raise InvalidResource([Problem("" if file else "sql", f"{file}contains no statement")])
    values = parameters.sql_parameters
    keywords: dict[str, object] = {
        "statements": statements,
        "parameters": dict(values) if isinstance(values, Mapping) else values,
        "output": output,
    }
    arguments = driver_script.render_arguments(sql_driver.run_statements.__name__, [], keywords, wants_spark=True)
    script = driver_script.render_script(Path(sql_driver.__file__).read_text(encoding="utf-8"))
    program = replace(
        parameters,
        sql=None,
        sql_parameters=None,
        py_file=TASK_SCRIPT,
        arguments=parameters.arguments or [_NO_MESSAGE, ""],
    )
    return program, driver_script.build_files(script, arguments)


def _read(text: str, folders: Sequence[str]) -> str:
    if not is_sql_file(text):
        return text
    (file,) = read_files([text], folders)
    try:
        return SqlText(file.content.decode(), text)
    except UnicodeDecodeError as error:
        raise InvalidResource([Problem("sql", f"could not read {text}: {error}. Save the file as UTF-8")]) from None


class WriteObject(Protocol):
    """A function that writes a file into a store."""

    def __call__(self, folder: str, place: str, content: bytes) -> bool:
        """Write a file, unless it exists. Return whether it was written.

        Args:
            folder: URL of a folder.
            place: Path of the file in this folder.
            content: The content of the file.

        Raises:
            Exception: Each store has its own exceptions.
        """
        ...


class FileUnavailable(Exception):
    """A local file does not exist or cannot be read, or two files have the same name."""


class UploadFailed(Exception):
    """A store rejected a file or could not be reached. Another try may succeed."""


def add_report_settings(parameters: Parameters) -> Parameters:
    """Return the parameters with what `spark_task.py` uses: the paths, and a file with the request to stop."""
    folder, _, name = spark_task.STOP_FILE.rpartition("/")
    item = {"path": name, "fieldRef": {"fieldPath": f"metadata.annotations['{ANNOTATION_STOP}']"}}
    volume = {"name": "spark-task", "path": folder, "source": {"downwardAPI": {"items": [item]}}, "pods": "driver"}
    variables = {
        spark_task.MESSAGE_VARIABLE: spark_task.MESSAGE_FILE,
        spark_task.STOP_VARIABLE: spark_task.STOP_FILE,
        **(parameters.env_vars or {}),
    }
    return replace(parameters, env_vars=variables, volumes=[*(parameters.volumes or ()), volume])


def read_files(paths: Iterable[str], folders: Sequence[str]) -> list[LocalFile]:
    """Read local files, each of them once.

    Args:
        paths: Paths of the files: absolute, or relative to one of `folders`.
        folders: The folders to search, in this order.

    Raises:
        FileUnavailable: A file does not exist or cannot be read, or two files have the same name.
    """
    found: dict[str, LocalFile] = {}
    for given in dict.fromkeys(paths):
        path = _find_file(given, folders)
        if path.name in found:
            raise FileUnavailable(
                f"{found[path.name].given} and {given} have the same name: the driver gets all files in one "
                "folder. Rename one of them"
            )
        try:
            found[path.name] = LocalFile(given, path.name, path.read_bytes())
        except OSError as error:
            raise FileUnavailable(f"could not read {given}: {error.strerror}") from error
    return list(found.values())


def upload(file: LocalFile, write: WriteObject, upload_to: str, download_from: str | None) -> str:
    """Store the file and return the URL from which the driver reads it.

    The path contains a hash of the content. The same file is therefore stored only once, and never replaces another.

    Args:
        file: The file.
        write: Writes the file into the store.
        upload_to: URL of a folder. In Airflow, it may contain a connection: `s3://connection@bucket/folder`.
        download_from: URL of the same folder for the driver. If None, the driver reads from `upload_to`, without the
            connection id.

    Raises:
        UploadFailed: The store rejected the file or could not be reached.
    """
    place = f"{hashlib.sha256(file.content).hexdigest()[:32]}/{file.name}"
    try:
        if write(upload_to.rstrip("/"), place, file.content):
            logger.info("uploaded %s to %s/%s", file.given, upload_to.rstrip("/"), place)
    except Exception as error:  # each store has its own exceptions
        raise UploadFailed(f"could not upload {file.given} to {upload_to}: {error}") from error
    return f"{(download_from or convert_to_spark_url(upload_to)).rstrip('/')}/{place}"


def _find_file(given: str, folders: Sequence[str]) -> Path:
    path = Path(given.removeprefix("file://").removeprefix("file:"))
    places = [path] if path.is_absolute() else [Path(folder) / path for folder in folders]
    for place in places:
        if place.is_file():
            return place
    searched = ", ".join(str(place.parent) for place in places) or "any folder"
    raise FileUnavailable(
        f"could not find file {given!r} in {searched}. For a file in the image, use a local:// URL; for a "
        "file elsewhere, use its URL"
    )


@dataclass(frozen=True)
class Composition:
    """The parts of an application.

    Attributes:
        document: The manifest with its name and namespace, see `follow.submission.document`.
        parameters: The parameters that override the manifest. Pod templates are objects, or YAML or JSON text.
        settings: Further settings.
        folders: Folders to search for local files.
        upload_to: URL of a folder for files that the application cannot contain. If None, nothing is uploaded.
        download_from: The same folder as the driver reads it.
        generated: Files that the task makes.
        stamp: The task instance that owns the application. If None, no task owns it.
        streams: Whether the application runs streaming queries, whose program asks whether to stop.
        sql_output: What the driver does with the result of the last SQL statement, see `sql_driver.run_statements`.
    """

    document: JsonObject
    parameters: Parameters
    settings: TaskSettings
    folders: Sequence[str]
    upload_to: str | None = None
    download_from: str | None = None
    generated: Sequence[LocalFile] = ()
    stamp: TaskStamp | None = None
    streams: bool = False
    sql_output: str = ""

    def compose(self, write: WriteObject) -> JsonObject:
        """Return the application. Reads its files, and uploads those that it cannot contain.

        Args:
            write: Uploads a file.

        Raises:
            InvalidResource: A parameter or a pod template is not valid.
            FileUnavailable: A file could not be read.
            UploadFailed: A file could not be uploaded.
        """
        name = self.document["metadata"].get("name") or (self.stamp.build_default_name() if self.stamp else "")
        composition = self
        if self.parameters.sql is not None:
            parameters, generated = write_program(self.parameters, self.folders, self.sql_output)
            composition = replace(self, parameters=parameters, generated=generated)
        parameters, files = composition._ship(name, write)
        if self.streams and spark_task.MESSAGE_VARIABLE not in (parameters.env_vars or {}):
            parameters = add_report_settings(parameters)
        settings = self.settings
        if settings.keep_driver is None and spark_task.MESSAGE_VARIABLE in (parameters.env_vars or {}):
            settings = replace(settings, keep_driver=_RETENTION_SECONDS)
        return compose_application(self.document, parameters, settings, files, name)

    def _ship(self, name: str, write: WriteObject) -> tuple[Parameters, MountedFiles | None]:
        """Read and upload local files. Return the parameters with their URIs, and the files to mount."""
        parameters = _parse_templates(self.parameters)
        problem = find_folder_problem("upload_to", self.upload_to)
        if problem:
            raise InvalidResource([problem])
        made = [file.given for file in self.generated]
        named = [path for path in list_paths(parameters) if is_local(path) and path not in made]
        if not named and not made:
            return parameters, None
        files = [*self.generated, *read_files(named, self.folders)]
        if needs_report_module(files):
            files.append(LocalFile(REPORT_MODULE, REPORT_MODULE, Path(spark_task.__file__).read_bytes()))
            py_files = [*split_list(parameters.py_files), REPORT_MODULE]
            parameters = add_report_settings(replace(parameters, py_files=py_files))
        can_mount = dialect_of(self.document.get("apiVersion")).can_mount_files
        packing = pack_files(files, can_mount=can_mount, can_upload=bool(self.upload_to))
        uris = {file.given: build_mounted_uri(file) for file in packing.mounted}
        for file in packing.uploaded:
            uris[file.given] = upload(file, write, self.upload_to or "", self.download_from)
        try_id = self.stamp.task_instance_id if self.stamp else str(uuid4())
        mounted = build_mounted_files(packing.mounted, parameters, name, try_id)
        generated = [file.given for file in self.generated if file.needed_by_executors]
        if generated:
            parameters = replace(parameters, files=[*split_list(parameters.files), *generated])
        return locate_files(parameters, uris), mounted


def _parse_templates(parameters: Parameters) -> Parameters:
    return replace(
        parameters,
        driver_template=parse_pod_template(parameters.driver_template, "driver_template"),
        executor_template=parse_pod_template(parameters.executor_template, "executor_template"),
    )
