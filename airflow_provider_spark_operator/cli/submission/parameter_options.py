"""The parameters of the Airflow operator as options of the command line."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

import click

from ...core.parameters.declaration import Declaration, Form, Panel
from ...core.parameters.parameters import DECLARATIONS, split_list
from ...kube.yaml_text import YamlError, load_all
from ..base.ages import parse_duration
from ..files.documents import read_text
from ..options.declaration import Parameter


def _read_seconds(text: str) -> object:
    return parse_duration(text).total_seconds()


# How the values of some keys of groups are converted.
_CONVERTERS: Final[Mapping[str, Callable[[str], object]]] = {
    "tolerationSeconds": int,
    **dict.fromkeys(("driver_start", "driver_ready", "executor_start", "termination", "backoff"), _read_seconds),
}
# `arguments` are the words after the file.
OPTIONS: Final = {name: option for name, option in DECLARATIONS.items() if option.form is not Form.WORDS}
RESOURCE_NAMES: Final = frozenset(
    name for name, option in OPTIONS.items() if option.panel is Panel.RESOURCES or name == "conf"
)
"""The parameters that change what the pods of an application use, for verbs that take an existing application."""
_LISTS: Final = (Form.FILES, Form.LIST)
_REPEATED: Final = (*_LISTS, Form.MAP, Form.GROUPS)


def add_parameter_options(
    before: str, names: Collection[str] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the function `run` of a verb: replace its last parameter, `**parameters`, by options.

    The command line is built from the signature.

    Args:
        before: The parameter of `run` that follows the options in the help.
        names: The parameters to add. If None, all.
    """

    def decorate(run: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(run)
        own = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for each in signature.parameters.values()
            if each.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        position = list(signature.parameters).index(before)
        options = [_build_parameter(name, option) for name, option in OPTIONS.items() if names is None or name in names]
        parameters = [*own[:position], *options, *own[position:]]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return decorate


def _build_parameter(name: str, option: Declaration) -> inspect.Parameter:
    is_repeated = option.form in _REPEATED
    text = f"{option.help}; can be repeated" if is_repeated else option.help
    usage = f"{option.flag or '--' + name.replace('_', '-')} {option.metavar}"
    words = (lambda *_: option.words) if option.words else None
    declared = Parameter(usage, text, check=partial(_check, option), complete=words, panel=option.panel)
    annotation: Any = Annotated[list[str] | None, declared] if is_repeated else Annotated[str | None, declared]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _check(option: Declaration, value: Any) -> Any:
    if option.form is not Form.FILE:  # a file is read once, when the verb runs
        _read(option, value)
    return value


def read_parameter_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of parameters by their names, from the values of the options.

    Args:
        given: The values of the options, as click returns them. None and empty lists are left out.

    Raises:
        click.BadParameter: A value is malformed.
        DocumentError: A file cannot be read.
    """
    return {name: _read(option, given[name]) for name, option in OPTIONS.items() if given.get(name)}


def _read(option: Declaration, value: Any) -> Any:
    if value == "":
        raise click.BadParameter("must not be empty")
    if option.form in _LISTS:
        return split_list(",".join(value))
    if option.form is Form.MAP:
        return _read_map(value, option.metavar)
    if option.form is Form.GROUP:
        return _read_group(value, option) if "=" in value or value.startswith("{") else value
    if option.form is Form.GROUPS:
        return [_read_group(entry, option) for entry in value]
    return read_text(value) if option.form is Form.FILE else value


def _read_map(entries: Sequence[str], metavar: str) -> dict[str, str]:
    pairs = [entry.partition("=") for entry in entries]
    for key, sign, _ in pairs:
        if not (key and sign):
            raise click.BadParameter(f"must be {metavar}, not {key!r}")
    return {key: value for key, _, value in pairs}


def _read_group(text: str, option: Declaration) -> dict[str, Any]:
    if text.startswith("{"):
        return _read_flow(text)
    group: dict[str, Any] = {}
    for entry in text.split(","):
        path, sign, value = entry.partition("=")
        *parents, last = path.strip().split(".")
        if not (sign and last and all(parents)):
            raise click.BadParameter(f"must be {option.metavar}, not {text!r}")
        holder = group
        for parent in parents:
            holder = holder.setdefault(parent, {})
            if not isinstance(holder, dict):
                raise click.BadParameter(f"{parent} is given twice, as a text and as an object")
        holder[last] = _convert(last, value)
    return group


def _convert(key: str, value: str) -> object:
    if value == "{}":
        return {}
    try:
        return _CONVERTERS[key](value) if key in _CONVERTERS else value
    except ValueError:
        raise click.BadParameter(f"{key} must be an integer, not {value!r}") from None


def _read_flow(text: str) -> dict[str, Any]:
    try:
        (value,) = load_all(text)
    except (YamlError, ValueError, RecursionError):
        raise click.BadParameter(f"invalid YAML: {text}") from None
    if not isinstance(value, dict):
        raise click.BadParameter(f"must be an object, not {text}")
    return value
