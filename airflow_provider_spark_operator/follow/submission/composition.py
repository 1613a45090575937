"""Compose the application that a task, a hook or a command submits, from a manifest, parameters and local files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from ... import spark_task
from ...core.compose.application import TaskSettings, compose_application
from ...core.compose.files import (
    REPORT_MODULE,
    LocalFile,
    MountedFiles,
    build_mounted_files,
    build_mounted_uri,
    list_paths,
    locate_files,
    needs_report_module,
    pack_files,
)
from ...core.dialects.dialect import dialect_of
from ...core.driver.configuration.uris import is_local
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.problems import InvalidResource
from ...core.parameters.parameters import Parameters, find_folder_problem, split_list
from .document import parse_pod_template
from .shipment import WriteObject, add_report_settings, read_files, upload
from .sql import write_program
from .stamp import TaskStamp

# The driver pod holds the report of the job. A terminated driver uses no memory and no CPU.
_RETENTION_SECONDS = 600


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
