"""Compose the application that the hook or an operator submits, with Airflow's object storage."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from airflow.sdk import ObjectStoragePath

from ..airflow_compat import AirflowException, AirflowFailException, mask_secrets
from ..core.compose.application import TaskSettings
from ..core.compose.document import PydanticModel, is_file_name
from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.problems import InvalidResource
from ..core.parameters.arguments import find_retention_problem, find_ttl_problem
from ..core.parameters.parameters import NAMES, Parameters, find_folder_problem
from ..follow.submission.composition import Composition
from ..follow.submission.document import read_document
from ..follow.submission.shipment import FileUnavailable, UploadFailed
from ..follow.submission.stamp import TaskStamp
from .errors import fail_if_invalid
from .text_file import read_text_file

Manifest: TypeAlias = JsonObject | PydanticModel | str | os.PathLike[str] | None
"""An application: a dict, a model, YAML or JSON text, or the path of a file. None if only parameters describe it."""


def compose_manifest(
    manifest: Manifest,
    parameters: Mapping[str, Any],
    settings: TaskSettings,
    *,
    api_version: str,
    name: str | None,
    namespace: str | None,
    upload_to: str | None = None,
    download_from: str | None = None,
    stamp: TaskStamp | None = None,
) -> JsonObject:
    """Return the application. Reads its files, and uploads those that it cannot contain.

    Args:
        manifest: The manifest.
        parameters: Parameters of `SparkApplicationOperator` by their names.
        settings: Further settings.
        api_version: The apiVersion of a manifest that has none.
        name: The name. If None, the name in the manifest is used.
        namespace: The namespace. If None, the namespace in the manifest is used.
        upload_to: URL of a folder for files that the application cannot contain. If None, nothing is uploaded.
        download_from: The same folder as the driver reads it.
        stamp: The task instance that owns the application. If None, no task owns it.

    Raises:
        TypeError: A parameter does not exist.
        AirflowFailException: The application is not valid, or a file could not be read.
        AirflowException: A file could not be uploaded.
    """
    unknown = [given for given in parameters if given not in NAMES]
    if unknown:
        raise TypeError(f"submit() has no parameter {', '.join(unknown)}. The parameters are {', '.join(NAMES)}")
    with fail_if_invalid("application"):
        _check_settings(settings, upload_to, download_from)
        source = _read(manifest, "application")
        document = read_document(source, api_version if source is None else None, name=name, namespace=namespace)
        known = {given: _convert_paths(given, value) for given, value in parameters.items()}
        composition = Composition(
            document={**document, "apiVersion": document.get("apiVersion") or api_version},
            parameters=Parameters(**known),
            settings=settings,
            folders=[str(Path.cwd())],
            upload_to=upload_to,
            download_from=download_from,
            stamp=stamp,
        )
        return compose_in_airflow(composition)


def _check_settings(settings: TaskSettings, upload_to: str | None, download_from: str | None) -> None:
    folders = {"upload_to": upload_to, "download_from": download_from}
    problems = [
        find_ttl_problem(settings.ttl),
        find_retention_problem("keep_failed_driver", settings.keep_failed_driver),
        find_retention_problem("keep_driver", settings.keep_driver),
        *(find_folder_problem(name, url) for name, url in folders.items()),
    ]
    if found := [problem for problem in problems if problem is not None]:
        raise InvalidResource(found)


def _convert_paths(name: str, value: Any) -> Any:
    if name in ("driver_template", "executor_template"):
        return _read(value, "pod template")
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _read(source: Any, noun: str) -> Any:
    """Return the text of the file if `source` is a path, and `source` otherwise."""
    if isinstance(source, os.PathLike) or (isinstance(source, str) and is_file_name(source)):
        return read_text_file(source, noun)
    return source


def compose_in_airflow(composition: Composition) -> JsonObject:
    """Return the application. Reads its files, and uploads those that it cannot contain.

    Raises:
        InvalidResource: A parameter or a pod template is not valid.
        AirflowFailException: A file could not be read.
        AirflowException: A file could not be uploaded. A retry may succeed.
    """
    try:
        return composition.compose(write_object)
    except FileUnavailable as error:
        raise AirflowFailException(mask_secrets(str(error))) from error.__cause__
    except UploadFailed as error:
        raise AirflowException(mask_secrets(str(error))) from error.__cause__


def write_object(folder: str, place: str, content: bytes) -> bool:
    """Write a file into a folder of Airflow's object storage, unless it exists. See `WriteObject`."""
    target = ObjectStoragePath(folder) / place
    if target.exists():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return True
