"""The pod under construction: the changes of a step, and how they are merged."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...kubernetes.json_object import JsonObject
from ..configuration.configuration import Configuration, DriverBuildError
from ..configuration.inputs import SubmissionInputs
from ..configuration.resource_names import Naming


@dataclass(frozen=True)
class BuildContext:
    """The input of every step: the inputs, the names, and the configuration before the first step."""

    inputs: SubmissionInputs
    naming: Naming
    conf: Configuration


@dataclass(frozen=True)
class SparkPod:
    """The driver pod without the container that runs Spark, and that container."""

    pod: JsonObject
    container: JsonObject


@dataclass(frozen=True)
class Upload:
    """A local file to upload: its path (`source`), and the URI at which the driver expects it (`target`)."""

    source: str
    target: str


@dataclass(frozen=True)
class Changes:
    """The changes of one step.

    Attributes:
        pod: Fields to merge into the pod, see `merge`.
        container: Fields to merge into the Spark container.
        properties: Properties to set in the configuration of the driver. Later steps take precedence.
        pre_resources: Documents to create before the pod.
        resources: Documents to create after the pod.
        uploads: Local files to upload.
        warnings: Sentences for the user.
    """

    pod: JsonObject = field(default_factory=dict)
    container: JsonObject = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    pre_resources: tuple[JsonObject, ...] = ()
    resources: tuple[JsonObject, ...] = ()
    uploads: tuple[Upload, ...] = ()
    warnings: tuple[str, ...] = ()


Step: TypeAlias = Callable[[BuildContext, SparkPod], Changes]


def merge(base: Mapping[str, Any], patch: Mapping[str, Any]) -> JsonObject:
    """Merge objects by key, append lists and replace other values, as Spark merges templates."""
    merged = dict(base)
    for key, value in patch.items():
        existing = merged.get(key)
        if isinstance(existing, Mapping) and isinstance(value, Mapping):
            merged[key] = merge(existing, value)
        elif isinstance(existing, list) and isinstance(value, list):
            merged[key] = [*existing, *value]
        else:
            merged[key] = value
    return merged


def apply_changes(spark_pod: SparkPod, changes: Changes) -> SparkPod:
    """Return the pod with the changes of a step."""
    return SparkPod(pod=merge(spark_pod.pod, changes.pod), container=merge(spark_pod.container, changes.container))


def build_volume_with_mount(volume: JsonObject, mount: JsonObject) -> Changes:
    """Return the changes that add a volume and its mount in the Spark container."""
    return Changes(pod={"spec": {"volumes": [volume]}}, container={"volumeMounts": [mount]})


def build_variable(name: str, value: str) -> JsonObject:
    """Build an environment variable with a literal value."""
    return {"name": name, "value": value}


def build_config_map(name: str, data: Mapping[str, str]) -> JsonObject:
    """Build an immutable ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(data), "immutable": True}


def build_secret(name: str, data: Mapping[str, bytes]) -> JsonObject:
    """Build an immutable secret."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "data": {key: b64encode(value).decode() for key, value in data.items()},
        "immutable": True,
    }


def check_no_file_named(submission: BuildContext, key: str) -> None:
    """Raise DriverBuildError if the configuration names a file that the inputs do not contain."""
    path = submission.conf.get_text(key)
    if path is not None:
        raise DriverBuildError(key, _describe_missing_file(path))


def get_file_content(submission: BuildContext, key: str, path: str, instead: str) -> bytes:
    """Return the content of a file that the configuration names.

    Args:
        submission: The input of the step.
        key: The configuration key that names the file.
        path: The path of the file.
        instead: What the user can do if there is no local disk. It ends the message.

    Raises:
        DriverBuildError: The file does not exist, or there is no local disk.
    """
    files = submission.inputs.files
    if files is None:
        raise DriverBuildError(key, f"{path} is a file on a local disk, which an operator cannot read: {instead}")
    if path not in files:
        raise DriverBuildError(key, _describe_missing_file(path))
    return files[path]


def _describe_missing_file(path: str) -> str:
    return f"the file {path} does not exist or cannot be read"


def forbid_privilege_escalation(pod_spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return `pod_spec` with `allowPrivilegeEscalation: false` in every container that does not set the field.

    Privileged containers and containers with the capability SYS_ADMIN are not changed: the API would reject them.
    """
    spec = dict(pod_spec)
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            spec[kind] = [_forbid_escalation_of(container) for container in spec[kind]]
    return spec


def _forbid_escalation_of(container: dict[str, Any]) -> dict[str, Any]:
    context = container.get("securityContext") or {}
    added = (context.get("capabilities") or {}).get("add") or []
    if context.get("privileged") or {"SYS_ADMIN", "CAP_SYS_ADMIN"} & set(added):
        return container
    return {**container, "securityContext": {"allowPrivilegeEscalation": False, **context}}
