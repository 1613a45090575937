"""`spark-operator help`: print the help of a verb, or the exit codes."""

from collections.abc import Sequence
from typing import Annotated

import typer

from ..base.errors import CommandError
from ..base.exit_codes import MEANINGS, ExitCode
from ..base.usage_errors import suggest
from .program import VerbGroup, open_command

EXIT_CODES = "exit-codes"

EXAMPLES = """
# The options and examples of a verb
spark-operator help local run

# The exit codes of all verbs
spark-operator help exit-codes
"""


def _complete_topic(ctx: typer.Context) -> list[str]:
    """Return the verbs that can follow, at the first position also `exit-codes`."""
    words = list(ctx.params.get("topic") or ())
    command = open_command(words).command
    if len(words) > 1 or not isinstance(command, VerbGroup):
        return []
    return [*command.list_commands(None), *([] if words else [EXIT_CODES])]


def run(
    topic: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VERB|exit-codes",
            help="the verb, or exit-codes",
            show_default=False,
            autocompletion=_complete_topic,
        ),
    ] = None,
) -> ExitCode:
    """Print the help of a verb, or the meaning of the exit codes."""
    if topic == [EXIT_CODES]:
        for code, meaning in MEANINGS.items():
            print(f"{int(code):>3}  {meaning}")
    else:
        _print_help(topic or [])
    return ExitCode.SUCCESS


def _print_help(words: Sequence[str]) -> None:
    context = open_command(words)
    unknown = words[len(context.command_path.split()) - len(context.find_root().command_path.split()) :]
    if unknown:
        known = [*context.command.list_commands(context), EXIT_CODES] if isinstance(context.command, VerbGroup) else []
        raise CommandError(f"unknown verb {' '.join(words)}{suggest(unknown[0], known)}", ExitCode.INVALID)
    print(context.command.get_help(context))
