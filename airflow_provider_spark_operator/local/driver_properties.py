"""The properties file of a driver, with the paths, references and secrets that a driver on this machine needs."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from local_kubernetes.kubelet.containers.container import read_regular
from local_kubernetes.kubelet.node.runtime import StartError

from ..core.driver.configuration.uris import get_file_path, split_alias
from ..core.kubernetes.problems import InvalidResource
from ..core.spark.properties import format_properties, parse_properties
from .authentication import build_properties

# The maximum size of a ConfigMap.
_MAX_BYTES: Final = 1 << 20
# The paths in these properties are those of executor pods and of the machine. The kubelet maps them when it starts the
# executor pods.
_EXECUTOR_VOLUMES: Final = "spark.kubernetes.executor.volumes."
# The lists of files that Spark copies to a folder of the driver.
_DELIVERED: Final = ("spark.files", "spark.archives", "spark.submit.pyFiles")
_LOCAL: Final = "local:"
_LOCAL_STANDALONE_MASTER: Final = "spark://127.0.0.1:"


def read_driver_properties(file: Path, rewrite: Callable[[str], str], *, delivers_local_files: bool) -> dict[str, str]:
    """Return the properties of a driver for this machine.

    Args:
        file: The properties file of the driver pod.
        rewrite: Replaces the container's paths and services in a text by the paths and services of this machine.
        delivers_local_files: Whether Spark must copy files to the folder of SparkFiles, because the working directory
            of the driver belongs to the user.

    Raises:
        StartError: The file could not be read, or a reference in it is invalid.
    """
    properties = {
        key: value if key.startswith(_EXECUTOR_VOLUMES) else rewrite(value) for key, value in _read(file).items()
    }
    _check_references(properties)
    if delivers_local_files:
        properties |= _deliver_local_files(properties)
    if properties.get("spark.master", "").startswith(_LOCAL_STANDALONE_MASTER):
        # On Kubernetes, the driver generates a secret and passes it to its executors.
        properties |= build_properties()
    return properties


def write_properties(folder: Path, properties: Mapping[str, str], title: str) -> Path:
    """Write the properties file of a driver, which only its owner can read."""
    file = folder / "spark.properties"
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as output:
        output.write(format_properties(properties, title))
    return file


def _read(file: Path) -> dict[str, str]:
    """Return the entries of a driver's properties file."""
    try:
        content = read_regular(file.resolve(), _MAX_BYTES + 1)
    except OSError as error:
        raise StartError(f"--properties-file {file}: {error.strerror or error}") from error
    if len(content) > _MAX_BYTES:
        raise StartError(f"--properties-file {file}: it is larger than {_MAX_BYTES} bytes")
    try:
        return parse_properties(content.decode(errors="replace"), f"--properties-file {file}")
    except InvalidResource as error:
        raise StartError(str(error)) from None


def _check_references(properties: Mapping[str, str]) -> None:
    """Raise StartError for a reference that Spark cannot parse, or with which it would write outside of its folder."""
    for key in ("spark.jars", *_DELIVERED):
        for uri in map(str.strip, properties.get(key, "").split(",")):
            if " " in uri:
                raise StartError(f"{key}: {uri}: a URI must not contain a space. Write %20 instead")
            if ".." in unquote(split_alias(uri)[1]).split("/"):
                raise StartError(f"{key}: {uri}: the name after # must not contain '..'")


def _deliver_local_files(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the lists of files and archives with `file:` URIs, so that Spark copies them to the folder of SparkFiles.

    Spark copies a file with a `local:` URI only to the working directory of a driver in cluster mode.
    """
    return {
        key: ",".join(_build_delivered_uri(uri.strip()) for uri in properties[key].split(","))
        for key in _DELIVERED
        if key in properties
    }


def _build_delivered_uri(uri: str) -> str:
    """Return the `file:` URI of a file with a `local:` URI. Any other URI, and that of a folder, is unchanged."""
    delivered = f"file:{uri.removeprefix(_LOCAL)}"
    path = get_file_path(delivered) if uri.startswith(_LOCAL) else None
    return delivered if path and Path(path).is_file() else uri
