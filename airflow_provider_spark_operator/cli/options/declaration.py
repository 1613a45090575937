"""Declare the command line of a verb: `Annotated[str, Parameter("-n --namespace NAME", "…")]` in its function `run`."""

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from types import UnionType
from typing import Any, Final, TypeAlias, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from ..base.usage_errors import enumerate_words

DEFAULT_PANEL: Final = "Options"
_FILE_NAMES: Final = re.compile(r"FILE|DIR|APP\.yaml|ARGUMENT")

Complete: TypeAlias = Callable[[click.Context, str], Iterable[str]]
"""Returns the words for an incomplete word. Words that do not begin with the incomplete word are left out.

A tab separates a word from its description."""


class VerbOption(click.Option):
    """An option, with the heading above it in the help."""

    panel = DEFAULT_PANEL

    @property
    def usage(self) -> str:
        """The names, and the word for the value, as the help shows them."""
        return f"{', '.join(sorted(self.opts, key=len))} {self.metavar or ''}".rstrip()


class VerbArgument(click.Argument):
    """An argument, with its description."""

    help = ""


@dataclass(frozen=True)
class Parameter:
    """How a parameter of `run` is given on the command line.

    The type of the parameter decides how values are read. A list can have several values, a `bool` is a flag, and an
    enumeration accepts its words. A parameter without a default is required.

    Attributes:
        usage: The words as the help shows them: `-n --namespace NAME` for an option, `--all` for a flag, and `FILE` for
            an argument.
        help: The description. It names the default only if that is not a constant, because constants are shown.
        check: Returns the value, or raises `click.BadParameter`. It is not called if no value is given.
        complete: Returns the words that a shell completes.
        at_least: The smallest integer.
        at_most: The largest integer.
        panel: The heading above an option in the help.
        is_hidden: Whether help and completion omit an option.
    """

    usage: str
    help: str
    check: Callable[[Any], object] | None = None
    complete: Complete | None = None
    at_least: int | None = None
    at_most: int | None = None
    panel: str = DEFAULT_PANEL
    is_hidden: bool = False

    def build(self, parameter: inspect.Parameter) -> VerbOption | VerbArgument:
        """Return the parameter of click for a parameter of `run`."""
        hint = get_args(parameter.annotation)[0]
        kind = get_args(hint)[0] if isinstance(hint, UnionType) else hint
        is_list = get_origin(kind) is list
        words = self.usage.split()
        names = [word for word in words if word.startswith("-")]
        shared: dict[str, Any] = {
            "required": parameter.default is inspect.Parameter.empty,
            "metavar": None if kind is bool else words[-1],
            "callback": lambda _context, _parameter, value: self._read(list if is_list else kind, value),
            "shell_complete": partial(self._complete, kind),
        }
        if parameter.default not in (None, inspect.Parameter.empty):
            shared["default"] = parameter.default
        if names:
            option = VerbOption(
                [parameter.name, *names],
                help=self.help,
                is_flag=kind is bool or None,
                multiple=is_list,
                hidden=self.is_hidden,
                **shared,
            )
            option.panel = self.panel
            return option
        argument = VerbArgument([parameter.name], nargs=-1 if is_list else 1, **shared)
        argument.help = self.help
        return argument

    def _read(self, kind: type, value: Any) -> object:
        """Return the value of a parameter from the words on the command line."""
        if value is None:
            return None
        if kind is list:
            value = list(value)
        elif issubclass(kind, StrEnum):
            value = _read_word(value, kind)
        elif kind is int:
            value = self._read_integer(value)
        return self.check(value) if self.check and value != [] else value

    def _read_integer(self, text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise click.BadParameter("must be an integer") from None
        if self.at_least is not None and number < self.at_least:
            raise click.BadParameter(f"must be at least {self.at_least}")
        if self.at_most is not None and number > self.at_most:
            raise click.BadParameter(f"must be at most {self.at_most}")
        return number

    def _complete(self, kind: Any, context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        """Return the completions of an incomplete word: names of files, or words that are not given yet."""
        if _FILE_NAMES.match(str(parameter.metavar)):
            path = click.Path(file_okay=parameter.metavar != "DIR")
            return path.shell_complete(context, parameter, incomplete)
        if self.complete is not None:
            words = self.complete(context, incomplete)
        else:
            words = kind if isinstance(kind, type) and issubclass(kind, StrEnum) else ()
        given = context.params.get(str(parameter.name)) if get_origin(kind) is list else None
        pairs = [str(word).partition("\t") for word in words]
        return [
            CompletionItem(value, help=meaning)
            for value, _, meaning in pairs
            if value.startswith(incomplete) and value not in (given or ())
        ]


@dataclass(frozen=True)
class OptionGroup:
    """Several options that are one parameter of `run`.

    Attributes:
        build: Builds the value of the parameter. The signature declares the options, as that of `run` does.
    """

    build: Callable[..., object]


def _read_word(text: str, words: type[StrEnum]) -> StrEnum:
    try:
        return words(text)
    except ValueError:
        raise click.BadParameter(f"must be {enumerate_words([*words])}, not {text!r}") from None


def build_parameters(run: Callable[..., object]) -> list[click.Parameter]:
    """Return the parameters of click for the signature of a function.

    Each parameter of the function is annotated with a `Parameter` or an `OptionGroup`.
    """
    parameters: list[click.Parameter] = []
    for each in inspect.signature(run).parameters.values():
        declared = each.annotation.__metadata__[0]
        if isinstance(declared, OptionGroup):
            parameters += build_parameters(declared.build)
        else:
            parameters.append(declared.build(each))
    return parameters


def call_with_groups(run: Callable[..., Any], /, **values: Any) -> Any:
    """Call a function with the values of the parameters that `build_parameters` returns for it."""
    for name, parameter in inspect.signature(run).parameters.items():
        declared = parameter.annotation.__metadata__[0]
        if isinstance(declared, OptionGroup):
            options = inspect.signature(declared.build).parameters
            values[name] = declared.build(**{option: values.pop(option) for option in options})
    return run(**values)
