"""Validation of a pod's containers, with the messages of the API server."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from local_kubernetes.api.probe_rules import lifecycle_causes, probe_causes
from local_kubernetes.api.reference_rules import field_causes, resource_causes
from local_kubernetes.api.resource_rules import resources_causes
from local_kubernetes.api.restart_rules import restart_causes
from local_kubernetes.api.rules import (
    backstep,
    choice_causes,
    config_key_problems,
    duplicate,
    forbidden,
    inner_path_causes,
    invalid,
    name_causes,
    not_found,
    port_causes,
    port_name_problems,
    required,
    subdomain_causes,
)
from local_kubernetes.api.security_rules import container_security_causes
from local_kubernetes.api.status import Cause

Spec = Mapping[str, Any]

PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_VARIABLE = re.compile(r"[ -<>-~]+")
_VARIABLE_RULE = "a valid environment variable name must consist only of printable ASCII characters other than '='"


def containers_causes(spec: Spec, place: str) -> Iterator[Cause]:
    """Return the errors in the containers and init containers of a pod."""
    names: list[str] = []
    for field in ("containers", "initContainers"):
        host_ports: set[str] = set()
        initial = field == "initContainers"
        for index, container in enumerate(spec.get(field) or []):
            here, name = f"{place}.{field}[{index}]", container.get("name") or ""
            yield from name_causes(name, f"{here}.name", names)
            names.append(name)
            yield from _container_causes(spec, container, here)
            yield from _host_port_causes(spec, container, here, set() if initial else host_ports)
            yield from restart_causes(container, here)
            yield from _phase_causes(spec, container, here, initial=initial)


def _container_causes(spec: Spec, container: Spec, place: str) -> Iterator[Cause]:
    image = container.get("image") or ""
    if not image:
        yield required(f"{place}.image")
    elif image != image.strip():
        yield invalid(f"{place}.image", image, "must not have leading or trailing whitespace")
    if container.get("imagePullPolicy"):
        yield from choice_causes(container["imagePullPolicy"], _PULL_POLICIES, f"{place}.imagePullPolicy")
    if container.get("terminationMessagePolicy"):
        policy = container["terminationMessagePolicy"]
        yield from choice_causes(policy, _MESSAGE_POLICIES, f"{place}.terminationMessagePolicy")
    yield from _ports_causes(container, f"{place}.ports")
    for index, variable in enumerate(container.get("env") or []):
        yield from _variable_causes(spec, variable, f"{place}.env[{index}]")
    for index, source in enumerate(container.get("envFrom") or []):
        yield from _variables_causes(source, f"{place}.envFrom", index)
    yield from _mounts_causes(spec, container, place)
    claims = [claim.get("name") for claim in spec.get("resourceClaims") or []]
    yield from resources_causes(container.get("resources") or {}, f"{place}.resources", claims)
    yield from container_security_causes(container.get("securityContext") or {}, f"{place}.securityContext")


def _ports_causes(container: Spec, place: str) -> Iterator[Cause]:
    names: list[str] = []
    for index, port in enumerate(container.get("ports") or []):
        here, name = f"{place}[{index}]", port.get("name")
        if name:
            problems = port_name_problems(name)
            yield from (invalid(f"{here}.name", name, why) for why in problems)
            if not problems and name in names:
                yield duplicate(f"{here}.name", name)
            names.append(name)
        if not port.get("containerPort"):
            yield required(f"{here}.containerPort")
        else:
            yield from port_causes(port["containerPort"], f"{here}.containerPort")
        if port.get("hostPort"):
            yield from port_causes(port["hostPort"], f"{here}.hostPort")
        if port.get("protocol"):
            yield from choice_causes(port["protocol"], PROTOCOLS, f"{here}.protocol")


def _host_port_causes(spec: Spec, container: Spec, place: str, taken: set[str]) -> Iterator[Cause]:
    """Return the errors in host ports: each occurs once, and equals the container port in the host's network."""
    for index, port in enumerate(container.get("ports") or []):
        here, number = f"{place}.ports[{index}].hostPort", port.get("hostPort")
        if not number:
            continue
        if spec.get("hostNetwork") and number != port.get("containerPort"):
            yield invalid(here, number, "must match `containerPort` when `hostNetwork` is true")
        key = f"{port.get('protocol') or 'TCP'}/{port.get('hostIP') or ''}/{number}"
        if key in taken:
            yield duplicate(here, key)
        taken.add(key)


def _variable_causes(spec: Spec, variable: Spec, place: str) -> Iterator[Cause]:
    name, source = variable.get("name"), variable.get("valueFrom")
    if not name:
        yield required(f"{place}.name")
    elif _VARIABLE.fullmatch(name) is None:
        yield invalid(f"{place}.name", name, _VARIABLE_RULE)
    if source is None:
        return
    here, kinds = f"{place}.valueFrom", [kind for kind in _SOURCES if kind in source]
    for kind in kinds:
        yield from _source_causes(spec, kind, source[kind], f"{here}.{kind}")
    if not kinds:
        told = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield invalid(here, "", told)
    elif variable.get("value"):
        yield invalid(here, "", "may not be specified when `value` is not empty")
    elif len(kinds) > 1:
        yield invalid(here, "", "may not have more than one field specified at a time")


def _source_causes(spec: Spec, kind: str, source: Spec, place: str) -> Iterator[Cause]:
    if kind == "fieldRef":
        yield from field_causes(source, place)
    elif kind == "resourceFieldRef":
        yield from resource_causes(source, place)
    elif kind == "fileKeyRef":
        yield from _file_causes(spec, source, place)
    else:
        yield from subdomain_causes(source.get("name") or "", f"{place}.name")
        key = source.get("key") or ""
        if not key:
            yield required(f"{place}.key")
        else:
            yield from (invalid(f"{place}.key", key, why) for why in config_key_problems(key))


def _file_causes(spec: Spec, source: Spec, place: str) -> Iterator[Cause]:
    name, path, key = source.get("volumeName") or "", source.get("path") or "", source.get("key") or ""
    volumes = [volume for volume in spec.get("volumes") or [] if volume.get("name") == name]
    yield from name_causes(name, f"{place}.volumeName")
    if not volumes:
        yield not_found(f"{place}.volumeName", name)
    elif volumes[0].get("emptyDir") is None:
        yield invalid(f"{place}.volumeName", name, "referenced volume must be of type emptyDir")
    if not path:
        yield required(f"{place}.path")
    elif ".." in path.split("/"):
        yield backstep(f"{place}.path", path)
    if not key:
        yield required(f"{place}.key")
    elif _VARIABLE.fullmatch(key) is None:
        yield invalid(f"{place}.key", key, _VARIABLE_RULE)


def _variables_causes(source: Spec, place: str, index: int) -> Iterator[Cause]:
    """Return the errors in a source of several variables; an unknown kind is reported at the list, as in Kubernetes."""
    prefix = source.get("prefix")
    if prefix and _VARIABLE.fullmatch(prefix) is None:
        yield invalid(f"{place}[{index}].prefix", prefix, _VARIABLE_RULE)
    kinds = [kind for kind in ("configMapRef", "secretRef") if kind in source]
    for kind in kinds:
        here, name = f"{place}[{index}].{kind}.name", source[kind].get("name")
        if not name:
            yield required(here)
        else:
            yield from subdomain_causes(name, here)
    if not kinds:
        yield invalid(place, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(kinds) > 1:
        yield invalid(place, "", "may not have more than one field specified at a time")


def _mounts_causes(spec: Spec, container: Spec, place: str) -> Iterator[Cause]:
    volumes = {volume.get("name") for volume in spec.get("volumes") or []}
    mounted: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or []):
        here, name, where = f"{place}.volumeMounts[{index}]", mount.get("name") or "", mount.get("mountPath")
        if not name:
            yield required(f"{here}.name")
        if name not in volumes:
            yield not_found(f"{here}.name", name)
        if not where:
            yield required(f"{here}.mountPath")
        elif where in mounted:
            yield invalid(f"{here}.mountPath", where, "must be unique")
        mounted.add(where)
        yield from _mount_causes(container, mount, f"{place}.volumeMounts", here)
    for index, device in enumerate(container.get("volumeDevices") or []):
        if device.get("name") not in volumes:
            yield not_found(f"{place}.volumeDevices[{index}].name", device.get("name") or "")


def _mount_causes(container: Spec, mount: Spec, place: str, here: str) -> Iterator[Cause]:
    """Return the errors in a mount's sub-paths and propagation, reported at the list."""
    path, pattern, propagation = mount.get("subPath"), mount.get("subPathExpr"), mount.get("mountPropagation")
    if path:
        yield from inner_path_causes(path, f"{place}.subPath")
    if path and pattern:
        yield invalid(f"{here}.subPathExpr", pattern, "subPathExpr and subPath are mutually exclusive")
    if pattern:
        yield from inner_path_causes(pattern, f"{place}.subPathExpr")
    if propagation is not None:
        yield from choice_causes(propagation, _PROPAGATIONS, f"{place}.mountPropagation")
    if propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        told = "Bidirectional mount propagation is available only to privileged containers"
        yield forbidden(f"{place}.mountPropagation", told)


def _phase_causes(spec: Spec, container: Spec, place: str, *, initial: bool) -> Iterator[Cause]:
    """Return the errors in probes and hooks; only init containers that are sidecars can have them."""
    told = "may not be set for init containers without restartPolicy=Always"
    passes = initial and container.get("restartPolicy") != "Always"
    if container.get("lifecycle") is not None and passes:
        yield forbidden(f"{place}.lifecycle", told)
    elif container.get("lifecycle") is not None:
        grace = spec.get("terminationGracePeriodSeconds")
        yield from lifecycle_causes(container["lifecycle"], f"{place}.lifecycle", 30 if grace is None else grace)
    for name in _PROBES:
        if container.get(name) is not None and passes:
            yield forbidden(f"{place}.{name}", told)
        elif container.get(name) is not None:
            yield from probe_causes(container[name], f"{place}.{name}", name)
    for policy in container.get("resizePolicy") or []:
        yield from choice_causes(policy.get("resourceName") or "", ("cpu", "memory"), f"{place}.resizePolicy")
        choices = ("NotRequired", "RestartContainer")
        yield from choice_causes(policy.get("restartPolicy") or "", choices, f"{place}.resizePolicy")
