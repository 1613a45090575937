"""The volumes of the pods: scratch folders as Spark properties, other volumes in the templates."""

from collections.abc import Mapping
from typing import Any, Final

from ..kubernetes.json_object import JsonObject
from .draft import Draft

_LOCAL: Final = "spark-local-dir-"
# Kubernetes' name of each type that Spark can mount as a scratch folder, Spark's name, and the options.
_TYPES: Final = {
    "emptyDir": ("emptyDir", ("sizeLimit", "medium")),
    "hostPath": ("hostPath", ("path", "type")),
    "nfs": ("nfs", ("path", "server", "readOnly")),
    "persistentVolumeClaim": ("persistentVolumeClaim", ("claimName", "readOnly")),
}


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
