"""Bring files that lie beside the DAG to the driver: in a config map as long as they fit, else by upload.

A config map travels within the application: nothing has to be cleaned up, and no store is needed. It holds text,
and at most about a mebibyte of it. What is more, or no text, goes to a URL that the driver can read.
"""

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow.sdk import ObjectStoragePath
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_provider_spark_operator.core.names import FILES_DIRECTORY
from airflow_provider_spark_operator.operators.source import is_local

logger = logging.getLogger(__name__)

# Kubernetes takes 1 MiB in a config map; the application that carries it needs room for the rest of itself.
CONFIG_MAP_BYTES = 900 * 1024
# etcd takes 1.5 MiB, of the JSON in which an API server stores the application.
STORED_BYTES = 1400 * 1024
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")


@dataclass(frozen=True)
class LocalFile:
    """A file to ship.

    Attributes:
        given: How the DAG names it.
        name: Without its folder.
        content: What is in it.
        beside: It is no script but goes beside one, to the executors too.
    """

    given: str
    name: str
    content: bytes
    beside: bool = False

    @property
    def text(self) -> str | None:
        """Its content as text; None if a config map could not hold it, or its name."""
        if not _KEY.match(self.name):
            return None
        try:
            return self.content.decode()
        except UnicodeDecodeError:
            return None


@dataclass(frozen=True)
class Shipment:
    """Files on their way.

    Attributes:
        mounted: The ones that travel in the config map.
        uploaded: The others.
    """

    mounted: tuple[LocalFile, ...] = ()
    uploaded: tuple[LocalFile, ...] = ()


def read_files(paths: Iterable[str], folders: Sequence[str]) -> list[LocalFile]:
    """The local files among `paths`, each once.

    Args:
        paths: Absolute, or relative to one of `folders`.
        folders: Where to look, the DAG file's own first.

    Raises:
        AirflowFailException: A file is not there or cannot be read, or two have the same name.
    """
    found: dict[str, LocalFile] = {}
    for given in dict.fromkeys(paths):
        if not is_local(given):
            continue
        path = _located(given, folders)
        if path.name in found:
            raise AirflowFailException(
                f"{found[path.name].given} and {given} have the same name: the driver gets all files in one folder, "
                "so rename one of them"
            )
        try:
            found[path.name] = LocalFile(given, path.name, path.read_bytes())
        except OSError as error:
            raise AirflowFailException(f"{given} cannot be read: {error.strerror}") from error
    return list(found.values())


def packed(files: Sequence[LocalFile], upload_to: str | None, *, by_config_map: bool = True) -> Shipment:
    """Decide how each file travels.

    Args:
        files: To ship.
        upload_to: The URL of a folder; None for none.
        by_config_map: Whether the application can carry one.

    Raises:
        AirflowFailException: One has to be uploaded, and it is not said where to.
    """
    texts = [file for file in files if file.text is not None]
    size, stored = sum(len(file.content) for file in texts), sum(_stored_bytes(file.text or "") for file in texts)
    fit = by_config_map and size <= CONFIG_MAP_BYTES and stored <= STORED_BYTES
    mounted = tuple(texts) if fit else ()
    uploaded = tuple(file for file in files if file not in mounted)
    if uploaded and not upload_to:
        if not by_config_map:
            why = "this SparkApplication cannot contain files"
        elif not mounted and size > CONFIG_MAP_BYTES:
            why = f"together they have {size} bytes, more than {CONFIG_MAP_BYTES}"
        elif not mounted and texts:
            why = f"together they have {stored} bytes as JSON, more than {STORED_BYTES}"
        else:
            why = "it takes texts whose names have letters, digits, -, _ and . alone"
        names = ", ".join(file.given for file in uploaded)
        raise AirflowFailException(
            f"{names} cannot travel in a config map ({why}): set upload_to to a URL that the driver can read, "
            "such as s3://bucket/jobs"
        )
    return Shipment(mounted, uploaded)


def upload(file: LocalFile, upload_to: str, download_from: str | None) -> str:
    """Store the file and return the URL by which the driver reads it.

    It is stored under a hash of its content: once, however often it is shipped, and never in another's place.

    Args:
        file: The file.
        upload_to: A folder's URL as Airflow's object storage has it, `s3://connection@bucket/folder`.
        download_from: The same folder as the driver reads it; None for `upload_to` without the connection.

    Raises:
        AirflowException: The store refused, or cannot be reached; a retry may help.
    """
    place = f"{hashlib.sha256(file.content).hexdigest()[:32]}/{file.name}"
    try:
        target = ObjectStoragePath(upload_to.rstrip("/")) / place
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
            logger.info("%s is uploaded to %s", file.given, target)
    except Exception as error:  # every store has its own
        raise AirflowException(f"{file.given} cannot be uploaded to {upload_to}: {error}") from error
    return f"{(download_from or as_spark_reads(upload_to)).rstrip('/')}/{place}"


def mounted_uri(file: LocalFile) -> str:
    """The URI of a file that travels in the config map."""
    return f"local://{FILES_DIRECTORY}/{file.name}"


def config_map_name(application: str, files: Iterable[LocalFile], try_id: str) -> str:
    """A name of its own for every try and content: one that is being deleted must not be met again."""
    digest = hashlib.sha256(try_id.encode())
    for file in files:
        digest.update(hashlib.sha256(file.name.encode() + b"\0" + file.content).digest())
    return f"{application[:46].rstrip('-')}-files-{digest.hexdigest()[:10]}"


def as_spark_reads(url: str) -> str:
    """The URL of a folder of Airflow's object storage as Spark reads it: without the connection, `s3a` for `s3`."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{'s3a' if scheme == 's3' else scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _stored_bytes(text: str) -> int:
    """How long the text is as JSON; Kubernetes writes `<`, `>` and `&` in six characters, as for a page of HTML."""
    return len(json.dumps(text, ensure_ascii=False).encode()) + 5 * sum(text.count(sign) for sign in "<>&")


def _located(given: str, folders: Sequence[str]) -> Path:
    path = Path(given.removeprefix("file://").removeprefix("file:"))
    places = [path] if path.is_absolute() else [Path(folder) / path for folder in folders]
    for place in places:
        if place.is_file():
            return place
    looked = ", ".join(str(place.parent) for place in places) or "no folder"
    raise AirflowFailException(
        f"file {given!r} is not there; looked in {looked}. One that is in the image is named by local://, "
        "one elsewhere by its URL"
    )
