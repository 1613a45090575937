"""Volumes that the configuration describes, and the claims created with the driver."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.metadata import selector_label
from airflow_provider_spark_operator.core.driver.pod import Changes, JsonObject, SparkPod, Submission

_DRIVER_PREFIX = "spark.kubernetes.driver.volumes."
_EXECUTOR_PREFIX = "spark.kubernetes.executor.volumes."
_ON_DEMAND = "OnDemand"
_SMALLEST_PLAIN_SIZE = 1024
_LARGEST_LONG = (1 << 63) - 1
_MOST_DIGITS = 1000


@dataclass(frozen=True)
class _Volume:
    """One volume: `prefix` is the beginning of its keys, `settings` what follows it."""

    prefix: str
    type: str
    name: str
    settings: Mapping[str, str]

    def required(self, setting: str) -> str:
        """Raise DriverBuildError if the setting is absent."""
        if setting not in self.settings:
            raise DriverBuildError(f"{self.prefix}{setting}", f"is required for a volume of type {self.type}")
        return self.settings[setting]

    def read_only(self) -> bool:
        """Raise DriverBuildError for anything but true or false."""
        word = self.settings.get("mount.readOnly", "false")
        if word.lower() not in ("true", "false"):
            raise DriverBuildError(f"{self.prefix}mount.readOnly", f"must be true or false, but is {word!r}")
        return word.lower() == "true"


def volumes(submission: Submission, _: SparkPod) -> Changes:
    """Mount each `spark.kubernetes.driver.volumes.<type>.<name>.*`.

    Raises:
        DriverBuildError: an unknown type, a setting that is missing or excludes another, or two volumes
            mounted at the same path.
    """
    shared = submission.conf.boolean("spark.kubernetes.legacy.useReadWriteOnceAccessMode")
    found = _parse(submission.conf.with_prefix(_DRIVER_PREFIX), _DRIVER_PREFIX)
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
            claims += _claims(submission, volume, source["claimName"], shared=shared)
        sources.append({"name": volume.name, volume.type: source})
    return Changes(
        pod={"spec": {"volumes": sources}},
        container={"volumeMounts": [_mount(volume) for volume in found]},
        resources=tuple(claims),
    )


def check_executor_volumes(submission: Submission) -> None:
    """Raise DriverBuildError for executor volumes that the driver would stumble over."""
    for volume in _parse(submission.conf.with_prefix(_EXECUTOR_PREFIX), _EXECUTOR_PREFIX):
        _SOURCES[volume.type](volume)
        volume.read_only()


def _parse(settings: Mapping[str, str], prefix: str) -> list[_Volume]:
    grouped: dict[tuple[str, str], dict[str, str]] = {}
    for key, value in settings.items():
        type_, _, rest = key.partition(".")
        name, _, setting = rest.partition(".")
        if type_ not in _SOURCES:
            raise DriverBuildError(
                f"{prefix}{key}", f"{type_!r} is no supported type of volume: use one of {', '.join(_SOURCES)}"
            )
        grouped.setdefault((type_, name), {})[setting] = value
    found = [_Volume(f"{prefix}{type_}.{name}.", type_, name, values) for (type_, name), values in grouped.items()]
    for volume in found:
        _check(volume)
    return found


def _check(volume: _Volume) -> None:
    volume.required("mount.path")
    if "mount.subPath" in volume.settings and "mount.subPathExpr" in volume.settings:
        raise DriverBuildError(f"{volume.prefix}mount.subPath", "excludes mount.subPathExpr: remove one of them")
    size = volume.settings.get("options.sizeLimit")
    if size == "":
        raise DriverBuildError(f"{volume.prefix}options.sizeLimit", "is empty: give a size as in 5Gi, or remove it")
    if size and re.fullmatch(r"[0-9]+", size, re.ASCII):
        _check_bytes(f"{volume.prefix}options.sizeLimit", size)


def _check_bytes(key: str, size: str) -> None:
    """Raise DriverBuildError for a number without a unit that is less than a volume holds, or over 64 bits."""
    if len(size) > _MOST_DIGITS or int(size) > _LARGEST_LONG:
        raise DriverBuildError(key, f"{size} is larger than Spark can count")
    if int(size) < _SMALLEST_PLAIN_SIZE:
        raise DriverBuildError(key, f"{size} means bytes, which is too small: add a unit, as in {size}Gi")


def _check_paths(found: list[_Volume]) -> None:
    taken: dict[str, _Volume] = {}
    for volume in found:
        path = volume.required("mount.path")
        if path in taken:
            raise DriverBuildError(
                f"{volume.prefix}mount.path", f"{path} is already taken by the volume {taken[path].name!r}"
            )
        taken[path] = volume


def _mount(volume: _Volume) -> JsonObject:
    return {
        "name": volume.name,
        "mountPath": volume.required("mount.path"),
        "readOnly": volume.read_only(),
        "subPath": volume.settings.get("mount.subPath", ""),
        "subPathExpr": volume.settings.get("mount.subPathExpr", ""),
    }


def _host_path(volume: _Volume) -> JsonObject:
    return {"path": volume.required("options.path"), "type": volume.settings.get("options.type", "")}


def _empty_dir(volume: _Volume) -> JsonObject:
    source: JsonObject = {"medium": volume.settings.get("options.medium", "")}
    if "options.sizeLimit" in volume.settings:
        source["sizeLimit"] = volume.settings["options.sizeLimit"]
    return source


def _nfs(volume: _Volume) -> JsonObject:
    return {"server": volume.required("options.server"), "path": volume.required("options.path")}


def _claim_volume(volume: _Volume) -> JsonObject:
    return {"claimName": volume.required("options.claimName"), "readOnly": volume.read_only()}


_SOURCES: Mapping[str, Callable[[_Volume], JsonObject]] = {
    "hostPath": _host_path,
    "emptyDir": _empty_dir,
    "nfs": _nfs,
    "persistentVolumeClaim": _claim_volume,
}


def _claims(submission: Submission, volume: _Volume, name: str, *, shared: bool) -> list[JsonObject]:
    """The claim to create: one only if both its class and its size are given, whatever its name."""
    storage_class = volume.settings.get("options.storageClass")
    size = volume.settings.get("options.sizeLimit")
    if storage_class is None or size is None:
        return []
    metadata: JsonObject = {
        "name": name,
        "labels": _following(volume, "label.") | selector_label(submission),
    }
    annotations = _following(volume, "annotation.")
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


def _following(volume: _Volume, prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in volume.settings.items() if key.startswith(prefix)}
