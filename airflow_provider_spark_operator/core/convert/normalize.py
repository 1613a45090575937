"""Check and normalize a document of Kubeflow's operator, list its fields, and find what its API server would reject."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..kubernetes.json_object import JsonObject, is_integer
from ..kubernetes.problems import Problem
from ..models.parse import name_type
from ..parameters.pod_settings import format_value
from .fields import ROLES, Field, Shape

_CONVERTED: Final = "a value that is not a string was converted to text"


@dataclass
class Normalized:
    """A document with values of the right types.

    Attributes:
        document: The document without nulls and unknown fields.
        present: The paths of its fields, in their order. `[]` stands for the entries of a list.
        unknown: The paths of fields that Kubeflow's definition does not have.
        converted: The paths of fields with values that were converted to text.
        problems: Values of a wrong type.
    """

    document: JsonObject = field(default_factory=dict)
    present: dict[str, None] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    converted: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def normalize(document: Mapping[str, Any], fields: Mapping[str, Field]) -> Normalized:
    """Return the document with values of the right types, and its fields.

    Args:
        document: The document. It stays unchanged.
        fields: The fields of its definition by path, without `apiVersion` and `kind`.
    """
    found = Normalized()
    parents = {path[:index] for path in fields for index, letter in enumerate(path) if letter in ".["}
    body = {key: value for key, value in document.items() if key not in ("apiVersion", "kind")}
    found.document = _normalize_object(body, "", fields, parents, found)
    return found


def _normalize_object(
    holder: Mapping[str, Any], prefix: str, fields: Mapping[str, Field], parents: set[str], found: Normalized
) -> JsonObject:
    result: JsonObject = {}
    for key, value in holder.items():
        path = f"{prefix}.{key}" if prefix else str(key)
        if value is None:
            continue
        known = fields.get(path)
        if known is not None:
            found.present[path] = None
            result[str(key)] = _normalize_value(value, known, found)
        elif path not in parents:
            found.unknown.append(path)
        elif any(other.startswith(f"{path}[]") for other in fields):
            result[str(key)] = _normalize_entries(value, path, fields, parents, found)
        elif isinstance(value, Mapping):
            result[str(key)] = _normalize_object(value, path, fields, parents, found)
        else:
            found.problems.append(Problem(path, f"must be an object, not {name_type(value)}"))
    return result


def _normalize_entries(
    value: object, path: str, fields: Mapping[str, Field], parents: set[str], found: Normalized
) -> list[JsonObject]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        found.problems.append(Problem(path, f"must be a list of objects, not {name_type(value)}"))
        return []
    entries = []
    for index, entry in enumerate(value):
        if isinstance(entry, Mapping):
            entries.append(_normalize_object(entry, f"{path}[]", fields, parents, found))
        else:
            found.problems.append(Problem(f"{path}[{index}]", f"must be an object, not {name_type(entry)}"))
    return entries


def _normalize_value(value: Any, known: Field, found: Normalized) -> Any:
    shape, path = known.shape, known.path
    fits = {
        Shape.TEXT: _is_scalar(value),
        Shape.INTEGER: is_integer(value),
        Shape.BOOLEAN: isinstance(value, bool),
        Shape.TEXTS: isinstance(value, list) and all(map(_is_scalar, value)),
        Shape.TEXT_MAP: isinstance(value, Mapping) and all(map(_is_scalar, value.values())),
        Shape.OBJECT: isinstance(value, Mapping),
        Shape.OBJECTS: isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value),
    }
    if not fits[shape]:
        found.problems.append(Problem(path, f"must be {shape}, not {name_type(value)}"))
        return value
    if shape is Shape.TEXT:
        return _format(value, path, found)
    if shape is Shape.TEXTS:
        return [_format(entry, path, found) for entry in value]
    if shape is Shape.TEXT_MAP:
        return {str(key): _format(entry, path, found) for key, entry in value.items()}
    return value


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _format(value: object, path: str, found: Normalized) -> str:
    if not isinstance(value, str):
        found.converted[path] = _CONVERTED
    return format_value(value)


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
    for list_field, names in _REQUIRED.items():
        for index, entry in enumerate(pod.get(list_field, ())):
            for name in names:
                if not isinstance(entry.get(name), str):
                    yield Problem(f"{path}.{list_field}[{index}].{name}", "is required, and must be a string")
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
    for list_field in ("containers", "env", "initContainers", "tolerations", "volumes", "hostAliases"):
        yield from _find_list_problems(spec, list_field, f"{path}.spec")
    containers = spec.get("containers") or []
    for index, container in enumerate(containers if isinstance(containers, list) else ()):
        for list_field in ("env", "envFrom", "ports", "volumeMounts"):
            if isinstance(container, Mapping):
                yield from _find_list_problems(container, list_field, f"{path}.spec.containers[{index}]")
        resources = container.get("resources") if isinstance(container, Mapping) else None
        if resources is not None and not isinstance(resources, Mapping):
            yield Problem(f"{path}.spec.containers[{index}].resources", "must be an object")


def _find_list_problems(holder: Mapping[str, Any], field: str, path: str) -> Iterator[Problem]:
    entries = holder.get(field) or []
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        yield Problem(f"{path}.{field}", "must be a list of objects")
