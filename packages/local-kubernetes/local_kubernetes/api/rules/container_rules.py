"""Validation of a pod's containers, with the messages of the API server."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .reference_rules import find_field_causes, find_resource_causes
from .resource_rules import find_resources_causes
from .rules import (
    build_duplicate_cause,
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

Spec = Mapping[str, Any]

PROTOCOLS = ("SCTP", "TCP", "UDP")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "restartPolicy": ("Always", "Never", "OnFailure"),
    "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
}
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_VARIABLE = re.compile(r"[ -<>-~]+")
_VARIABLE_RULE = "a valid environment variable name must consist only of printable ASCII characters other than '='"


def find_containers_causes(spec: Spec, place: str) -> Iterator[Cause]:
    """Return the errors in the containers and init containers of a pod."""
    names: list[str] = []
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or []):
            here, name = f"{place}.{field}[{index}]", container.get("name") or ""
            yield from find_name_causes(name, f"{here}.name", names)
            names.append(name)
            yield from _find_container_causes(spec, container, here)


def _find_container_causes(spec: Spec, container: Spec, place: str) -> Iterator[Cause]:
    image = container.get("image") or ""
    if not image:
        yield build_required_cause(f"{place}.image")
    elif image != image.strip():
        yield build_invalid_cause(f"{place}.image", image, "must not have leading or trailing whitespace")
    for field, choices in _CHOICES.items():
        if container.get(field):
            yield from find_choice_causes(container[field], choices, f"{place}.{field}")
    yield from _find_ports_causes(container, f"{place}.ports")
    for index, variable in enumerate(container.get("env") or []):
        yield from _find_variable_causes(variable, f"{place}.env[{index}]")
    for index, source in enumerate(container.get("envFrom") or []):
        yield from _find_variables_causes(source, f"{place}.envFrom", index)
    yield from _find_mounts_causes(spec, container, place)
    yield from find_resources_causes(container.get("resources") or {}, f"{place}.resources")


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
        if port.get("protocol"):
            yield from find_choice_causes(port["protocol"], PROTOCOLS, f"{here}.protocol")


def _find_variable_causes(variable: Spec, place: str) -> Iterator[Cause]:
    name, source = variable.get("name"), variable.get("valueFrom")
    if not name:
        yield build_required_cause(f"{place}.name")
    elif _VARIABLE.fullmatch(name) is None:
        yield build_invalid_cause(f"{place}.name", name, _VARIABLE_RULE)
    if source is None:
        return
    here, kinds = f"{place}.valueFrom", [kind for kind in _SOURCES if kind in source]
    for kind in kinds:
        yield from _find_source_causes(kind, source[kind], f"{here}.{kind}")
    if not kinds:
        detail = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        )
        yield build_invalid_cause(here, "", detail)
    elif variable.get("value"):
        yield build_invalid_cause(here, "", "may not be specified when `value` is not empty")
    elif len(kinds) > 1:
        yield build_invalid_cause(here, "", "may not have more than one field specified at a time")


def _find_source_causes(kind: str, source: Spec, place: str) -> Iterator[Cause]:
    if kind == "fieldRef":
        yield from find_field_causes(source, place)
    elif kind == "resourceFieldRef":
        yield from find_resource_causes(source, place)
    elif kind != "fileKeyRef":  # the node refuses to start a container with such a variable
        yield from find_subdomain_causes(source.get("name") or "", f"{place}.name")
        key = source.get("key") or ""
        if not key:
            yield build_required_cause(f"{place}.key")
        else:
            yield from (build_invalid_cause(f"{place}.key", key, why) for why in find_config_key_problems(key))


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
        yield from _find_path_causes(mount, f"{place}.volumeMounts", here)


def _find_path_causes(mount: Spec, place: str, here: str) -> Iterator[Cause]:
    """Return the errors in a mount's sub-paths, reported at the list."""
    path, pattern = mount.get("subPath"), mount.get("subPathExpr")
    if path:
        yield from find_inner_path_causes(path, f"{place}.subPath")
    if path and pattern:
        yield build_invalid_cause(f"{here}.subPathExpr", pattern, "subPathExpr and subPath are mutually exclusive")
    if pattern:
        yield from find_inner_path_causes(pattern, f"{place}.subPathExpr")
