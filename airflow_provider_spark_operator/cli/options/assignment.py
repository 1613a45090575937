"""Set single fields of a document by their paths, as `--set` of the command line does."""

import copy
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

from ...core.dialects.kubeflow import GROUP
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.problems import InvalidResource, Problem
from ...kube.yaml_text import Plain, YamlError, load_all, read_plain, read_word
from ..files.field_tree import Field, build_kubeflow_tree, build_tree

# A key ends at a dot, a bracket or the equals sign, unless a backslash precedes it.
_KEY: Final = re.compile(r"(?:\\.|[^.\[\]=\\])+")
_BRACKET: Final = re.compile(r"""\[(?:([0-9]{1,6})|"([^"]+)"|'([^']+)')\]""")


def parse_assignment(text: str) -> tuple[tuple[str | int, ...], str]:
    r"""Return the path and the value of `path=value`.

    The keys of the path are separated by dots, as in `spec.driverSpec.podTemplateSpec.spec.containers[0].name`. A key
    that contains dots is written in brackets and quotes, or with backslashes: `spec.sparkConf["spark.ui.port"]` or
    `spec.sparkConf.spark\.ui\.port`.

    Raises:
        ValueError: The text is not an assignment. The message completes the sentence that begins with the text.
    """
    steps: list[str | int] = []
    position = 0
    while True:
        bracket = _BRACKET.match(text, position)
        key = None if bracket else _KEY.match(text, position)
        if bracket is not None and steps:
            steps.append(int(bracket[1]) if bracket[1] else bracket[2] or bracket[3])
            position = bracket.end()
        elif key is not None:
            steps.append(re.sub(r"\\(.)", r"\1", key[0]))
            position = key.end()
        else:
            raise ValueError('must be PATH=VALUE, for example spec.sparkConf["spark.ui.port"]=4050')
        following = text[position : position + 1]
        if following == "=":
            return tuple(steps), text[position + 1 :]
        position += following == "."


def assign(document: JsonObject, path: tuple[str | int, ...], value: object) -> JsonObject:
    """Return a document with another value at a path. Objects on the path are created, and lists can grow by one.

    Args:
        document: The document. It stays unchanged.
        path: The keys of objects and the positions in lists.
        value: The value. None removes the field.

    Raises:
        InvalidResource: The path leads into a value that is not an object or not a list.
    """
    changed = copy.deepcopy(document)
    holder: Any = changed
    for number, (step, following) in enumerate(pairwise(path)):
        _check_step(holder, path[: number + 1])
        if isinstance(step, int):
            if step == len(holder):
                holder.append(None)
        else:
            holder.setdefault(step, None)
        if holder[step] is None:
            holder[step] = [] if isinstance(following, int) else {}
        holder = holder[step]
    _check_step(holder, path)
    _set_last(holder, path[-1], value)
    return changed


def _set_last(holder: Any, step: str | int, value: object) -> None:
    if isinstance(step, str):
        if value is None:
            holder.pop(step, None)
        else:
            holder[step] = value
    elif step == len(holder):
        holder.append(value)
    elif value is None:
        holder.pop(step)
    else:
        holder[step] = value


def _check_step(holder: object, path: tuple[str | int, ...]) -> None:
    """Check that the last step of a path leads into a value.

    Raises:
        InvalidResource: It does not.
    """
    step, place = path[-1], format_path(path[:-1])
    if isinstance(step, str) and not isinstance(holder, dict):
        raise InvalidResource([Problem(place, f"is not an object, so {step} cannot be set")])
    if isinstance(step, int) and not isinstance(holder, list):
        raise InvalidResource([Problem(place, f"is not a list, so [{step}] cannot be set")])
    if isinstance(step, int) and isinstance(holder, list) and step > len(holder):
        raise InvalidResource([Problem(place, f"has {len(holder)} entries, so [{step}] cannot be set")])


def format_path(path: tuple[str | int, ...]) -> str:
    """Return a path as a user writes it."""
    text = "".join(
        f"[{step}]" if isinstance(step, int) else f'["{step}"]' if "." in step else f".{step}" for step in path
    )
    return text.removeprefix(".")


def read_value(text: str, read: Callable[[str], Plain] = read_plain) -> object:
    """Return the value of a text in YAML.

    Args:
        text: The text.
        read: Returns the value of a scalar without quotes.

    Raises:
        ValueError: The text is not YAML. The message completes the sentence that begins with the assignment.
    """
    try:
        values = list(load_all(text, read=read))
    except (YamlError, RecursionError):
        raise ValueError(f"the value {text!r} is not YAML; put it in quotes") from None
    return values[0] if len(values) == 1 else text


def read_value_at(document: JsonObject, path: Sequence[str | int], text: str) -> object:
    """Return the value of a text for a field, so that `spec.sparkConf.a=1` is the string `1`.

    Args:
        document: The application or cluster, which tells the kind of the resource.
        path: The path of the field.
        text: The value in YAML. `null` is None for each type.

    Raises:
        ValueError: The text is not YAML.
        InvalidResource: The path leads into a text. Its dots may belong to a key.
    """
    _check_keys(document, path)
    is_text = _find_type(document, path) in ("string", "list of strings", "map of strings")
    return read_value(text, read_word if is_text else read_plain)


def _check_keys(document: JsonObject, path: Sequence[str | int]) -> None:
    """Check that no key of a map of strings was split at its dots.

    Raises:
        InvalidResource: A path leads into a value of such a map.
    """
    for length in range(1, len(path) - 1):
        if _find_type(document, path[:length]) == "map of strings":
            key = ".".join(map(str, path[length:]))
            fault = f"is a map of strings: write {format_path((*path[:length], key))}, because the key contains dots"
            raise InvalidResource([Problem(format_path(tuple(path[:length])), fault)])


def _find_type(document: JsonObject, path: Sequence[str | int]) -> str:
    """Return the type of the field at a path; empty if it is not known."""
    field = _find_tree(document)
    name = field.type_name
    for step in path:
        if name.startswith(("list of ", "map of ")):
            name = name.partition(" of ")[2].removesuffix("s")
            continue
        inner = field.list_fields().get(str(step))
        if inner is None:
            return ""
        field, name = inner, inner.type_name
    return name


def _find_tree(document: JsonObject) -> Field:
    if str(document.get("apiVersion")).startswith(f"{GROUP}/"):
        return build_kubeflow_tree()
    return build_tree("SparkCluster" if document.get("kind") == "SparkCluster" else "SparkApplication")
