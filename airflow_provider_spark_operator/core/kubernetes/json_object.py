"""JSON objects of the Kubernetes API, and checked access to their parts."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeGuard

from .problems import InvalidResource, Problem

JsonObject: TypeAlias = dict[str, Any]
KubernetesObject: TypeAlias = Mapping[str, object]
"""An object of the API that is only read."""


def copy_object(holder: Mapping[str, Any], key: str, path: str) -> JsonObject:
    """Return a copy of the object at `key`, an empty object if there is none.

    Args:
        holder: The object that contains the key.
        key: The key.
        path: The path of the value in the document, for the message.

    Raises:
        InvalidResource: The value is not an object.
    """
    value = holder.get(key)
    if value is not None and not isinstance(value, dict):
        raise InvalidResource([Problem(path, "must be an object")])
    return dict(value or {})


def copy_list(holder: Mapping[str, Any], key: str, path: str) -> list[Any]:
    """Return a copy of the list at `key`, an empty list if there is none.

    Args:
        holder: The object that contains the key.
        key: The key.
        path: The path of the value in the document, for the message.

    Raises:
        InvalidResource: The value is not a list.
    """
    value = holder.get(key)
    if value is not None and not isinstance(value, list):
        raise InvalidResource([Problem(path, "must be a list")])
    return list(value or [])


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether `value` is an integer of JSON, which `true` and `false` are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def change_texts(value: KubernetesObject, change: Callable[[str], str]) -> JsonObject:
    """Return a copy of an object with each text of it changed, but not its keys."""

    def visit(each: object) -> object:
        if isinstance(each, str):
            return change(each)
        if isinstance(each, Mapping):
            return {key: visit(inner) for key, inner in each.items()}
        return [visit(inner) for inner in each] if isinstance(each, list) else each

    return {key: visit(inner) for key, inner in value.items()}
