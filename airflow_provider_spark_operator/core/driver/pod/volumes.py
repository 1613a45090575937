"""The volumes of the driver: scratch directories, those of the configuration, and claims that are created with it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...kubernetes.json_object import JsonObject
from ..configuration.configuration import DriverBuildError, split
from .basics import build_selector_label
from .pod import BuildContext, Changes, SparkPod, build_variable

_DRIVER_PREFIX = "spark.kubernetes.driver.volumes."
_EXECUTOR_PREFIX = "spark.kubernetes.executor.volumes."
_ON_DEMAND = "OnDemand"
_MIN_BYTES = 1024
_LARGEST_LONG = (1 << 63) - 1
_MAX_DIGITS = 1000


@dataclass(frozen=True)
class _Volume:
    """One volume. `prefix` is the common prefix of its keys, and `settings` are keyed by the rest of the keys."""

    prefix: str
    type: str
    name: str
    settings: Mapping[str, str]

    def get_required(self, setting: str) -> str:
        """Return a setting. Raise DriverBuildError if it is missing."""
        if setting not in self.settings:
            raise DriverBuildError(f"{self.prefix}{setting}", f"is required for a volume of type {self.type}")
        return self.settings[setting]

    def is_read_only(self) -> bool:
        """Return whether the mount is read-only. Raise DriverBuildError unless the setting is true or false."""
        word = self.settings.get("mount.readOnly", "false")
        if word.lower() not in ("true", "false"):
            raise DriverBuildError(f"{self.prefix}mount.readOnly", f"must be true or false, but is {word!r}")
        return word.lower() == "true"


def mount_volumes(submission: BuildContext, _: SparkPod) -> Changes:
    """Mount each volume `spark.kubernetes.driver.volumes.<type>.<name>.*`.

    Raises:
        DriverBuildError: A type is unknown, a setting is missing or excludes another one, or two volumes have the same
            mount path.
    """
    shared = submission.conf.get_boolean("spark.kubernetes.legacy.useReadWriteOnceAccessMode")
    found = _parse_volumes(submission.conf.get_by_prefix(_DRIVER_PREFIX), _DRIVER_PREFIX)
    _check_paths(found)
    if not found:
        return Changes()
    sources: list[JsonObject] = []
    claims: list[JsonObject] = []
    for index, volume in enumerate(found):
        source = _SOURCES[volume.type](volume)
        if volume.type == "persistentVolumeClaim":
            claim_name = f"{submission.naming.prefix}-driver-pvc-{index}"
            source["claimName"] = source["claimName"].replace(_ON_DEMAND, claim_name)
            claims += _build_claims(submission, volume, source["claimName"], shared=shared)
        sources.append({"name": volume.name, volume.type: source})
    return Changes(
        pod={"spec": {"volumes": sources}},
        container={"volumeMounts": [_build_mount(volume) for volume in found]},
        resources=tuple(claims),
    )


def check_executor_volumes(submission: BuildContext) -> None:
    """Raise DriverBuildError for executor volumes that the driver would refuse."""
    for volume in _parse_volumes(submission.conf.get_by_prefix(_EXECUTOR_PREFIX), _EXECUTOR_PREFIX):
        _SOURCES[volume.type](volume)
        volume.is_read_only()


def _parse_volumes(settings: Mapping[str, str], prefix: str) -> list[_Volume]:
    grouped: dict[tuple[str, str], dict[str, str]] = {}
    for key, value in settings.items():
        type_, _, rest = key.partition(".")
        name, _, setting = rest.partition(".")
        if type_ not in _SOURCES:
            raise DriverBuildError(
                f"{prefix}{key}", f"volume type {type_!r} is not supported: use one of {', '.join(_SOURCES)}"
            )
        grouped.setdefault((type_, name), {})[setting] = value
    found = [_Volume(f"{prefix}{type_}.{name}.", type_, name, values) for (type_, name), values in grouped.items()]
    for volume in found:
        _check_volume(volume)
    return found


def _check_volume(volume: _Volume) -> None:
    volume.get_required("mount.path")
    if "mount.subPath" in volume.settings and "mount.subPathExpr" in volume.settings:
        raise DriverBuildError(
            f"{volume.prefix}mount.subPath", "cannot be combined with mount.subPathExpr: remove one of them"
        )
    size = volume.settings.get("options.sizeLimit")
    if size == "":
        raise DriverBuildError(
            f"{volume.prefix}options.sizeLimit", "is empty: use a size such as 5Gi, or remove the key"
        )
    if size and re.fullmatch(r"[0-9]+", size, re.ASCII):
        _check_bytes(f"{volume.prefix}options.sizeLimit", size)


def _check_bytes(key: str, size: str) -> None:
    """Raise DriverBuildError for a number of bytes that is too small for a volume or does not fit in 64 bits."""
    if len(size) > _MAX_DIGITS or int(size) > _LARGEST_LONG:
        raise DriverBuildError(key, f"{size} is too large: the size must fit in a 64-bit integer")
    if int(size) < _MIN_BYTES:
        raise DriverBuildError(key, f"{size} bytes is too small: add a unit, for example {size}Gi")


def _check_paths(found: list[_Volume]) -> None:
    taken: dict[str, _Volume] = {}
    for volume in found:
        path = volume.get_required("mount.path")
        if path in taken:
            raise DriverBuildError(
                f"{volume.prefix}mount.path", f"{path} is already the path of the volume {taken[path].name!r}"
            )
        taken[path] = volume


def _build_mount(volume: _Volume) -> JsonObject:
    return {
        "name": volume.name,
        "mountPath": volume.get_required("mount.path"),
        "readOnly": volume.is_read_only(),
        "subPath": volume.settings.get("mount.subPath", ""),
        "subPathExpr": volume.settings.get("mount.subPathExpr", ""),
    }


def _build_empty_dir(volume: _Volume) -> JsonObject:
    source: JsonObject = {"medium": volume.settings.get("options.medium", "")}
    if "options.sizeLimit" in volume.settings:
        source["sizeLimit"] = volume.settings["options.sizeLimit"]
    return source


_SOURCES: Mapping[str, Callable[[_Volume], JsonObject]] = {
    "hostPath": lambda one: {"path": one.get_required("options.path"), "type": one.settings.get("options.type", "")},
    "emptyDir": _build_empty_dir,
    "nfs": lambda one: {"server": one.get_required("options.server"), "path": one.get_required("options.path")},
    "persistentVolumeClaim": lambda one: {
        "claimName": one.get_required("options.claimName"),
        "readOnly": one.is_read_only(),
    },
}


def _build_claims(submission: BuildContext, volume: _Volume, name: str, *, shared: bool) -> list[JsonObject]:
    """Build the claim. It is created only if both its storage class and its size are set."""
    storage_class = volume.settings.get("options.storageClass")
    size = volume.settings.get("options.sizeLimit")
    if storage_class is None or size is None:
        return []
    metadata: JsonObject = {
        "name": name,
        "labels": _select_settings(volume, "label.") | build_selector_label(submission),
    }
    annotations = _select_settings(volume, "annotation.")
    if annotations:
        metadata["annotations"] = annotations
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": {
                "accessModes": ["ReadWriteOnce" if shared else "ReadWriteOncePod"],
                "storageClassName": storage_class,
                "resources": {"requests": {"storage": size}},
            },
        }
    ]


def _select_settings(volume: _Volume, prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in volume.settings.items() if key.startswith(prefix)}


_VOLUME_PREFIX = "spark-local-dir-"
_VARIABLE = "SPARK_LOCAL_DIRS"


def add_local_directories(submission: BuildContext, spark_pod: SparkPod) -> Changes:
    """Use the volumes named `spark-local-dir-*`. If there are none, add an emptyDir for each configured path."""
    marked = [
        str(mount.get("mountPath", ""))
        for mount in spark_pod.container.get("volumeMounts") or ()
        if str(mount.get("name", "")).startswith(_VOLUME_PREFIX)
    ]
    conf = submission.conf
    in_memory = conf.get_boolean("spark.kubernetes.local.dirs.tmpfs")
    if marked:
        return Changes(container={"env": [build_variable(_VARIABLE, ",".join(marked))]})
    configured = submission.inputs.environment.get(_VARIABLE, conf.get_text("spark.local.dir"))
    paths = split(submission.naming.local_directory if configured is None else configured, ",")
    directory = {"medium": "Memory"} if in_memory else {}
    names = [f"{_VOLUME_PREFIX}{number}" for number in range(1, len(paths) + 1)]
    return Changes(
        pod={"spec": {"volumes": [{"name": name, "emptyDir": dict(directory)} for name in names]}},
        container={
            "volumeMounts": [{"name": name, "mountPath": path} for name, path in zip(names, paths, strict=True)],
            "env": [build_variable(_VARIABLE, ",".join(paths))],
        },
    )
