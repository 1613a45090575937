"""The volumes of a pod as directories of this machine."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ...api.kinds.documents import JsonObject
from ..node.access import ApiAccess
from .references import MissingReference, References, read_container_resource, read_pod_field

SERVICE_ACCOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_DEFAULT_MODE = 0o644
_IMPOSSIBLE_PATHS = frozenset({errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EPERM})
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True)
class PodFolders:
    """The directories of a pod's volumes.

    Args:
        volumes: Directory with one directory for each volume.
        claims: Directory with one directory for each persistent volume claim; it outlives the pod.
        credentials: Files of all service accounts of the namespace: `token`, `ca.crt`, `namespace`.
    """

    volumes: Path
    claims: Path
    credentials: Path


def make_volumes(pod: JsonObject, references: References, folders: PodFolders) -> dict[str, Path]:
    """Create the pod's volumes; return the directory, or for some host paths the file, of each.

    Calling it again replaces the content.

    Raises:
        MissingReference: An object of a volume does not exist, or the kind of a volume is not supported.
        OSError: A file could not be written.
    """
    made: dict[str, Path] = {}
    for volume in pod["spec"].get("volumes") or ():
        name = str(volume["name"])
        if not _NAME.fullmatch(name):
            raise MissingReference(f"{name!r} is not a volume name")
        made[name] = _make_volume(volume, pod, references, folders)
    return made


def refresh_volumes(pod: JsonObject, references: References, folders: PodFolders) -> None:
    """Write the current labels and annotations of a pod into its volumes that contain such fields.

    Raises:
        MissingReference: An object of a projected volume does not exist.
        OSError: A file could not be written.
    """
    for volume in pod["spec"].get("volumes") or ():
        parts = (volume, *((volume.get("projected") or {}).get("sources") or ()))
        if any("downwardAPI" in part for part in parts):
            _make_volume(volume, pod, references, folders)


def make_credentials(folder: Path, api: ApiAccess, namespace: str) -> None:
    """Write the files of the service accounts of a namespace, which a pod can change; raises OSError if that fails."""
    files = {"token": api.token.encode(), "ca.crt": api.ca_file.read_bytes(), "namespace": namespace.encode()}
    for name, content in files.items():
        file = folder / name
        if not file.is_file() or file.read_bytes() != content:
            _write_file(file, content, 0o600 if name == "token" else 0o644)


def map_mounts(container: JsonObject, volumes: Mapping[str, Path], expand: Callable[[str], str]) -> dict[str, Path]:
    """Return the directory or file for each mount path of a container.

    Args:
        container: The container's entry in the pod's spec.
        volumes: The pod's volumes, as `make_volumes` returned them.
        expand: Replaces the variables in a `subPathExpr`.

    Raises:
        MissingReference: A mount names a volume that does not exist, or a path outside its volume.
        OSError: The directory of a sub-path could not be created.
    """
    folders: dict[str, Path] = {}
    for mount in container.get("volumeMounts") or ():
        volume = volumes.get(mount["name"])
        if volume is None:
            raise MissingReference(f'volume mount "{mount["name"]}" has no volume')
        below = mount.get("subPath") or expand(mount.get("subPathExpr") or "")
        folder = volume / _resolve_relative(below) if below else volume
        if not folder.resolve().is_relative_to(volume.resolve()):
            raise MissingReference(f"subPath {below} of volume {mount['name']} leads out of the volume")
        _make_folder(folder, f"subPath {below} of volume {mount['name']}")
        folders[mount["mountPath"]] = folder
    return folders


def _make_volume(volume: JsonObject, pod: JsonObject, references: References, folders: PodFolders) -> Path:
    folder = folders.volumes / str(volume["name"])
    if "hostPath" in volume:
        return _resolve_host_path(volume["hostPath"])
    if "persistentVolumeClaim" in volume:
        folder = folders.claims / references.claim_uid(str(volume["persistentVolumeClaim"]["claimName"]))
    elif "emptyDir" not in volume:
        files = _read_volume_files(volume, pod, references, folders)
        folder.mkdir(parents=True, exist_ok=True)
        for path, (content, mode) in files.items():
            _write_volume_file(folder, path, content, mode)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


Files = dict[str, tuple[bytes, int]]


def _read_volume_files(volume: JsonObject, pod: JsonObject, references: References, folders: PodFolders) -> Files:
    """Return the files of a volume that objects define: the content and mode by path."""
    if "projected" in volume:
        source = volume["projected"]
        mode = int(source.get("defaultMode") or _DEFAULT_MODE)
        files: Files = {}
        for part in source.get("sources") or ():
            files |= _read_source_files(part, mode, pod, references, folders)
        return files
    part = {key: value for key, value in volume.items() if key != "name"}
    if "secret" in part:
        part["secret"] = part["secret"] | {"name": part["secret"].get("secretName")}
    modes = [value["defaultMode"] for value in part.values() if value and value.get("defaultMode")]
    return _read_source_files(part, int(modes[0]) if modes else _DEFAULT_MODE, pod, references, folders)


def _read_source_files(
    source: JsonObject, mode: int, pod: JsonObject, references: References, folders: PodFolders
) -> Files:
    if "configMap" in source:
        reference = source["configMap"]
        values = references.get_config_map(str(reference.get("name")), optional=bool(reference.get("optional")))
        return _select_files(values, reference, mode)
    if "secret" in source:
        reference = source["secret"]
        values = references.get_secret(str(reference.get("name")), optional=bool(reference.get("optional")))
        return _select_files(values, reference, mode)
    if "downwardAPI" in source:
        return {
            str(item["path"]): (_read_downward(item, pod).encode(), int(item.get("mode") or mode))
            for item in source["downwardAPI"].get("items") or ()
        }
    if "serviceAccountToken" in source:
        token = (folders.credentials / "token").read_bytes()
        return {str(source["serviceAccountToken"].get("path")): (token, 0o600)}
    raise MissingReference(
        f"the local cluster does not support volumes of the kind {', '.join(source) or 'none'}: "
        "use configMap, secret, emptyDir, projected, downwardAPI, hostPath or persistentVolumeClaim"
    )


def _select_files(values: Mapping[str, bytes], reference: Mapping[str, Any], mode: int) -> Files:
    """Return the values that become files: those in `items`, or all."""
    items = reference.get("items")
    if not items:
        return {key: (value, mode) for key, value in values.items()}
    files: Files = {}
    for item in items:
        if item["key"] in values:
            files[str(item["path"])] = (values[item["key"]], int(item.get("mode") or mode))
        elif not reference.get("optional"):
            raise MissingReference(f"{reference.get('name')} references non-existent config key: {item['key']}")
    return files


def _read_downward(item: Mapping[str, Any], pod: JsonObject) -> str:
    if "fieldRef" in item:
        return read_pod_field(pod, str(item["fieldRef"].get("fieldPath")))
    return read_container_resource(pod, {"name": ""}, item.get("resourceFieldRef") or {})


def _resolve_host_path(source: Mapping[str, Any]) -> Path:
    path = Path(str(source.get("path")))
    wanted = str(source.get("type") or "")
    if wanted == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    if wanted.startswith("Directory") and not path.is_dir():
        raise MissingReference(f"hostPath type check failed: {path} is not a directory")
    if wanted == "File" and not path.is_file():
        raise MissingReference(f"hostPath type check failed: {path} is not a file")
    return path


def _resolve_relative(path: str) -> PurePosixPath:
    """Return a path below a directory; raises MissingReference if it leads out of the directory."""
    relative = PurePosixPath(path)
    if relative.is_absolute() or ".." in relative.parts or "\0" in path:
        raise MissingReference(f"path {path!r} must lead into the volume")
    return relative


def _make_folder(folder: Path, what: str) -> None:
    """Create the path to mount unless it exists; raises MissingReference if that is not possible."""
    try:
        if not folder.exists():
            folder.mkdir(parents=True)
    except OSError as error:
        if error.errno not in _IMPOSSIBLE_PATHS:
            raise
        raise MissingReference(f"{what} cannot be a folder: {error.strerror}") from error


def _write_volume_file(folder: Path, path: str, content: bytes, mode: int) -> None:
    """Write a file of a volume; raises MissingReference if its path conflicts with another file."""
    try:
        _write_file(folder / _resolve_relative(path), content, mode)
    except OSError as error:
        if error.errno not in _IMPOSSIBLE_PATHS:
            raise
        raise MissingReference(f"path {path!r} cannot be a file of the volume: {error.strerror}") from error


def _write_file(path: Path, content: bytes, mode: int) -> None:
    """Write a file; replace an existing file or link at once, without following it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=".", dir=path.parent)
    written = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        written.chmod(mode)
        written.replace(path)
    except OSError:
        written.unlink()
        raise


def remove_folder(folder: Path) -> None:
    """Delete a directory as far as possible."""
    shutil.rmtree(folder, ignore_errors=True)
