"""The parts of a document that Kubeflow's API server would reject: entries without required fields."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..kubernetes.problems import Problem
from .fields import ROLES

_REQUIRED: Final = {
    "configMaps": ("name", "path"),
    "secrets": ("name", "path"),
    "env": ("name",),
    "volumeMounts": ("name", "mountPath"),
    "sidecars": ("name",),
    "initContainers": ("name",),
}


def find_shape_problems(spec: Mapping[str, Any], path: str = "spec") -> Iterator[Problem]:
    """Find entries of lists and objects without their required fields, and malformed pod templates.

    Args:
        spec: The normalized spec of an application.
        path: The path of the spec, for messages.
    """
    for index, volume in enumerate(spec.get("volumes", ())):
        if not isinstance(volume.get("name"), str):
            yield Problem(f"{path}.volumes[{index}].name", "is required")
    for role in ROLES:
        yield from _find_pod_problems(spec.get(role, {}), f"{path}.{role}")


def _find_pod_problems(pod: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for field, names in _REQUIRED.items():
        for index, entry in enumerate(pod.get(field, ())):
            for name in names:
                if not isinstance(entry.get(name), str):
                    yield Problem(f"{path}.{field}[{index}].{name}", "is required, and must be a string")
    for variable, reference in pod.get("envSecretKeyRefs", {}).items():
        for name in ("name", "key"):
            if not isinstance(reference, Mapping) or not isinstance(reference.get(name), str):
                yield Problem(f"{path}.envSecretKeyRefs.{variable}.{name}", "is required, and must be a string")
    yield from _find_template_problems(pod.get("template", {}), f"{path}.template")


def _find_template_problems(template: Mapping[str, Any], path: str) -> Iterator[Problem]:
    spec = template.get("spec") or {}
    if not isinstance(spec, Mapping):
        yield Problem(f"{path}.spec", "must be an object")
        return
    for field in ("containers", "env", "initContainers", "tolerations", "volumes", "hostAliases"):
        yield from _find_list_problems(spec, field, f"{path}.spec")
    containers = spec.get("containers") or []
    for index, container in enumerate(containers if isinstance(containers, list) else ()):
        for field in ("env", "envFrom", "ports", "volumeMounts"):
            if isinstance(container, Mapping):
                yield from _find_list_problems(container, field, f"{path}.spec.containers[{index}]")
        resources = container.get("resources") if isinstance(container, Mapping) else None
        if resources is not None and not isinstance(resources, Mapping):
            yield Problem(f"{path}.spec.containers[{index}].resources", "must be an object")


def _find_list_problems(holder: Mapping[str, Any], field: str, path: str) -> Iterator[Problem]:
    entries = holder.get(field) or []
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        yield Problem(f"{path}.{field}", "must be a list of objects")
