"""What the API server fills into a pod's specification, and what it refuses in one."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_spark_operator.local.api.documents import JsonObject, copy_json
from airflow_provider_spark_operator.local.api.status import Cause

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
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_EVICTION_TOLERATIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def fill_pod_spec(spec: JsonObject) -> None:
    """Fill in, in place, the defaults of a pod's or a pod template's specification."""
    for key, value in _DEFAULTS.items():
        if spec.get(key) is None:
            spec[key] = copy_json(value)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for field in _CONTAINER_LISTS:
        for container in spec.get(field) or []:
            if isinstance(container, dict):
                _fill_container(container)
    for volume in spec.get("volumes") or []:
        if isinstance(volume, dict):
            _fill_volume(volume)


def admit_pod(pod: JsonObject) -> None:
    """Fill in, in place, what a pod gets besides when it is created: account, tolerations, first status."""
    spec = pod["spec"]
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    tolerations = spec.setdefault("tolerations", [])
    for key in _EVICTION_TOLERATIONS:
        if not any(item.get("key") in (key, None) and item.get("operator") == "Exists" for item in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(spec)}


def pod_spec_causes(spec: object, path: str = "spec") -> list[Cause]:
    """All that is wrong with a pod's specification, as far as it is judged here."""
    if not isinstance(spec, dict):
        return [Cause(path, "Required value", "FieldValueRequired")]
    causes = list(_container_causes(spec, path))
    policy = spec.get("restartPolicy")
    if policy is not None and policy not in _RESTART_POLICIES:
        supported = ", ".join(f'"{item}"' for item in _RESTART_POLICIES)
        message = f'Unsupported value: "{policy}": supported values: {supported}'
        causes.append(Cause(f"{path}.restartPolicy", message, "FieldValueNotSupported"))
    return causes


def frozen_part(spec: Mapping[str, Any]) -> JsonObject:
    """What of a pod's specification never changes: all but images, tolerations and the deadline."""
    frozen = copy_json(dict(spec))
    for key in ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates"):
        frozen.pop(key, None)
    for field in _CONTAINER_LISTS:
        for container in frozen.get(field) or []:
            container.pop("image", None)
    return frozen


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """The class that follows from requests and limits: Guaranteed, Burstable or BestEffort."""
    containers = [item for field in _CONTAINER_LISTS for item in spec.get(field) or []]
    resources = [container.get("resources") or {} for container in containers]
    named = [_computing(item.get(part)) for item in resources for part in ("requests", "limits")]
    if not any(named):
        return "BestEffort"
    guaranteed = all(
        set(_computing(item.get("limits"))) == {"cpu", "memory"}
        and _computing(item.get("requests")) == _computing(item.get("limits"))
        for item in resources
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _computing(quantities: object) -> dict[str, str]:
    if not isinstance(quantities, dict):
        return {}
    return {key: str(value) for key, value in quantities.items() if key in ("cpu", "memory")}


def _fill_container(container: JsonObject) -> None:
    for key, value in _CONTAINER_DEFAULTS.items():
        if container.get(key) is None:
            container[key] = copy_json(value)
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(str(container.get("image") or ""))
    resources = container["resources"]
    for key, value in (resources.get("limits") or {}).items():
        resources.setdefault("requests", {}).setdefault(key, value)
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or []:
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference is not None:
            reference.setdefault("apiVersion", "v1")
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if isinstance(container.get(probe), dict):
            _fill_probe(container[probe])


def _fill_probe(probe: JsonObject) -> None:
    defaults = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    for key, value in defaults.items():
        probe.setdefault(key, value)
    if isinstance(probe.get("httpGet"), dict):
        probe["httpGet"].setdefault("path", "/")
        probe["httpGet"].setdefault("scheme", "HTTP")


def _fill_volume(volume: JsonObject) -> None:
    for source in _VOLUME_MODES:
        if isinstance(volume.get(source), dict):
            volume[source].setdefault("defaultMode", 0o644)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}


def _pull_policy(image: str) -> str:
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _container_causes(spec: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if not spec.get("containers"):
        yield Cause(f"{path}.containers", "Required value", "FieldValueRequired")
    seen: set[str] = set()
    for field in _CONTAINER_LISTS:
        containers = spec.get(field) or []
        if not isinstance(containers, list) or not all(isinstance(item, dict) for item in containers):
            yield Cause(f"{path}.{field}", "Invalid value: must be a list of objects", "FieldValueTypeInvalid")
            continue
        for index, container in enumerate(containers):
            place = f"{path}.{field}[{index}]"
            name = container.get("name")
            if not name:
                yield Cause(f"{place}.name", "Required value", "FieldValueRequired")
            elif not isinstance(name, str) or _DNS_LABEL.fullmatch(name) is None:
                yield Cause(f"{place}.name", f'Invalid value: "{name}": must be a lowercase RFC 1123 label')
            elif name in seen:
                yield Cause(f"{place}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate")
            else:
                seen.add(name)
            if not container.get("image"):
                yield Cause(f"{place}.image", "Required value", "FieldValueRequired")
            yield from _reference_causes(spec, container, place)


def _reference_causes(spec: Mapping[str, Any], container: Mapping[str, Any], place: str) -> Iterator[Cause]:
    volumes = {volume.get("name") for volume in spec.get("volumes") or []}
    for index, mount in enumerate(container.get("volumeMounts") or []):
        if mount.get("name") not in volumes:
            yield Cause(
                f"{place}.volumeMounts[{index}].name", f'Not found: "{mount.get("name")}"', "FieldValueNotFound"
            )
    for index, variable in enumerate(container.get("env") or []):
        if not variable.get("name"):
            yield Cause(f"{place}.env[{index}].name", "Required value", "FieldValueRequired")
