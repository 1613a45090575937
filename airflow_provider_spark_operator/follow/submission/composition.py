"""Compose the application that a task, a hook or a command submits, from a manifest, parameters and local files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from ...core.compose.application import TaskSettings, compose_application
from ...core.compose.files import LocalFile
from ...core.dialects.dialect import dialect_of
from ...core.kubernetes.json_object import JsonObject
from ...core.parameters.parameters import Parameters
from ...spark_task import MESSAGE_VARIABLE
from .document import parse_pod_template
from .shipment import Sender, WriteObject, add_report_settings, ship
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
        parameters, generated = self.parameters, self.generated
        if parameters.sql is not None:
            parameters, generated = write_program(parameters, self.folders, self.sql_output)
        sender = Sender(
            application=name,
            try_id=self.stamp.task_instance_id if self.stamp else str(uuid4()),
            folders=self.folders,
            upload_to=self.upload_to,
            download_from=self.download_from,
            generated=generated,
        )
        dialect = dialect_of(self.document.get("apiVersion"))
        parameters, files = ship(_parse_templates(parameters), sender, write, can_mount=dialect.can_mount_files)
        if self.streams and MESSAGE_VARIABLE not in (parameters.env_vars or {}):
            parameters = add_report_settings(parameters)
        settings = self.settings
        if settings.keep_driver is None and MESSAGE_VARIABLE in (parameters.env_vars or {}):
            settings = replace(settings, keep_driver=_RETENTION_SECONDS)
        return compose_application(self.document, parameters, settings, files, name)


def _parse_templates(parameters: Parameters) -> Parameters:
    return replace(
        parameters,
        driver_template=parse_pod_template(parameters.driver_template, "driver_template"),
        executor_template=parse_pod_template(parameters.executor_template, "executor_template"),
    )
