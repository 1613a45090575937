"""Find what the API server rejects in pod templates and in the objects of an attempt."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from airflow_provider_spark_operator.core.kubernetes_names import (
    LABEL_RULE,
    NAMESPACE_RULE,
    is_data_key,
    is_label_value,
    is_namespace,
)
from airflow_provider_spark_operator.core.models.parse import format_path
from airflow_provider_spark_operator.core.pods import get_object
from airflow_provider_spark_operator.core.problems import Problem
from airflow_provider_spark_operator.core.validation.metadata import find_metadata_problems

LARGEST_CONFIG_MAP: Final = 1 << 20
"""The maximum size of the values of a ConfigMap, in bytes."""

_Location: TypeAlias = tuple[str | int, ...]

_PORT: Final = re.compile(r"(?=[-0-9]*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?")
_PORT_RULE: Final = "use at most 15 lowercase letters, digits and '-', with a letter and without '--'"


def find_template_problems(spec: Mapping[str, object]) -> Iterator[Problem]:
    """Find the problems of the pod templates of an application."""
    for field in ("driverSpec", "executorSpec"):
        template = get_object(get_object(spec.get(field)).get("podTemplateSpec"))
        yield from _find_pod_problems(template, ("spec", field, "podTemplateSpec"))


def find_object_problems(objects: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
    """Find the problems of complete pods and ConfigMaps. Their operators can still create other objects."""
    for each in objects:
        if each["kind"] == "Pod":
            problems = [*_find_pod_problems(each, ()), *_find_missing_parts(each["spec"])]
        elif each["kind"] == "ConfigMap":
            problems = list(_find_config_map_problems(each["data"]))
        else:
            continue
        for problem in problems:
            message = f"the API server would reject the {each['kind']} {each['metadata']['name']}: {problem}"
            yield Problem("", message, admissible=True)


def find_kubeflow_problems(spec: Mapping[str, object], location: _Location) -> Iterator[Problem]:
    """Find the problems of the volumes and containers that a manifest of Kubeflow's operator lists."""
    yield from _find_name_problems(_list_entries(spec, "volumes", location), "name", is_namespace, NAMESPACE_RULE)
    for role in ("driver", "executor"):
        pod, place = get_object(spec.get(role)), (*location, role)
        containers = [*_list_entries(pod, "initContainers", place), *_list_entries(pod, "sidecars", place)]
        yield from _find_name_problems(containers, "name", is_namespace, NAMESPACE_RULE)
        for inner, container in (*containers, (place, pod)):
            yield from _find_container_problems(container, inner)


def _find_config_map_problems(data: Mapping[str, str]) -> Iterator[Problem]:
    for key in data:
        if not is_data_key(key):
            message = "is not a valid key: use at most 253 letters, digits, '-', '_' and '.'"
            yield Problem(format_path(("data", key)), message)
    size = sum(len(value.encode("utf-8", "surrogatepass")) for value in data.values())
    if size > LARGEST_CONFIG_MAP:
        message = f"has {size} bytes, more than the {LARGEST_CONFIG_MAP} bytes of a ConfigMap: put it into several"
        yield Problem("data", message)


def _find_pod_problems(pod: Mapping[str, object], location: _Location) -> Iterator[Problem]:
    yield from find_metadata_problems(get_object(pod.get("metadata")), (*location, "metadata"), admissible=True)
    spec, place = get_object(pod.get("spec")), (*location, "spec")
    containers = [*_list_entries(spec, "initContainers", place), *_list_entries(spec, "containers", place)]
    for entries in (_list_entries(spec, "volumes", place), containers):
        yield from _find_name_problems(entries, "name", is_namespace, NAMESPACE_RULE)
    for inner, container in containers:
        yield from _find_container_problems(container, inner)
    for key, value in get_object(spec.get("nodeSelector")).items():
        if isinstance(value, str) and value and not is_label_value(value):
            path = format_path((*place, "nodeSelector", key))
            yield Problem(path, f"{value!r} is not a valid label value: {LABEL_RULE}", admissible=True)


def _find_container_problems(container: Mapping[str, object], location: _Location) -> Iterator[Problem]:
    mounts = _list_entries(container, "volumeMounts", location)
    yield from _find_name_problems(mounts, "mountPath", _is_mount_path, "use a path without ':'")
    ports = _list_entries(container, "ports", location)
    yield from _find_name_problems(ports, "name", _is_port_name, _PORT_RULE)
    for inner, variable in _list_entries(container, "env", location):
        name = variable.get("name")
        if isinstance(name, str) and not _is_variable_name(name):
            message = f"{name!r} is not valid: use printable ASCII characters without '='"
            yield Problem(format_path((*inner, "name")), message, admissible=True)
        if variable.get("value") and variable.get("valueFrom"):
            message = "cannot be set in addition to value: remove one of them"
            yield Problem(format_path((*inner, "valueFrom")), message, admissible=True)


def _find_missing_parts(spec: Mapping[str, object]) -> Iterator[Problem]:
    """Find the containers without an image, and the mounts whose volume does not exist."""
    volumes = {volume.get("name") for _, volume in _list_entries(spec, "volumes", ("spec",))}
    for field in ("initContainers", "containers"):
        for inner, container in _list_entries(spec, field, ("spec",)):
            if not container.get("image"):
                yield Problem(format_path((*inner, "image")), "is required: give the image of the container")
            for location, mount in _list_entries(container, "volumeMounts", inner):
                if mount.get("name") not in volumes:
                    message = f"names the volume {mount.get('name')!r}, which the pod does not have: add the volume"
                    yield Problem(format_path((*location, "name")), message)


def _find_name_problems(
    entries: Iterable[tuple[_Location, Mapping[str, object]]], field: str, is_valid: Callable[[str], bool], rule: str
) -> Iterator[Problem]:
    """Find invalid and repeated names. Missing names are left out, because Spark names its container."""
    known: dict[str, _Location] = {}
    for location, entry in entries:
        name = entry.get(field)
        if not isinstance(name, str):
            continue
        problem = None
        if not is_valid(name):
            problem = f"{name!r} is not valid: {rule}"
        elif name in known:
            problem = f"repeats {format_path((*known[name], field))}, {name!r}: remove or change one of them"
        if problem:
            yield Problem(format_path((*location, field)), problem, admissible=True)
        known.setdefault(name, location)


def _list_entries(
    holder: Mapping[str, object], key: str, location: _Location
) -> list[tuple[_Location, Mapping[str, object]]]:
    entries = holder.get(key)
    return [
        ((*location, key, index), entry)
        for index, entry in enumerate(entries if isinstance(entries, list | tuple) else ())
        if isinstance(entry, Mapping)
    ]


def _is_mount_path(path: str) -> bool:
    return path != "" and ":" not in path


def _is_variable_name(name: str) -> bool:
    return name != "" and name.isascii() and name.isprintable() and "=" not in name


def _is_port_name(name: str) -> bool:
    return _PORT.fullmatch(name) is not None
