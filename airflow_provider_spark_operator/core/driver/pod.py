"""A pod under construction: what a step may change, and how a change is merged in."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from airflow_provider_spark_operator.core.driver.configuration import Configuration
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.inputs import SubmissionInputs
from airflow_provider_spark_operator.core.driver.naming import Naming

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Submission:
    """What every step reads: the inputs, the names, and the configuration before any step changed it."""

    inputs: SubmissionInputs
    naming: Naming
    conf: Configuration


@dataclass(frozen=True)
class SparkPod:
    """The driver pod, with the container that runs Spark taken out of it."""

    pod: JsonObject
    container: JsonObject


@dataclass(frozen=True)
class Upload:
    """A file of the submitter's disk (`source`, a path) that the driver expects at the URI `target`."""

    source: str
    target: str


@dataclass(frozen=True)
class Changes:
    """What one step adds.

    `pod` and `container` are merged into what is there (see `merge`); `properties` go to the driver's
    configuration, later steps winning; `pre_resources` are needed before the pod, `resources` after it.
    """

    pod: JsonObject = field(default_factory=dict)
    container: JsonObject = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    pre_resources: tuple[JsonObject, ...] = ()
    resources: tuple[JsonObject, ...] = ()
    uploads: tuple[Upload, ...] = ()
    warnings: tuple[str, ...] = ()


Step: TypeAlias = Callable[[Submission, SparkPod], Changes]


def merge(base: Mapping[str, Any], patch: Mapping[str, Any]) -> JsonObject:
    """Objects are merged by key, lists appended, anything else replaced: Spark's rules for templates."""
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
    """The pod with a step's changes merged in."""
    return SparkPod(pod=merge(spark_pod.pod, changes.pod), container=merge(spark_pod.container, changes.container))


def mounted_volume(volume: JsonObject, mount: JsonObject) -> Changes:
    """The change that adds one volume and its mount in the Spark container."""
    return Changes(pod={"spec": {"volumes": [volume]}}, container={"volumeMounts": [mount]})


def variable(name: str, value: str) -> JsonObject:
    """One plain environment variable of a container."""
    return {"name": name, "value": value}


def config_map(name: str, data: Mapping[str, str]) -> JsonObject:
    """An immutable config map."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": dict(data),
        "immutable": True,
    }


def secret(name: str, data: Mapping[str, bytes]) -> JsonObject:
    """An immutable secret."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "data": {key: b64encode(value).decode() for key, value in data.items()},
        "immutable": True,
    }


def check_no_file_is_named(submission: Submission, key: str) -> None:
    """Raise DriverBuildError if the configuration names a file of which the inputs hold nothing."""
    path = submission.conf.text(key)
    if path is not None:
        raise DriverBuildError(key, _missing(path))


def file_content(submission: Submission, key: str, path: str, instead: str) -> bytes:
    """The content of a file that the configuration names.

    Raises:
        DriverBuildError: it was not there, or there is no submitter on whose disk it could be; `instead` says
            what to do then.
    """
    files = submission.inputs.files
    if files is None:
        raise DriverBuildError(key, f"{path} names a file on a submitter's disk, which nobody reads here: {instead}")
    if path not in files:
        raise DriverBuildError(key, _missing(path))
    return files[path]


def _missing(path: str) -> str:
    return f"the file {path} does not exist or cannot be read"


def forbid_privilege_escalation(pod_spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return `pod_spec` with `allowPrivilegeEscalation: false` in every container that does not set the field.

    Privileged containers and those with the capability SYS_ADMIN are not changed: the API would reject them.
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
