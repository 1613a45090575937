"""Validation of a pod's containers, with the messages of the API server."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .probe_rules import find_lifecycle_causes, find_probe_causes
from .reference_rules import find_field_causes, find_resource_causes
from .resource_rules import find_resources_causes
from .restart_rules import find_restart_causes
from .rules import (
    build_backstep_cause,
    build_duplicate_cause,
    build_forbidden_cause,
    build_invalid_cause,
    build_not_found_cause,
    build_required_cause,
    find_choice_causes,
    find_config_key_problems,
    find_inner_path_causes,
    find_name_causes,
    find_port_causes,
    find_port_name_problems,
    find_subdomain_causes,
)
from .security_rules import find_container_security_causes

Spec = Mapping[str, Any]

PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_VARIABLE = re.compile(r"[ -<>-~]+")
_VARIABLE_RULE = "a valid environment variable name must consist only of printable ASCII characters other than '='"


def find_containers_causes(spec: Spec, place: str) -> Iterator[Cause]:
    """Return the errors in the containers and init containers of a pod."""
    names: list[str] = []
    for field in ("containers", "initContainers"):
        host_ports: set[str] = set()
        initial = field == "initContainers"
        for index, container in enumerate(spec.get(field) or []):
            here, name = f"{place}.{field}[{index}]", container.get("name") or ""
            yield from find_name_causes(name, f"{here}.name", names)
            names.append(name)
            yield from _find_container_causes(spec, container, here)
            yield from _find_host_port_causes(spec, container, here, set() if initial else host_ports)
            yield from find_restart_causes(container, here)
            yield from _find_phase_causes(spec, container, here, initial=initial)


def _find_container_causes(spec: Spec, container: Spec, place: str) -> Iterator[Cause]:
    image = container.get("image") or ""
    if not image:
        yield build_required_cause(f"{place}.image")
    elif image != image.strip():
        yield build_invalid_cause(f"{place}.image", image, "must not have leading or trailing whitespace")
    if container.get("imagePullPolicy"):
        yield from find_choice_causes(container["imagePullPolicy"], _PULL_POLICIES, f"{place}.imagePullPolicy")
    if container.get("terminationMessagePolicy"):
        policy = container["terminationMessagePolicy"]
        yield from find_choice_causes(policy, _MESSAGE_POLICIES, f"{place}.terminationMessagePolicy")
    yield from _find_ports_causes(container, f"{place}.ports")
    for index, variable in enumerate(container.get("env") or []):
        yield from _find_variable_causes(spec, variable, f"{place}.env[{index}]")
    for index, source in enumerate(container.get("envFrom") or []):
        yield from _find_variables_causes(source, f"{place}.envFrom", index)
    yield from _find_mounts_causes(spec, container, place)
    claims = [claim.get("name") for claim in spec.get("resourceClaims") or []]
    yield from find_resources_causes(container.get("resources") or {}, f"{place}.resources", claims)
    yield from find_container_security_causes(container.get("securityContext") or {}, f"{place}.securityContext")


def _find_ports_causes(container: Spec, place: str) -> Iterator[Cause]:
    names: list[str] = []
    for index, port in enumerate(container.get("ports") or []):
        here, name = f"{place}[{index}]", port.get("name")
        if name:
            problems = find_port_name_problems(name)
            yield from (build_invalid_cause(f"{here}.name", name, why) for why in problems)
            if not problems and name in names:
                yield build_duplicate_cause(f"{here}.name", name)
            names.append(name)
        if not port.get("containerPort"):
            yield build_required_cause(f"{here}.containerPort")
        else:
            yield from find_port_causes(port["containerPort"], f"{here}.containerPort")
        if port.get("hostPort"):
            yield from find_port_causes(port["hostPort"], f"{here}.hostPort")
        if port.get("protocol"):
            yield from find_choice_causes(port["protocol"], PROTOCOLS, f"{here}.protocol")


def _find_host_port_causes(spec: Spec, container: Spec, place: str, taken: set[str]) -> Iterator[Cause]:
    """Return the errors in host ports: each occurs once, and equals the container port in the host's network."""
    for index, port in enumerate(container.get("ports") or []):
        here, number = f"{place}.ports[{index}].hostPort", port.get("hostPort")
        if not number:
            continue
        if spec.get("hostNetwork") and number != port.get("containerPort"):
            yield build_invalid_cause(here, number, "must match `containerPort` when `hostNetwork` is true")
        key = f"{port.get('protocol') or 'TCP'}/{port.get('hostIP') or ''}/{number}"
        if key in taken:
            yield build_duplicate_cause(here, key)
        taken.add(key)


def _find_variable_causes(spec: Spec, variable: Spec, place: str) -> Iterator[Cause]:
    name, source = variable.get("name"), variable.get("valueFrom")
    if not name:
        yield build_required_cause(f"{place}.name")
    elif _VARIABLE.fullmatch(name) is None:
        yield build_invalid_cause(f"{place}.name", name, _VARIABLE_RULE)
    if source is None:
        return
    here, kinds = f"{place}.valueFrom", [kind for kind in _SOURCES if kind in source]
    for kind in kinds:
        yield from _find_source_causes(spec, kind, source[kind], f"{here}.{kind}")
    if not kinds:
        detail = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        )
        yield build_invalid_cause(here, "", detail)
    elif variable.get("value"):
        yield build_invalid_cause(here, "", "may not be specified when `value` is not empty")
    elif len(kinds) > 1:
        yield build_invalid_cause(here, "", "may not have more than one field specified at a time")


def _find_source_causes(spec: Spec, kind: str, source: Spec, place: str) -> Iterator[Cause]:
    if kind == "fieldRef":
        yield from find_field_causes(source, place)
    elif kind == "resourceFieldRef":
        yield from find_resource_causes(source, place)
    elif kind == "fileKeyRef":
        yield from _find_file_causes(spec, source, place)
    else:
        yield from find_subdomain_causes(source.get("name") or "", f"{place}.name")
        key = source.get("key") or ""
        if not key:
            yield build_required_cause(f"{place}.key")
        else:
            yield from (build_invalid_cause(f"{place}.key", key, why) for why in find_config_key_problems(key))


def _find_file_causes(spec: Spec, source: Spec, place: str) -> Iterator[Cause]:
    name, path, key = source.get("volumeName") or "", source.get("path") or "", source.get("key") or ""
    volumes = [volume for volume in spec.get("volumes") or [] if volume.get("name") == name]
    yield from find_name_causes(name, f"{place}.volumeName")
    if not volumes:
        yield build_not_found_cause(f"{place}.volumeName", name)
    elif volumes[0].get("emptyDir") is None:
        yield build_invalid_cause(f"{place}.volumeName", name, "referenced volume must be of type emptyDir")
    if not path:
        yield build_required_cause(f"{place}.path")
    elif ".." in path.split("/"):
        yield build_backstep_cause(f"{place}.path", path)
    if not key:
        yield build_required_cause(f"{place}.key")
    elif _VARIABLE.fullmatch(key) is None:
        yield build_invalid_cause(f"{place}.key", key, _VARIABLE_RULE)


def _find_variables_causes(source: Spec, place: str, index: int) -> Iterator[Cause]:
    """Return the errors in a source of several variables; an unknown kind is reported at the list, as in Kubernetes."""
    prefix = source.get("prefix")
    if prefix and _VARIABLE.fullmatch(prefix) is None:
        yield build_invalid_cause(f"{place}[{index}].prefix", prefix, _VARIABLE_RULE)
    kinds = [kind for kind in ("configMapRef", "secretRef") if kind in source]
    for kind in kinds:
        here, name = f"{place}[{index}].{kind}.name", source[kind].get("name")
        if not name:
            yield build_required_cause(here)
        else:
            yield from find_subdomain_causes(name, here)
    if not kinds:
        yield build_invalid_cause(place, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(kinds) > 1:
        yield build_invalid_cause(place, "", "may not have more than one field specified at a time")


def _find_mounts_causes(spec: Spec, container: Spec, place: str) -> Iterator[Cause]:
    volumes = {volume.get("name") for volume in spec.get("volumes") or []}
    mounted: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or []):
        here, name, where = f"{place}.volumeMounts[{index}]", mount.get("name") or "", mount.get("mountPath")
        if not name:
            yield build_required_cause(f"{here}.name")
        if name not in volumes:
            yield build_not_found_cause(f"{here}.name", name)
        if not where:
            yield build_required_cause(f"{here}.mountPath")
        elif where in mounted:
            yield build_invalid_cause(f"{here}.mountPath", where, "must be unique")
        mounted.add(where)
        yield from _find_mount_causes(container, mount, f"{place}.volumeMounts", here)
    for index, device in enumerate(container.get("volumeDevices") or []):
        if device.get("name") not in volumes:
            yield build_not_found_cause(f"{place}.volumeDevices[{index}].name", device.get("name") or "")


def _find_mount_causes(container: Spec, mount: Spec, place: str, here: str) -> Iterator[Cause]:
    """Return the errors in a mount's sub-paths and propagation, reported at the list."""
    path, pattern, propagation = mount.get("subPath"), mount.get("subPathExpr"), mount.get("mountPropagation")
    if path:
        yield from find_inner_path_causes(path, f"{place}.subPath")
    if path and pattern:
        yield build_invalid_cause(f"{here}.subPathExpr", pattern, "subPathExpr and subPath are mutually exclusive")
    if pattern:
        yield from find_inner_path_causes(pattern, f"{place}.subPathExpr")
    if propagation is not None:
        yield from find_choice_causes(propagation, _PROPAGATIONS, f"{place}.mountPropagation")
    if propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        detail = "Bidirectional mount propagation is available only to privileged containers"
        yield build_forbidden_cause(f"{place}.mountPropagation", detail)


def _find_phase_causes(spec: Spec, container: Spec, place: str, *, initial: bool) -> Iterator[Cause]:
    """Return the errors in probes and hooks; only init containers that are sidecars can have them."""
    detail = "may not be set for init containers without restartPolicy=Always"
    passes = initial and container.get("restartPolicy") != "Always"
    if container.get("lifecycle") is not None and passes:
        yield build_forbidden_cause(f"{place}.lifecycle", detail)
    elif container.get("lifecycle") is not None:
        grace = spec.get("terminationGracePeriodSeconds")
        yield from find_lifecycle_causes(container["lifecycle"], f"{place}.lifecycle", 30 if grace is None else grace)
    for name in _PROBES:
        if container.get(name) is not None and passes:
            yield build_forbidden_cause(f"{place}.{name}", detail)
        elif container.get(name) is not None:
            yield from find_probe_causes(container[name], f"{place}.{name}", name)
    for policy in container.get("resizePolicy") or []:
        yield from find_choice_causes(policy.get("resourceName") or "", ("cpu", "memory"), f"{place}.resizePolicy")
        choices = ("NotRequired", "RestartContainer")
        yield from find_choice_causes(policy.get("restartPolicy") or "", choices, f"{place}.resizePolicy")
