"""Set single fields of a document by their paths, as `--set` of the command line does."""

import copy
import re
from itertools import pairwise
from typing import Any, Final

from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem

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
