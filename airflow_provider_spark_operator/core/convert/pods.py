"""The pod templates: what the webhook of Kubeflow's operator writes into the pods, in the same order."""

import hashlib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import LONGEST_LABEL_VALUE
from ..parameters.pod_settings import CONTAINERS
from .conversion import Draft
from .fields import ROLES
from .properties import ENVIRONMENT

_HADOOP_DIRECTORY: Final = "/etc/hadoop/conf"
_SPARK_DIRECTORY: Final = "/etc/spark/conf"
# Spark adds these variables after those of the template. The last variable of a name counts.
_SPARK_VARIABLES: Final = frozenset(
    {
        "SPARK_APPLICATION_ID",
        "SPARK_CONF_DIR",
        "SPARK_DRIVER_BIND_ADDRESS",
        "SPARK_DRIVER_POD_IP",
        "SPARK_DRIVER_URL",
        "SPARK_EXECUTOR_CORES",
        "SPARK_EXECUTOR_DIRS",
        "SPARK_EXECUTOR_ID",
        "SPARK_EXECUTOR_MEMORY",
        "SPARK_EXECUTOR_POD_IP",
        "SPARK_EXECUTOR_POD_NAME",
        "SPARK_LOCAL_DIRS",
        "SPARK_RESOURCE_PROFILE_ID",
        "SPARK_USER",
    }
)
# Fields of the pod that replace those of the template.
_POD_FIELDS: Final = {
    "affinity": "affinity",
    "dnsConfig": "dnsConfig",
    "podSecurityContext": "securityContext",
    "terminationGracePeriodSeconds": "terminationGracePeriodSeconds",
}
_CONTAINER_FIELDS: Final = ("securityContext", "lifecycle")
_POD_LISTS: Final = ("hostAliases", "tolerations")
_LOCAL: Final = "spark-local-dir-"
# Kubernetes' name of each type that Spark can mount as a scratch folder, Spark's name, and the options.
_TYPES: Final = {
    "emptyDir": ("emptyDir", ("sizeLimit", "medium")),
    "hostPath": ("hostPath", ("path", "type")),
    "nfs": ("nfs", ("path", "server", "readOnly")),
    "persistentVolumeClaim": ("persistentVolumeClaim", ("claimName", "readOnly")),
}


def write_templates(draft: Draft) -> None:
    """Write the pod template of each role, if its pods need one."""
    for role in ROLES:
        template = _build_template(draft, role)
        if template is None:
            continue
        draft.spec[f"{role}Spec"] = {"podTemplateSpec": template}
        # Without this property, an operator takes the end of any container for the end of the driver.
        draft.conf[f"spark.kubernetes.{role}.podTemplateContainerName"] = CONTAINERS[role]


def _build_template(draft: Draft, role: str) -> JsonObject | None:
    pod = draft.get_pod(role)
    template: JsonObject = deepcopy(dict(pod.get("template", {})))
    base = dict(template.get("spec") or {})
    containers = list(base.get("containers") or [])
    names = [container.get("name") for container in containers]
    position = names.index(CONTAINERS[role]) if CONTAINERS[role] in names else 0
    container = dict(containers[position]) if containers else {"name": CONTAINERS[role]}
    spec = {key: value for key, value in base.items() if key != "containers"}
    before = deepcopy((spec, container))
    _write_variables(draft, role, container)
    _write_config_maps(draft, pod, spec, container)
    write_volumes(draft, role, spec, container)
    _write_container(draft, role, container)
    _write_pod(pod, spec)
    sidecars = _select_new(pod.get("sidecars", ()), containers or [container])
    if not template and not sidecars and (spec, container) == before:
        return None
    containers[position : position + 1] = [container]
    return template | {"spec": spec | {"containers": [*containers, *sidecars]}}


def _write_variables(draft: Draft, role: str, container: JsonObject) -> None:
    pod, path = draft.get_pod(role), f"spec.{role}.env"
    names = [str(variable.get("name")) for variable in pod.get("env", ())]
    _append(container, "env", pod.get("env", ()))
    _append(container, "envFrom", pod.get("envFrom", ()))
    for name in names:
        # Kubeflow's webhook adds its variables last, and Spark adds those of the properties last.
        for prefix in (ENVIRONMENT[role], f"spark.kubernetes.{role}.secretKeyRef."):
            draft.conf.pop(f"{prefix}{name}", None)
    replaced = sorted(_SPARK_VARIABLES.intersection(names))
    if replaced:
        draft.change(path, f"Spark replaces {', '.join(replaced)}: the value of the pod template has no effect")
    elif any(_uses_spark_variable(variable.get("value")) for variable in pod.get("env", ())):
        draft.change(
            path, "Spark adds its variables last: a reference to one of them, such as $(SPARK_USER), is not expanded"
        )


def _uses_spark_variable(value: object) -> bool:
    return isinstance(value, str) and any(f"$({name})" in value for name in _SPARK_VARIABLES)


def _write_config_maps(draft: Draft, pod: Mapping[str, Any], spec: JsonObject, container: JsonObject) -> None:
    source = draft.source
    shared = (
        ("hadoopConfigMap", "hadoop-configmap-volume", _HADOOP_DIRECTORY, "HADOOP_CONF_DIR"),
        ("sparkConfigMap", "spark-configmap-volume", _SPARK_DIRECTORY, ""),
    )
    for field, volume, directory, variable in shared:
        if field in source:
            mount_config_map(spec, container, source[field], volume, directory)
            _append(container, "env", [{"name": variable, "value": directory}] if variable else [])
    for entry in pod.get("configMaps", ()):
        mount_config_map(spec, container, entry["name"], name_volume(entry["name"]), entry["path"])


def mount_config_map(spec: JsonObject, container: JsonObject, name: str, volume: str, directory: str) -> None:
    """Add a volume with a ConfigMap, and mount it in the container of Spark.

    Args:
        spec: The specification of the pod, which is changed.
        container: The container of Spark, which is changed.
        name: The name of the ConfigMap.
        volume: The name of the volume.
        directory: The path of the mount.
    """
    source = {"name": volume, "configMap": {"name": name}}
    if source not in (spec.get("volumes") or ()):  # it can be mounted at several paths
        _append(spec, "volumes", [source])
    _append(container, "volumeMounts", [{"name": volume, "readOnly": True, "mountPath": directory}])


def name_volume(config_map: str) -> str:
    """Return the name that Kubeflow's webhook gives the volume of a ConfigMap."""
    preferred = f"{config_map}-vol"
    if len(preferred) <= LONGEST_LABEL_VALUE and "." not in preferred:
        return preferred
    suffix = f"-{hashlib.sha256(config_map.encode()).hexdigest()[:8]}-vol"
    return config_map.replace(".", "-")[: LONGEST_LABEL_VALUE - len(suffix)].rstrip("-") + suffix


def _write_container(draft: Draft, role: str, container: JsonObject) -> None:
    pod = draft.get_pod(role)
    _append(container, "ports", pod.get("ports", ()))
    for field in _CONTAINER_FIELDS:
        if field in pod:
            container[field] = pod[field]
    gpu = pod.get("gpu", {})
    if gpu.get("name") and gpu.get("quantity", 0) > 0:
        resources = dict(container.get("resources") or {})
        limits = dict(resources.get("limits") or {}) | {gpu["name"]: str(gpu["quantity"])}
        container["resources"] = resources | {"limits": limits}
    else:
        for field in gpu:
            draft.drop(f"spec.{role}.gpu.{field}", "Kubeflow's operator ignores a GPU without a name and a quantity")


def _write_pod(pod: Mapping[str, Any], spec: JsonObject) -> None:
    if pod.get("hostNetwork"):
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    for field in _POD_LISTS:
        _append(spec, field, pod.get(field, ()))
    _append(spec, "initContainers", _select_new(pod.get("initContainers", ()), spec.get("initContainers") or ()))
    for field, target in _POD_FIELDS.items():
        if field in pod:
            spec[target] = pod[field]
    if pod.get("priorityClassName"):
        for replaced in ("priority", "preemptionPolicy"):
            spec.pop(replaced, None)
        spec["priorityClassName"] = pod["priorityClassName"]
    if pod.get("shareProcessNamespace"):
        spec["shareProcessNamespace"] = True


def _append(holder: JsonObject, key: str, entries: Sequence[Mapping[str, Any]]) -> None:
    if entries:
        holder[key] = [*(holder.get(key) or ()), *entries]


def _select_new(added: Sequence[Mapping[str, Any]], present: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the containers of `added` whose name and image are not in `present`."""
    known = [(container.get("name"), container.get("image")) for container in present]
    return [container for container in added if (container.get("name"), container.get("image")) not in known]


def write_volumes(draft: Draft, role: str, spec: JsonObject, container: JsonObject) -> None:
    """Write the mounted volumes.

    Args:
        draft: The conversion, which gets the properties of scratch folders.
        role: "driver" or "executor".
        spec: The specification of the pod in the template, which is changed.
        container: The container of Spark in the template, which is changed.
    """
    volumes = {volume.get("name"): volume for volume in draft.source.get("volumes", ())}
    path, missing, added = f"spec.{role}.volumeMounts", [], set()
    for mount in draft.get_pod(role).get("volumeMounts", ()):
        name = mount.get("name")
        volume = volumes.get(name)
        if str(name).startswith(_LOCAL):
            _write_local(draft, role, mount, volume)
        elif volume is None:
            missing.append(str(name))
        else:
            if name not in added:
                spec["volumes"] = [*(spec.get("volumes") or ()), volume]
                added.add(name)
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
    if missing:
        names = ", ".join(missing)
        draft.change(path, f"{names} was removed: no volume has this name, and Kubeflow's webhook skips such a mount")


def report_unused_volumes(draft: Draft) -> None:
    """Report the volumes that no pod mounts."""
    mounted = {
        mount.get("name") for role in ("driver", "executor") for mount in draft.get_pod(role).get("volumeMounts", ())
    }
    unused = [str(each.get("name")) for each in draft.source.get("volumes", ()) if each.get("name") not in mounted]
    if unused:
        reason = (
            f"{', '.join(unused)} is left out: no volumeMount names it, and Kubeflow's operator ignores such volumes"
        )
        draft.change("spec.volumes", reason)


def _write_local(draft: Draft, role: str, mount: Mapping[str, Any], volume: Mapping[str, Any] | None) -> None:
    name = mount["name"]
    if volume is None:
        reason = f"mounts {name}, which is not in spec.volumes: the submission fails in Kubeflow's operator, too"
        draft.refuse(f"spec.{role}.volumeMounts", reason)
        return
    kind = next((kind for kind in _TYPES if kind in volume), None)
    if kind is None:
        reason = (
            f"{name} must be an emptyDir, hostPath, nfs or persistentVolumeClaim: "
            "Spark mounts no other kind of scratch volume"
        )
        draft.refuse("spec.volumes", reason)
        return
    spark_type, options = _TYPES[kind]
    prefix = f"spark.kubernetes.{role}.volumes.{spark_type}.{name}"
    for field in ("path", "subPath"):
        value = mount.get("mountPath" if field == "path" else field)
        if value:
            draft.conf[f"{prefix}.mount.{field}"] = str(value)
    if mount.get("readOnly"):
        draft.conf[f"{prefix}.mount.readOnly"] = "true"
    source = volume[kind] or {}
    for option in options:
        value = source.get(option)
        if value:
            draft.conf[f"{prefix}.options.{option}"] = "true" if value is True else str(value)
