"""Uploads of local dependencies, and the configuration that refers to the uploaded files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..configuration.errors import DriverBuildError
from ..configuration.uris import get_file_path, is_local, split_alias
from .pod import BuildContext, Upload

UPLOAD_PATH_KEY = "spark.kubernetes.file.upload.path"
_ARCHIVES_KEY = "spark.archives"
_DEPENDENCY_KEYS = ("spark.jars", "spark.files", _ARCHIVES_KEY, "spark.submit.pyFiles")


@dataclass(frozen=True)
class Uploads:
    """The files to upload, and the properties that refer to them afterwards."""

    uploads: tuple[Upload, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


def plan_dependency_uploads(submission: BuildContext) -> Uploads:
    """Plan the upload of local dependencies. The uploaded entries of a key come before its other entries.

    Raises:
        DriverBuildError: There are local dependencies, and no upload path is configured.
    """
    uploads: list[Upload] = []
    properties: dict[str, str] = {}
    for key in _DEPENDENCY_KEYS:
        entries = submission.conf.get_list(key)
        local = [entry for entry in entries if is_local(entry)]
        moved = [plan_upload(submission, key, entry) for entry in local]
        if moved:
            archives = key == _ARCHIVES_KEY
            uploads += [Upload(each.source, split_alias(each.target)[0]) if archives else each for each in moved]
            rest = [entry for entry in entries if not is_local(entry)]
            properties[key] = ",".join([*(each.target for each in moved), *rest])
    return Uploads(tuple(uploads), properties)


def plan_upload(submission: BuildContext, key: str, uri: str) -> Upload:
    """Return the target of one local file, in its own directory. The target of an archive keeps its `#alias`.

    Raises:
        DriverBuildError: No upload path is configured. `key` names the file.
    """
    base = submission.conf.get_text(UPLOAD_PATH_KEY)
    source = get_file_path(uri)
    if not base or source is None:
        raise DriverBuildError(
            key,
            f"{uri} is a file on a local disk, which the driver cannot read. Add the file to the image "
            f"and refer to it by local://, refer to a URL that the driver can read, or set {UPLOAD_PATH_KEY}",
        )
    directory = submission.naming.get_upload_directory(f"{key}\0{uri}")
    target = f"{base.rstrip('/')}/{directory}/{source.rsplit('/', 1)[-1]}"
    if key == _ARCHIVES_KEY:
        _, alias = split_alias(uri)
        target = f"{_collapse_slashes(target)}#{alias}" if alias else _collapse_slashes(target)
    return Upload(source, target)


def _collapse_slashes(uri: str) -> str:
    return "file:/" + uri.removeprefix("file:").lstrip("/") if uri.startswith("file:") else uri
