"""`spark-operator complete`: print the words that can follow on the command line, for the scripts of `completion`."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, TypeAlias

import typer

from ..base.errors import CommandError
from ..base.exit_codes import ExitCode
from .program import VerbGroup, open_command

EXAMPLES = """
spark-operator complete -- local ''
"""

FILES: Final = ":files"
"""The only line of the output if the shell has to complete the name of a file."""

_OPTION_WITH_VALUE: Final = re.compile(r"(--[a-z][a-z-]*)=(.*)", re.DOTALL)
_FILE_NAMES: Final = re.compile(r"FILE|DIR|APP\.yaml|ARGUMENT")

_Candidate: TypeAlias = tuple[str, str]


def run(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD…", help="the words of the command line after `spark-operator`", show_default=False
        ),
    ] = None,
) -> ExitCode:
    """Print the possible completions of the last word, one per line: the completion, a tab, and its meaning.

    If the last word is the name of a file, the command prints `:files`.
    """
    before, option, incomplete = _split(words or [""])
    for word, meaning in _find_candidates(before, incomplete):
        print(FILES if word == FILES else f"{option}{word}\t{' '.join(meaning.split())}")
    return ExitCode.SUCCESS


def _split(words: Sequence[str]) -> tuple[list[str], str, str]:
    """Return the complete words, the option before an incomplete value as in `--state=`, and the incomplete word.

    bash passes `--state=Fa` as the three words `--state`, `=` and `Fa`, and replaces only the last one.
    """
    *before, incomplete = _join(words)
    option = _OPTION_WITH_VALUE.fullmatch(incomplete)
    if option is None:
        return before, "", incomplete
    is_split = "=" in words[-2:]
    return [*before, option[1]], "" if is_split else f"{option[1]}=", option[2]


def _join(words: Sequence[str]) -> list[str]:
    """Return the words as the user typed them: bash splits `--set a=b` at the equals sign."""
    joined: list[str] = []
    for position, word in enumerate(words):
        if joined and (word == "=" or words[position - 1] == "="):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _find_candidates(before: Sequence[str], incomplete: str) -> Iterator[_Candidate]:
    try:
        context = open_command(before)
    except CommandError:  # the verb needs a package that is not installed
        return
    command = context.command
    if isinstance(command, VerbGroup):
        found = command.list_summaries()
    elif option := _find_option(context, before):
        # Without the option that has no value yet, the arguments are parsed, too.
        found = _complete(option, open_command(before[:-1]), incomplete, before)
    elif incomplete.startswith("-") and "--" not in before:
        found = list(_list_options(context, before))
    else:
        found = _complete_argument(context, before, incomplete)
    yield from ((word, meaning) for word, meaning in found if word == FILES or word.startswith(incomplete))


def _list_options(context: Any, before: Sequence[str]) -> Iterator[_Candidate]:
    """Yield the options that can still be given."""
    for each in context.command.get_params(context):
        is_given = not each.multiple and not set(before).isdisjoint(each.opts) if each.opts else False
        if each.param_type_name == "option" and not each.hidden and not is_given:
            yield from ((name, each.help or "") for name in each.opts)


def _find_option(context: Any, before: Sequence[str]) -> Any:
    """Return the option whose value is incomplete; None if it is an argument."""
    if not before or "--" in before:
        return None
    return next(
        (
            each
            for each in context.command.get_params(context)
            if each.param_type_name == "option" and before[-1] in each.opts and not each.is_flag
        ),
        None,
    )


def _complete_argument(context: Any, before: Sequence[str], incomplete: str) -> list[_Candidate]:
    """Return the values of the first argument that has no value yet, or that can have several."""
    for each in context.command.get_params(context):
        if each.param_type_name == "argument" and (each.nargs == -1 or not context.params.get(each.name)):
            return _complete(each, context, incomplete, before)
    return []


def _complete(parameter: Any, context: Any, incomplete: str, before: Sequence[str]) -> list[_Candidate]:
    if _FILE_NAMES.match(parameter.metavar or ""):
        return [(FILES, "")]
    return [
        (item.value, item.help or "")
        for item in parameter.shell_complete(context, incomplete)
        if parameter.nargs != -1 or item.value not in before
    ]
