"""Describe the usage errors of typer, with the names that the user may have meant."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import typer

# typer has no public name for the base of its usage errors, and some of its versions take it from click.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
# Messages of pydantic and click, which check the values depending on the version of typer, and clearer ones.
_CLEARER = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"Input should be a valid integer.*|.* is not a valid integer( range)?", "must be an integer"),
        (r"Input should be a valid number.*|.* is not a valid float( range)?", "must be a number"),
        (r"Input should be greater than or equal to (\S+)|\S+ is not in the range x>=(\S+)", r"must be at least \1\2"),
        (r"Input should be less than or equal to (\S+)", r"must be at most \1"),
        (r"\S+ is not in the range (\S+)<=x<=(\S+)", r"must be from \1 to \2"),
        (r"Got unexpected extra argument\S* \((\S*).*\)", r"unexpected argument \1"),
    )
)
# Words of kubectl, spark-submit and other programs, with the verbs and options of this program for them.
_FOREIGN: Mapping[str, tuple[str, ...]] = {
    "apply": ("submit",),
    "class": ("--main-class",),
    "create": ("submit",),
    "executors": ("--executor", "--executor-instances"),
    "failed": ("--failure", "--state"),
    "get": ("list", "status", "describe"),
    "kill": ("delete",),
    "num-executors": ("--executor-instances",),
    "port-forward": ("forward",),
    "ps": ("list",),
    "rm": ("delete",),
    "run": ("submit",),
    "ui": ("forward",),
}
_CHOICE = re.compile(r"('.*') is not one of ('.*')", re.DOTALL)


@contextmanager
def add_context(context: Any) -> Iterator[None]:
    """Add the context to usage errors of the parser that have none, so that they can name the command."""
    try:
        yield
    except USAGE_ERROR as error:
        error.ctx = getattr(error, "ctx", None) or context  # type: ignore[attr-defined]
        raise


def describe_usage_error(error: Any) -> str:
    """Return a usage error as one sentence, and where the help is."""
    context = error.ctx
    sentence = _describe(error, context)
    if context is None:
        return sentence
    end = "" if sentence.endswith("?") else "."
    return f"{sentence}{end} Run `{context.command_path} --help` for the usage"


def suggest(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean …?` with the known words that the user may have meant; empty if there are none."""
    by_name = {name.lstrip("-").lower(): name for name in known}
    name = word.lstrip("-").lower()
    meant = [known_name for known_name in _FOREIGN.get(name, ()) if known_name in by_name.values()]
    meant = meant or [by_name[match] for match in get_close_matches(name, list(by_name), n=1)]
    return f": did you mean {_enumerate(meant)}?" if meant else ""


def _describe(error: Any, context: Any) -> str:
    parameter = getattr(error, "param", None)
    if parameter is not None and hasattr(error, "param_type"):
        return f"missing {parameter.param_type_name} {_name(parameter)}"
    if parameter is not None:
        if choice := _CHOICE.fullmatch(_strip(error.message)):
            return f"{_name_choice(parameter)}: must be {_join(choice[2])}, not {choice[1]}"
        return f"{_name(parameter)}: {_clarify(error.message)}"
    if hasattr(error, "possibilities") and context is not None:
        known = [name for each in context.command.get_params(context) for name in each.opts if name.startswith("--")]
        if not error.option_name.lstrip("-").isdecimal():
            is_program = context.parent is None
            advice = ": options follow the verb" if is_program else suggest(error.option_name, known)
            return f"unknown option {error.option_name}{advice}"
        return f"unexpected negative number {error.option_name}"
    if hasattr(error, "option_name"):
        message = _clarify(error.message.partition(" ")[2].partition(" ")[2])
        return f"{error.option_name}: {message.replace('requires an argument', 'requires a value')}"
    return _clarify(error.message)


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name).removesuffix("…")
    return str(max(parameter.opts, key=len))


def _name_choice(parameter: Any) -> str:
    """Return the name of a parameter whose values are listed. The metavar of such an argument is the list."""
    return str(parameter.name) if parameter.param_type_name == "argument" else _name(parameter)


def _join(choices: str) -> str:
    """Return quoted, comma-separated words as an enumeration."""
    return _enumerate(re.findall(r"'([^']*)'", choices))


def _enumerate(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _strip(message: str) -> str:
    return message.removeprefix("Value error, ").rstrip(".")


def _clarify(message: str) -> str:
    message = _strip(message)
    for pattern, replacement in _CLEARER:
        if found := pattern.fullmatch(message):
            return found.expand(replacement)
    return f"{message[:1].lower()}{message[1:]}"
