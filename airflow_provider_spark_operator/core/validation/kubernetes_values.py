"""Find what the API server rejects in values of Kubernetes types."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..kubernetes.json_object import Problem
from ..kubernetes.quantities import is_quantity
from ..models.parse import name_type
from .identity import find_metadata_problems
from .kubernetes_fields import KUBERNETES_FIELDS
from .pod_rules import RULES
from .rules import Location, report

# The classes of JSON values of each type, and the type in words. A type that is not listed is an object.
_SHAPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "[": ((list, tuple), "a list"),
    "{": ((Mapping,), "an object"),
    "string": ((str,), "a string"),
    "boolean": ((bool,), "true or false"),
    "int32": ((int,), "an integer"),
    "int64": ((int,), "an integer"),
    "int-or-string": ((int, str), "an integer or a string"),
    "quantity": ((int, float, str), "a quantity"),
}


def find_value_problems(value: object, type_name: str, location: Location) -> Iterator[Problem]:
    """Find what the API server rejects in a value of a Kubernetes type. Unknown fields are left out.

    The errors are admissible, because an admission policy of the cluster can change the pod.

    Args:
        value: The value. Null counts as missing.
        type_name: The type, for example `core.v1.PodTemplateSpec`, or `[core.v1.Container]` for a list.
        location: The position of the value in the document.
    """
    if value is None:
        return
    name = type_name.strip("[]{}")
    shape = name if name == type_name else type_name[0]
    classes, words = _SHAPES.get(shape, _SHAPES["{"])
    if not isinstance(value, classes) or (isinstance(value, bool) and shape != "boolean"):
        advice = ": put it in quotes" if shape == "string" else ""
        yield report(location, f"must be {words}, not {name_type(value)}{advice}")
    elif shape == "quantity" and not is_quantity(value):
        yield report(location, f"{value!r} is not a quantity, such as 500m, 2 or 1.5Gi")
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from find_value_problems(entry, name, (*location, index))
    elif isinstance(value, Mapping) and shape == "{":
        for key, entry in value.items():
            yield from find_value_problems(entry, name, (*location, key))
    elif isinstance(value, Mapping):
        yield from _find_object_problems(value, name, location)


def _find_object_problems(value: Mapping[str, Any], name: str, location: Location) -> Iterator[Problem]:
    if name == "meta.v1.ObjectMeta":
        yield from find_metadata_problems(value, location, admissible=True)
        return
    for rule in RULES.get(name, ()):
        yield from rule(value, location)
    fields = KUBERNETES_FIELDS[name]
    for key, inner in value.items():
        if key in fields:
            yield from find_value_problems(inner, fields[key], (*location, key))
