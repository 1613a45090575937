"""A pod's volumes as folders of this machine."""

import errno
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from local_kubernetes.api.documents import JsonObject
from local_kubernetes.kubelet.access import ApiAccess
from local_kubernetes.kubelet.references import (
    MissingReference,
    References,
    container_resource,
    pod_field,
)

SERVICE_ACCOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_DEFAULT_MODE = 0o644
_IMPOSSIBLE_PATHS = frozenset({errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EPERM})
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True)
class PodFolders:
    """Where a pod's volumes are.

    Args:
        volumes: the folder that holds a folder for each volume.
        claims: the folder that holds a folder for each persistent volume claim; outlives the pod.
        credentials: the files of the pod's service account: `token`, `ca.crt`, `namespace`.
    """

    volumes: Path
    claims: Path
    credentials: Path


def make_volumes(pod: JsonObject, references: References, folders: PodFolders) -> dict[str, Path]:
    """Make the pod's volumes, and return the folder (for some host paths: the file) of each.

    Repeating it is harmless: what has been made is made again.

    Raises:
        MissingReference: what a volume is made of does not exist, or its kind is not known here.
        OSError: a file cannot be written.
    """
    made: dict[str, Path] = {}
    for volume in pod["spec"].get("volumes") or ():
        name = str(volume["name"])
        if not _NAME.fullmatch(name):
            raise MissingReference(f"{name!r} is no volume name")
        made[name] = _make_volume(volume, pod, references, folders)
    return made


def make_credentials(folder: Path, api: ApiAccess, namespace: str) -> None:
    """Write the files of a pod's service account; raises OSError if they cannot be written."""
    _write_file(folder / "token", api.token.encode(), 0o600)
    _write_file(folder / "ca.crt", api.ca_file.read_bytes(), 0o644)
    _write_file(folder / "namespace", namespace.encode(), 0o644)


def map_mounts(container: JsonObject, volumes: Mapping[str, Path], expand: Callable[[str], str]) -> dict[str, Path]:
    """For each mount path of a container, the folder or file that stands for it.

    Args:
        container: the container's entry in the pod's spec.
        volumes: the pod's volumes, as `make_volumes` returned them.
        expand: replaces the variables in a `subPathExpr`.

    Raises:
        MissingReference: a mount names a volume that the pod has not, or leaves it.
        OSError: a sub-path's folder cannot be made.
    """
    folders: dict[str, Path] = {}
    for mount in container.get("volumeMounts") or ():
        volume = volumes.get(mount["name"])
        if volume is None:
            raise MissingReference(f'volume mount "{mount["name"]}" has no volume')
        below = mount.get("subPath") or expand(mount.get("subPathExpr") or "")
        folder = volume / _relative(below) if below else volume
        if not folder.resolve().is_relative_to(volume.resolve()):
            raise MissingReference(f"subPath {below} of volume {mount['name']} leads out of the volume")
        _make_folder(folder, f"subPath {below} of volume {mount['name']}")
        folders[mount["mountPath"]] = folder
    return folders


def _make_volume(volume: JsonObject, pod: JsonObject, references: References, folders: PodFolders) -> Path:
    folder = folders.volumes / str(volume["name"])
    if "hostPath" in volume:
        return _host_path(volume["hostPath"])
    if "persistentVolumeClaim" in volume:
        folder = folders.claims / references.claim_uid(str(volume["persistentVolumeClaim"]["claimName"]))
    elif "emptyDir" not in volume:
        files = _volume_files(volume, pod, references, folders)
        folder.mkdir(parents=True, exist_ok=True)
        for path, (content, mode) in files.items():
            _write_volume_file(folder, path, content, mode)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


Files = dict[str, tuple[bytes, int]]


def _volume_files(volume: JsonObject, pod: JsonObject, references: References, folders: PodFolders) -> Files:
    """The files of a volume that is made of objects: by path, the content and the mode."""
    if "projected" in volume:
        source = volume["projected"]
        mode = int(source.get("defaultMode") or _DEFAULT_MODE)
        files: Files = {}
        for part in source.get("sources") or ():
            files |= _source_files(part, mode, pod, references, folders)
        return files
    part = {key: value for key, value in volume.items() if key != "name"}
    if "secret" in part:
        part["secret"] = part["secret"] | {"name": part["secret"].get("secretName")}
    modes = [value["defaultMode"] for value in part.values() if value and value.get("defaultMode")]
    return _source_files(part, int(modes[0]) if modes else _DEFAULT_MODE, pod, references, folders)


def _source_files(source: JsonObject, mode: int, pod: JsonObject, references: References, folders: PodFolders) -> Files:
    if "configMap" in source:
        reference = source["configMap"]
        values = references.config_map(str(reference.get("name")), optional=bool(reference.get("optional")))
        return _select_files(values, reference, mode)
    if "secret" in source:
        reference = source["secret"]
        values = references.secret(str(reference.get("name")), optional=bool(reference.get("optional")))
        return _select_files(values, reference, mode)
    if "downwardAPI" in source:
        return {
            str(item["path"]): (_downward(item, pod).encode(), int(item.get("mode") or mode))
            for item in source["downwardAPI"].get("items") or ()
        }
    if "serviceAccountToken" in source:
        token = (folders.credentials / "token").read_bytes()
        return {str(source["serviceAccountToken"].get("path")): (token, 0o600)}
    raise MissingReference(
        f"the local cluster has no volumes of the kind {', '.join(source) or 'none'}: "
        "use configMap, secret, emptyDir, projected, downwardAPI, hostPath or persistentVolumeClaim"
    )


def _select_files(values: Mapping[str, bytes], reference: Mapping[str, Any], mode: int) -> Files:
    """The values that become files: those that `items` names, or all."""
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


def _downward(item: Mapping[str, Any], pod: JsonObject) -> str:
    if "fieldRef" in item:
        return pod_field(pod, str(item["fieldRef"].get("fieldPath")))
    return container_resource(pod, {"name": ""}, item.get("resourceFieldRef") or {})


def _host_path(source: Mapping[str, Any]) -> Path:
    path = Path(str(source.get("path")))
    wanted = str(source.get("type") or "")
    if wanted == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    if wanted.startswith("Directory") and not path.is_dir():
        raise MissingReference(f"hostPath type check failed: {path} is not a directory")
    if wanted == "File" and not path.is_file():
        raise MissingReference(f"hostPath type check failed: {path} is not a file")
    return path


def _relative(path: str) -> PurePosixPath:
    """A path below a folder; raises MissingReference where it leads out of it."""
    relative = PurePosixPath(path)
    if relative.is_absolute() or ".." in relative.parts or "\0" in path:
        raise MissingReference(f"path {path!r} must lead into the volume")
    return relative


def _make_folder(folder: Path, what: str) -> None:
    """Make what is to be mounted, unless it is there; raises MissingReference for a path that cannot be made."""
    try:
        if not folder.exists():
            folder.mkdir(parents=True)
    except OSError as error:
        if error.errno not in _IMPOSSIBLE_PATHS:
            raise
        raise MissingReference(f"{what} cannot be a folder: {error.strerror}") from error


def _write_volume_file(folder: Path, path: str, content: bytes, mode: int) -> None:
    """Write a file of a volume; raises MissingReference for a path that cannot be one beside the others."""
    try:
        _write_file(folder / _relative(path), content, mode)
    except OSError as error:
        if error.errno not in _IMPOSSIBLE_PATHS:
            raise
        raise MissingReference(f"path {path!r} cannot be a file of the volume: {error.strerror}") from error


def _write_file(path: Path, content: bytes, mode: int) -> None:
    """Write a file anew: what is there, a link too, is replaced and not followed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    path.chmod(mode)


def remove_folder(folder: Path) -> None:
    """Remove a pod's folder as far as that is possible."""
    shutil.rmtree(folder, ignore_errors=True)
