"""The parameters of pods as Spark properties where Spark has one, and as parts of a pod template otherwise."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import DRIVER_CONTAINER, EXECUTOR_CONTAINER, ROLE_DRIVER, ROLE_EXECUTOR, is_namespace
from ..kubernetes.problems import InvalidResource, Problem
from ..spark.spot import build_spot_pod, find_spot_label
from .parameter_types import (
    ConfigMap,
    Scheduler,
    Secret,
    Volume,
    build_value,
    build_values,
    is_in,
    read_flag,
    read_seconds,
)
from .parameters import Parameters, split_list

DRIVER: Final = ROLE_DRIVER
EXECUTOR: Final = ROLE_EXECUTOR
ROLES: Final = (DRIVER, EXECUTOR)
CONTAINERS: Final = {DRIVER: DRIVER_CONTAINER, EXECUTOR: EXECUTOR_CONTAINER}
_ENVIRONMENT: Final = {DRIVER: "spark.kubernetes.driverEnv.", EXECUTOR: "spark.executorEnv."}
_RECOVERY: Final = "spark.kubernetes.allocation.recoveryMode.enabled"
_RESIZE_PLUGIN: Final = "org.apache.spark.scheduler.cluster.k8s.ExecutorResizePlugin"
# By default, a decommissioned executor then migrates its shuffle data and its cached blocks.
_DECOMMISSION: Final = ("spark.decommission.enabled", "spark.storage.decommission.enabled")
_CONFIG_MAP_VOLUME: Final = "config-map-"


@dataclass(frozen=True)
class PodSettings:
    """What parameters change in the pods of one role, "driver" or "executor".

    Attributes:
        properties: Spark properties.
        variables: Names of the environment variables that the parameters set.
        secrets: Names of the Secrets that the parameters mount.
        config_maps: Names of the ConfigMaps that the parameters mount.
        volumes: Names of the volumes that the parameters mount.
        pod: Fields of the pod without a property, for its template.
        container: Fields of the container of Spark without a property, for the template.
    """

    properties: Mapping[str, str]
    variables: frozenset[str] = frozenset()
    secrets: frozenset[str] = frozenset()
    config_maps: frozenset[str] = frozenset()
    volumes: frozenset[str] = frozenset()
    pod: Mapping[str, Any] = field(default_factory=dict)
    container: Mapping[str, Any] = field(default_factory=dict)


def format_value(value: object) -> str:
    """Return a value as the text of a property, a label or an environment variable."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def format_values(values: Mapping[str, object] | None) -> dict[str, str]:
    """Return the values of an object as texts. A value that is None is left out."""
    return {str(key): format_value(value) for key, value in (values or {}).items() if value is not None}


def build_pod_settings(parameters: Parameters, role: str) -> PodSettings:
    """Return what the parameters change in the pods of a role.

    Args:
        parameters: Valid parameters.
        role: The role, "driver" or "executor".
    """
    secrets = [one for one in build_values(Secret, parameters.secrets) if is_in(one.pods, role)]
    config_maps = [one for one in build_values(ConfigMap, parameters.config_maps) if is_in(one.pods, role)]
    volumes = [one for one in build_values(Volume, parameters.volumes) if is_in(one.pods, role)]
    others = [volume for volume in volumes if volume.source is not None]
    variables = format_values(parameters.env_vars)
    properties = {f"{_ENVIRONMENT[role]}{name}": value for name, value in variables.items()}
    for name, value in format_values(parameters.node_selector).items():
        properties[f"spark.kubernetes.{role}.node.selector.{name}"] = value
    for secret in secrets:
        properties |= _build_secret_properties(secret, role)
    for volume in volumes:
        properties |= _build_claim_properties(volume, role) if volume.source is None else {}
    mounts = [{"name": _name_volume(one), "mountPath": one.path, "readOnly": True} for one in config_maps]
    mounts += map(_build_mount, others)
    sources: list[dict[str, Any]] = [
        {"name": _name_volume(one), "configMap": {"name": one.name}} for one in config_maps
    ]
    sources += ({"name": one.name, **(one.source or {})} for one in others)
    return PodSettings(
        properties=properties,
        variables=frozenset(variables) | {name for secret in secrets for name in secret.env or ()},
        secrets=frozenset(secret.name for secret in secrets if secret.path),
        config_maps=frozenset(one.name for one in config_maps),
        volumes=frozenset(volume.name for volume in volumes),
        pod=_build_pod(parameters, role) | ({"volumes": sources} if sources else {}),
        container={"volumeMounts": mounts} if mounts else {},
    )


def build_scheduler(parameters: Parameters) -> Scheduler | None:
    """Return the scheduler that the parameters give; None if they give none."""
    given = parameters.scheduler
    if given is None:
        return None
    return Scheduler(given) if isinstance(given, str) else build_value(Scheduler, given)


def remove_replaced_properties(conf: Mapping[str, str], settings: PodSettings, role: str) -> dict[str, str]:
    """Return the properties without those that would set the same variables and volumes in another way.

    Args:
        conf: Spark properties of a document.
        settings: The settings that replace them.
        role: The role of the settings.
    """
    replaced = {f"{_ENVIRONMENT[role]}{name}" for name in settings.variables}
    replaced |= {f"spark.kubernetes.{role}.secretKeyRef.{name}" for name in settings.variables}
    prefix = f"spark.kubernetes.{role}.volumes."

    def is_replaced(key: str) -> bool:
        # spark.kubernetes.driver.volumes.<type>.<name>.<setting>
        parts = key.removeprefix(prefix).split(".")
        return key in replaced or (key.startswith(prefix) and len(parts) > 1 and parts[1] in settings.volumes)

    return {key: value for key, value in conf.items() if not is_replaced(key)}


def write_executors(conf: Mapping[str, str], parameters: Parameters) -> dict[str, str]:
    """Return the Spark properties of an application with those of executors that adapt, or that run on spot nodes.

    Args:
        conf: The Spark properties; they stay unchanged.
        parameters: Valid parameters.
    """
    written = dict(conf)
    if parameters.executor_recovery is not None:
        written[_RECOVERY] = format_value(read_flag(parameters.executor_recovery))
    if (seconds := read_seconds(parameters.executor_resize)) is not None:
        written["spark.plugins"] = ",".join(merge_names(conf.get("spark.plugins"), [_RESIZE_PLUGIN]))
        written["spark.kubernetes.executor.resizeInterval"] = f"{math.ceil(seconds)}s"  # 0 disables it
    if (label := find_spot_label(parameters.executors_on_spot)) is not None:
        written[f"spark.kubernetes.executor.node.selector.{label[0]}"] = label[1]
        for key in _DECOMMISSION:
            written.setdefault(key, "true")
    return written


def _build_pod(parameters: Parameters, role: str) -> dict[str, Any]:
    label = find_spot_label(parameters.executors_on_spot)
    pod = build_spot_pod(label, is_driver=role == DRIVER) if label else {}
    if parameters.tolerations:
        pod["tolerations"] = [*pod.get("tolerations", ()), *map(dict, parameters.tolerations)]
    if parameters.priority_class is not None:
        pod["priorityClassName"] = parameters.priority_class.strip()
    return pod


def _build_secret_properties(secret: Secret, role: str) -> dict[str, str]:
    keys = (secret.env or {}).items()
    found = {f"spark.kubernetes.{role}.secretKeyRef.{variable}": f"{secret.name}:{key}" for variable, key in keys}
    return found | ({f"spark.kubernetes.{role}.secrets.{secret.name}": secret.path} if secret.path else {})


def _build_claim_properties(volume: Volume, role: str) -> dict[str, str]:
    settings = {
        "mount.path": volume.path,
        "mount.readOnly": "true" if read_flag(volume.read_only) else None,
        "mount.subPath": volume.sub_path,
        # Spark creates a claim for each pod and deletes it with the pod.
        "options.claimName": volume.claim or "OnDemand",
        "options.storageClass": volume.storage_class,
        "options.sizeLimit": volume.size,
    }
    prefix = f"spark.kubernetes.{role}.volumes.persistentVolumeClaim.{volume.name}."
    return {f"{prefix}{name}": value for name, value in settings.items() if value is not None}


def _name_volume(config_map: ConfigMap) -> str:
    plain = f"{_CONFIG_MAP_VOLUME}{config_map.name}"
    if is_namespace(plain):
        return plain
    # The name of a volume has at most 63 characters and no dots, unlike that of a ConfigMap.
    return f"{_CONFIG_MAP_VOLUME}{hashlib.sha256(config_map.name.encode()).hexdigest()[:10]}"


def _build_mount(volume: Volume) -> dict[str, Any]:
    mount: dict[str, Any] = {"name": volume.name, "mountPath": volume.path}
    if read_flag(volume.read_only):
        mount["readOnly"] = True
    return mount | ({"subPath": volume.sub_path} if volume.sub_path else {})


def merge_packages(present: object, given: Sequence[str] | str | None) -> list[str]:
    """Return Maven coordinates of a document and of parameters. A given version replaces a present one.

    Args:
        present: The coordinates of the document, as a list or as text with commas.
        given: The coordinates that win.
    """
    entries = [*split_list(present if isinstance(present, (list, str)) else None), *split_list(given)]
    return list({entry.replace("/", ":").rpartition(":")[0]: entry for entry in entries}.values())


def merge_names(present: object, given: Sequence[str] | str | None) -> list[str]:
    """Return the entries of a document and of parameters without duplicates.

    Args:
        present: The entries of the document, as a list or as text with commas.
        given: Entries to add.
    """
    return list(dict.fromkeys([*split_list(present if isinstance(present, (list, str)) else None), *split_list(given)]))


def read_template(parameters: Parameters, role: str) -> JsonObject:
    """Return the pod template that the parameters give for a role; empty if there is none.

    Raises:
        InvalidResource: The template is not an object.
    """
    template = parameters.driver_template if role == DRIVER else parameters.executor_template
    if template is None:
        return {}
    if not isinstance(template, Mapping):
        raise InvalidResource([Problem(f"{role}_template", "must be an object with metadata and spec")])
    return {key: value for key, value in template.items() if key in ("metadata", "spec")}
