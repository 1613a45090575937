"""Describe the usage errors of typer, with the names that the user may have meant."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import typer

# typer has no public name for the base of its usage errors, and some of its versions take it from click.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


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
    """Return `: did you mean …?` with the most similar of the known words; empty if none is similar."""
    matches = get_close_matches(word, list(known), n=1)
    return f": did you mean {matches[0]}?" if matches else ""


def _describe(error: Any, context: Any) -> str:
    parameter = getattr(error, "param", None)
    if parameter is not None and hasattr(error, "param_type"):
        return f"missing {parameter.param_type_name} {_name(parameter)}"
    if parameter is not None:
        return f"{_name(parameter)}: {_strip(error.message)}"
    if hasattr(error, "possibilities") and context is not None:
        known = [name for each in context.command.get_params(context) for name in each.opts if name.startswith("--")]
        return f"unknown option {error.option_name}{suggest(error.option_name, known)}"
    if hasattr(error, "option_name"):
        return f"{error.option_name}: {_strip(error.message.partition(' ')[2].partition(' ')[2])}"
    return _strip(error.message)


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name)
    return str(max(parameter.opts, key=len))


def _strip(message: str) -> str:
    message = message.removeprefix("Value error, ").rstrip(".")
    return f"{message[:1].lower()}{message[1:]}"
