"""Dependencies on the submitter's disk: where they are uploaded to, and how the configuration then names them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.pod import Submission, Upload
from airflow_provider_spark_operator.core.driver.uris import file_path, is_local, without_alias

UPLOAD_PATH_KEY = "spark.kubernetes.file.upload.path"
_ARCHIVES_KEY = "spark.archives"
_DEPENDENCY_KEYS = ("spark.jars", "spark.files", _ARCHIVES_KEY, "spark.submit.pyFiles")


@dataclass(frozen=True)
class Uploads:
    """Files to upload, and the configuration that refers to them afterwards."""

    uploads: tuple[Upload, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


def upload_dependencies(submission: Submission) -> Uploads:
    """Move local dependencies to the upload path; a key's uploaded entries come before its others.

    Raises:
        DriverBuildError: there are such files and no upload path.
    """
    uploads: list[Upload] = []
    properties: dict[str, str] = {}
    for key in _DEPENDENCY_KEYS:
        entries = submission.conf.listed(key)
        local = [entry for entry in entries if is_local(entry)]
        moved = [upload(submission, key, entry) for entry in local]
        if moved:
            archives = key == _ARCHIVES_KEY
            uploads += [Upload(each.source, without_alias(each.target)[0]) if archives else each for each in moved]
            rest = [entry for entry in entries if not is_local(entry)]
            properties[key] = ",".join([*(each.target for each in moved), *rest])
    return Uploads(tuple(uploads), properties)


def upload(submission: Submission, key: str, uri: str) -> Upload:
    """Where one local file goes: a directory of its own; the `#alias` of an archive stays on the target.

    Raises:
        DriverBuildError: no upload path is configured; `key` is where the file was named.
    """
    base = submission.conf.text(UPLOAD_PATH_KEY)
    source = file_path(uri)
    if not base or source is None:
        raise DriverBuildError(
            key,
            f"{uri} is a file on the submitter's disk, which the driver cannot see: put it into the image and "
            f"write local://, give a URL that the driver can read, or set {UPLOAD_PATH_KEY}",
        )
    directory = submission.naming.upload_directory(f"{key}\0{uri}")
    target = f"{base.rstrip('/')}/{directory}/{source.rsplit('/', 1)[-1]}"
    if key == _ARCHIVES_KEY:
        _, alias = without_alias(uri)
        target = f"{_single_slash(target)}#{alias}" if alias else _single_slash(target)
    return Upload(source, target)


def _single_slash(uri: str) -> str:
    return "file:/" + uri.removeprefix("file:").lstrip("/") if uri.startswith("file:") else uri
