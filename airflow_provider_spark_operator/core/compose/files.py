"""Local files of an application: which ones a ConfigMap holds, and their URIs for Spark.

A ConfigMap is part of the application: no store is needed, and nothing has to be deleted. It holds text, and at most
about a mebibyte. Larger files, and files that are not text, are uploaded to a URL that the driver can read.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..kubernetes.names import FILES_DIRECTORY, is_data_key
from ..kubernetes.problems import InvalidResource, Problem
from ..parameters.parameters import Parameters, split_list

# Kubernetes allows 1 MiB in a ConfigMap. The application that contains it needs space for its other fields.
CONFIG_MAP_BYTES: Final = 900 * 1024
REPORT_MODULE: Final = "spark_task.py"
"""The module with which a job sends messages to its task."""
_IMPORTS_REPORT: Final = re.compile(rb"^[ \t]*(?:from|import)[ \t]+spark_task\b", re.MULTILINE)
# etcd allows 1.5 MiB for the JSON of the application.
STORED_BYTES: Final = 1400 * 1024


TASK_SCRIPT: Final = "airflow_task.py"
"""The name of a script that a task makes."""


@dataclass(frozen=True)
class LocalFile:
    """A file to send with the application.

    Attributes:
        given: The path in the parameters.
        name: The name without the folder.
        content: The content.
        needed_by_executors: Whether executors need the file as well as the driver, unlike the script.
    """

    given: str
    name: str
    content: bytes
    needed_by_executors: bool = False

    @property
    def text(self) -> str | None:
        """The content as text; None if a ConfigMap cannot hold the content or the name."""
        if not is_data_key(self.name):
            return None
        try:
            return self.content.decode()
        except UnicodeDecodeError:
            return None


@dataclass(frozen=True)
class Packing:
    """How each file reaches the driver.

    Attributes:
        mounted: The files in the ConfigMap.
        uploaded: The other files.
    """

    mounted: tuple[LocalFile, ...] = ()
    uploaded: tuple[LocalFile, ...] = ()


@dataclass(frozen=True)
class MountedFiles:
    """A ConfigMap of files.

    Attributes:
        name: Name of the ConfigMap.
        contents: Contents by file name.
        executors: Whether executors need the files, too.
    """

    name: str
    contents: Mapping[str, str]
    executors: bool


def list_paths(parameters: Parameters) -> list[str]:
    """Return all paths and URIs of files in the parameters, the script first."""
    script = [parameters.py_file] if parameters.py_file else []
    lists = (parameters.py_files, parameters.files, parameters.jars)
    return [*script, *(path for one in lists for path in split_list(one))]


def needs_report_module(files: Iterable[LocalFile]) -> bool:
    """Return whether a script imports the module for messages, which is not among the files."""
    return all(file.name != REPORT_MODULE for file in files) and any(
        file.name.endswith(".py") and _IMPORTS_REPORT.search(file.content) for file in files
    )


def pack_files(files: Sequence[LocalFile], *, can_mount: bool, can_upload: bool) -> Packing:
    """Return how each file reaches the driver.

    Args:
        files: The files.
        can_mount: Whether the application can contain a ConfigMap.
        can_upload: Whether there is a folder for uploads.

    Raises:
        InvalidResource: A file must be uploaded, but there is no folder for it.
    """
    texts = [file for file in files if file.text is not None]
    size, stored = sum(len(file.content) for file in texts), sum(_count_stored_bytes(file.text or "") for file in texts)
    fit = can_mount and size <= CONFIG_MAP_BYTES and stored <= STORED_BYTES
    mounted = tuple(texts) if fit else ()
    uploaded = tuple(file for file in files if file not in mounted)
    if uploaded and not can_upload:
        if not can_mount:
            why = "Kubeflow's SparkApplication has no field for local files"
        elif not mounted and size > CONFIG_MAP_BYTES:
            why = f"the files have {size} bytes in total, more than {CONFIG_MAP_BYTES}"
        elif not mounted and texts:
            why = f"the files have {stored} bytes as JSON, more than {STORED_BYTES}"
        else:
            why = "a ConfigMap holds only text files whose names contain only letters, digits, -, _ and ."
        names = ", ".join(file.given for file in uploaded)
        message = (
            f"{names} cannot be stored in a ConfigMap ({why}): set upload_to to a URL that the driver can read, "
            "such as s3://bucket/jobs"
        )
        raise InvalidResource([Problem("", message)])
    return Packing(mounted, uploaded)


def build_mounted_uri(file: LocalFile) -> str:
    """Return the URI of a file in the ConfigMap."""
    return f"local://{FILES_DIRECTORY}/{file.name}"


def locate_files(parameters: Parameters, uris: Mapping[str, str]) -> Parameters:
    """Return the parameters with the URIs of files in place of their paths.

    Args:
        parameters: The parameters. They stay unchanged.
        uris: URIs by paths; a path without a URI stays.
    """

    def locate(entries: Sequence[str] | str | None) -> list[str] | None:
        return None if entries is None else [uris.get(entry, entry) for entry in split_list(entries)]

    return replace(
        parameters,
        py_file=uris.get(parameters.py_file, parameters.py_file) if parameters.py_file else parameters.py_file,
        py_files=locate(parameters.py_files),
        files=locate(parameters.files),
        jars=locate(parameters.jars),
    )


def build_mounted_files(
    files: Sequence[LocalFile], parameters: Parameters, application: str, try_id: str
) -> MountedFiles | None:
    """Return the ConfigMap of files; None if there are no files.

    Args:
        files: The files in the ConfigMap.
        parameters: The parameters, with the paths of the files.
        application: Name of the application.
        try_id: The id of the task instance in this try.
    """
    if not files:
        return None
    # Spark passes a script only to the driver. Executors read the other files at the same path.
    others = list_paths(replace(parameters, py_file=None))
    return MountedFiles(
        name=build_config_map_name(application, files, try_id),
        contents={file.name: file.text or "" for file in files},
        executors=any(file.needed_by_executors or file.given in others for file in files),
    )


def build_config_map_name(application: str, files: Iterable[LocalFile], try_id: str) -> str:
    """Return a name that is different for each try and content: an earlier ConfigMap may not be deleted yet."""
    digest = hashlib.sha256(try_id.encode())
    for file in files:
        digest.update(hashlib.sha256(file.name.encode() + b"\0" + file.content).digest())
    return f"{application[:46].rstrip('-')}-files-{digest.hexdigest()[:10]}"


def convert_to_spark_url(url: str) -> str:
    """Convert a URL of Airflow's object storage to Spark's form: without the connection, `s3a` for `s3`."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{'s3a' if scheme == 's3' else scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _count_stored_bytes(text: str) -> int:
    """Return the length of the text as JSON. Kubernetes writes `<`, `>` and `&` in six characters."""
    return len(json.dumps(text, ensure_ascii=False).encode()) + 5 * sum(text.count(sign) for sign in "<>&")
