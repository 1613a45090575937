"""Defaults and rejected fields of a pod's specification."""

from collections.abc import Mapping
from typing import Any

from ..kinds.documents import JsonObject, copy_json
from ..kinds.quantities import MILLI, normalize_quantity

_DEFAULTS: Mapping[str, Any] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_CONTAINER_DEFAULTS: Mapping[str, Any] = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_VOLUME_MODES = ("configMap", "secret", "downwardAPI", "projected")
_CONTAINER_LISTS = ("initContainers", "containers")
_EVICTION_TOLERATIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def fill_pod_spec(spec: JsonObject) -> None:
    """Set the defaults of a specification of a pod or pod template, in place."""
    _set_defaults(spec, _DEFAULTS)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for field in _CONTAINER_LISTS:
        for container in spec.get(field) or []:
            _fill_container(container)
    for volume in spec.get("volumes") or []:
        _fill_volume(volume)


def admit_pod(pod: JsonObject) -> None:
    """Set the further defaults of a new pod, in place: service account, tolerations, first status."""
    spec = pod["spec"]
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    add_tolerations(spec)
    pod["status"] = {"phase": "Pending", "qosClass": compute_quality_of_service(spec)}


def add_tolerations(spec: JsonObject) -> None:
    """Add the default tolerations of every pod, in place, unless the pod has its own."""
    tolerations = spec.setdefault("tolerations", [])
    for key in _EVICTION_TOLERATIONS:
        if not any(item.get("key") in (key, None) and item.get("operator") == "Exists" for item in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})


def copy_frozen_part(spec: Mapping[str, Any]) -> JsonObject:
    """Return the immutable part of a pod's specification: everything but images, tolerations and the deadline."""
    frozen = copy_json(dict(spec))
    for key in ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates"):
        frozen.pop(key, None)
    for field in _CONTAINER_LISTS:
        for container in frozen.get(field) or []:
            container.pop("image", None)
    return frozen


def compute_quality_of_service(spec: Mapping[str, Any]) -> str:
    """Return the QoS class from requests and limits: Guaranteed, Burstable or BestEffort."""
    containers = [item for field in _CONTAINER_LISTS for item in spec.get(field) or []]
    resources = [container.get("resources") or {} for container in containers]
    named = [_select_compute_resources(item.get(part)) for item in resources for part in ("requests", "limits")]
    if not any(named):
        return "BestEffort"
    guaranteed = all(
        set(_select_compute_resources(item.get("limits"))) == {"cpu", "memory"}
        and _select_compute_resources(item.get("requests")) == _select_compute_resources(item.get("limits"))
        for item in resources
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _select_compute_resources(quantities: Mapping[str, str] | None) -> dict[str, str]:
    return {key: value for key, value in (quantities or {}).items() if key in ("cpu", "memory")}


def _set_defaults(part: JsonObject, defaults: Mapping[str, Any]) -> None:
    """Set missing fields, in place; an empty text counts as missing."""
    for key, value in defaults.items():
        if part.get(key) in (None, ""):
            part[key] = copy_json(value)


def _fill_container(container: JsonObject) -> None:
    _set_defaults(container, _CONTAINER_DEFAULTS)
    for key in [key for key, value in container.items() if value == []]:
        del container[key]
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _choose_pull_policy(str(container.get("image") or ""))
    resources = container["resources"]
    for part in ("limits", "requests"):
        for key, value in (resources.get(part) or {}).items():
            resources[part][key] = normalize_quantity(value, MILLI)
    for key, value in (resources.get("limits") or {}).items():
        resources.setdefault("requests", {}).setdefault(key, value)
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or []:
        _fill_source(variable.get("valueFrom") or {})


def _fill_source(source: JsonObject) -> None:
    """Complete the source of a variable, or of a file of a downward API volume."""
    if source.get("fieldRef") is not None:
        source["fieldRef"].setdefault("apiVersion", "v1")
    if source.get("resourceFieldRef") is not None:
        source["resourceFieldRef"].setdefault("divisor", "0")


def _fill_volume(volume: JsonObject) -> None:
    for source in _VOLUME_MODES:
        if source in volume:
            volume[source].setdefault("defaultMode", 0o644)
    for item in (volume.get("downwardAPI") or {}).get("items") or []:
        _fill_source(item)
    for source in (volume.get("projected") or {}).get("sources") or []:
        if source.get("serviceAccountToken") is not None:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        for item in (source.get("downwardAPI") or {}).get("items") or []:
            _fill_source(item)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}


def _choose_pull_policy(image: str) -> str:
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"
