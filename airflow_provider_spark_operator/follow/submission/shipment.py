"""Read the local files of an application, and upload those that it cannot contain."""

import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ... import spark_task
from ...core.compose.files import LocalFile, convert_to_spark_url
from ...core.kubernetes.names import ANNOTATION_STOP
from ...core.parameters.parameters import Parameters

logger = logging.getLogger(__name__)


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
