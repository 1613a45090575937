"""The fields of the resources of Spark as a tree: their types, defaults and descriptions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias, get_args, get_origin

from ...core.convert.fields import APPLICATION_FIELDS
from ...core.models.application import SparkApplication
from ...core.models.base import KubernetesType, Model
from ...core.models.cluster import SparkCluster
from ...core.validation.kubernetes_fields import KUBERNETES_FIELDS, KUBERNETES_VERSION

_KUBERNETES_SCALARS: Final = {
    "string": "string",
    "boolean": "boolean",
    "int32": "integer",
    "int64": "integer",
    "int-or-string": "integer or string",
    "quantity": "quantity",
    "time": "time",
    "any": "value",
}
_SCALARS: Final = {str: "string", int: "integer", bool: "boolean", float: "number"}


@dataclass(frozen=True)
class Field:
    """One field.

    Attributes:
        type_name: The type, for example `integer` or `list of objects`.
        description: The description; empty if there is none.
        default: The default as JSON writes it; empty if there is none.
        allowed: The allowed values; empty if the type allows all.
        is_required: Whether a resource must set the field.
        list_fields: Returns the fields of the object, or of the objects in the list or map, by their names.
        is_foreign: Whether the fields below belong to a type of Kubernetes.
    """

    type_name: str
    description: str = ""
    default: str = ""
    allowed: tuple[str, ...] = ()
    is_required: bool = False
    list_fields: Callable[[], "Fields"] = dict
    is_foreign: bool = False


Fields: TypeAlias = Mapping[str, Field]


def build_tree(kind: str) -> Field:
    """Return a resource of `spark.apache.org` as a field: `SparkApplication` or `SparkCluster`."""
    model = {"SparkApplication": SparkApplication, "SparkCluster": SparkCluster}[kind]
    return Field("object", _clean(model.__doc__ or ""), list_fields=lambda: _list_model_fields(model))


def build_kubeflow_tree() -> Field:
    """Return the SparkApplication of Kubeflow's operator as a field."""
    fields = {"apiVersion": Field("string"), "kind": Field("string"), **_list_kubeflow_fields("")}
    return Field("object", "An application of Kubeflow's operator.", list_fields=lambda: fields)


def list_paths(tree: Field) -> Iterator[tuple[str, Field]]:
    """Yield the path and the field of all fields, except those below Kubernetes types."""
    for name, field in tree.list_fields().items():
        yield name, field
        if not field.is_foreign:
            yield from ((f"{name}.{path}", inner) for path, inner in list_paths(field))


def complete_path(tree: Field, incomplete: str) -> list[str]:
    """Return the paths of the fields at the same place as an incomplete path; empty if there is no such place."""
    owner, dot, _ = incomplete.rpartition(".")
    found = tree
    for name in owner.split(".") if dot else ():
        inner = found.list_fields().get(name.partition("[")[0])
        if inner is None:
            return []
        found = inner
    return [f"{owner}{dot}{name}" for name in found.list_fields()]


def _list_model_fields(model: type[Model]) -> Fields:
    found = {}
    for name, field in model.model_fields.items():
        default = "" if field.is_required() else _format_default(field.default)
        found[field.alias or name] = _describe(
            field.annotation, field.metadata, field.description or "", default, is_required=field.is_required()
        )
    return found


def _describe(
    annotation: Any,
    metadata: Iterable[object] = (),
    description: str = "",
    default: str = "",
    *,
    is_required: bool = False,
) -> Field:
    """Return the field with an annotation of a model."""
    for mark in metadata:
        if isinstance(mark, KubernetesType):
            return _describe_kubernetes_type(mark, description, default, is_required=is_required)
    if hasattr(annotation, "__metadata__"):
        return _describe(annotation.__origin__, annotation.__metadata__, description, default, is_required=is_required)
    arguments = [each for each in get_args(annotation) if each is not type(None)]
    origin = get_origin(annotation)
    if origin in (list, dict):
        item = _describe(arguments[-1])
        type_name = f"{'list' if origin is list else 'map'} of {item.type_name}s"
        return Field(type_name, description, default, item.allowed, is_required, item.list_fields, item.is_foreign)
    if arguments:  # an optional value
        return _describe(arguments[0], (), description, default, is_required=is_required)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        words = tuple(str(word.value) for word in annotation)
        return Field("string", description, default, words, is_required)
    if isinstance(annotation, type) and issubclass(annotation, Model):
        text = description or _clean(annotation.__doc__ or "")
        return Field("object", text, default, (), is_required, lambda: _list_model_fields(annotation))
    return Field(_SCALARS.get(annotation, "string"), description, default, (), is_required)


def _describe_kubernetes_type(mark: KubernetesType, description: str, default: str, *, is_required: bool) -> Field:
    if mark.name:
        field = _build_kubernetes_field(mark.name)
        text = description or f"An object with the fields of Kubernetes {KUBERNETES_VERSION}."
        return Field(field.type_name, text, default, (), is_required, field.list_fields, is_foreign=True)
    parts = {name: _build_kubernetes_field(type_name) for name, type_name in mark.parts}
    return Field("object", description, default, (), is_required, lambda: parts)


def _build_kubernetes_field(type_name: str) -> Field:
    if not type_name:
        return Field("value", is_foreign=True)
    inner = type_name.strip("[]{}")
    name = _KUBERNETES_SCALARS.get(inner, inner)
    for bracket, shape in (("[", "list"), ("{", "map")):
        if type_name.startswith(bracket):
            name = f"{shape} of {name}{'s' if inner in _KUBERNETES_SCALARS else ''}"
    known = KUBERNETES_FIELDS.get(inner, {})
    return Field(
        name,
        list_fields=lambda: {name: _build_kubernetes_field(inner) for name, inner in known.items()},
        is_foreign=True,
    )


def _list_kubeflow_fields(prefix: str) -> Fields:
    """Return the fields of Kubeflow's definition below a path."""
    found: dict[str, Field] = {}
    for path, field in APPLICATION_FIELDS.items():
        if not path.startswith(prefix):
            continue
        name, _, rest = path.removeprefix(prefix).partition(".")
        key = name.removesuffix("[]")
        if rest and key in found:  # its fields are known
            continue
        if rest:
            inner = _list_kubeflow_fields(f"{prefix}{name}.")
            type_name = "list of objects" if name.endswith("[]") else "object"
            found.setdefault(key, Field(type_name, list_fields=lambda inner=inner: inner))  # type: ignore[misc]
        else:
            target = f"In spark.apache.org/v1: {field.target}." if field.target else "Not in spark.apache.org/v1."
            reason = f" Note: {field.reason}." if field.reason else ""
            type_name = field.shape.partition(" ")[2].replace("object with string values", "map of strings")
            found[key] = Field(type_name, f"{target}{reason}")
    return found


def _format_default(default: object) -> str:
    if default is None or isinstance(default, dict | list | Model) or repr(default) == "PydanticUndefined":
        return ""
    return str(default).lower() if isinstance(default, bool) else str(default)


def _clean(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())
