"""`spark-operator help`: print the help of a verb, or the exit codes."""

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Annotated

import click

from ..base.errors import MEANINGS, CommandError, ExitCode
from ..base.program_name import get_program_name
from ..base.usage_errors import suggest
from ..options.declaration import Parameter
from .help_page import fill
from .program import VerbGroup, build_program

EXIT_CODES = "exit-codes"


def _open_command(words: Sequence[str]) -> click.Context:
    """Return the context of a command, without parsing arguments.

    Raises:
        CommandError: The verb does not exist, or needs a package that is not installed.
    """
    program = build_program()
    context = click.Context(program, info_name=get_program_name(), **program.context_settings)
    for word in words:
        group = context.command
        command = group.get_command(context, word) if isinstance(group, VerbGroup) else None
        if command is None:
            known = [*group.list_summaries(), EXIT_CODES] if isinstance(group, VerbGroup) else []
            raise CommandError(f"unknown verb {' '.join(words)}{suggest(word, known)}", ExitCode.INVALID)
        context = click.Context(command, context, word)
    return context


def _complete_topic(context: click.Context, _: str) -> list[str]:
    """Return the verbs that can follow, at the first position also `exit-codes`."""
    words = context.params.get("topic") or []
    try:
        command = _open_command(words).command
    except CommandError:
        return []
    following = list(command.list_summaries()) if isinstance(command, VerbGroup) else []
    return following if words else [*following, EXIT_CODES]


def run(
    topic: Annotated[
        list[str] | None, Parameter("VERB|exit-codes", "the verb, or exit-codes", complete=_complete_topic)
    ] = None,
) -> ExitCode:
    """Print the help of a verb, or the meaning of the exit codes.

    Examples:
        # The options and examples of a verb
        spark-operator help local run

        # The exit codes of all verbs
        spark-operator help exit-codes
    """
    if topic == [EXIT_CODES]:
        for code, meaning in MEANINGS.items():
            for start, case in zip(chain([f"{int(code):>3}  "], repeat(" " * 5)), meaning.splitlines(), strict=False):
                print(fill(case, start, " " * 7))
    else:
        print(_open_command(topic or ()).get_help())
    return ExitCode.SUCCESS
