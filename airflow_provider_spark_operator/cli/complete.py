"""`spark-operator complete`: print the words that can follow on the command line, for the scripts of `completion`."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.program import VerbGroup, open_command

EXAMPLES = """
spark-operator complete -- local ''
"""


def run(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD…", help="the words after the name of the program", show_default=False),
    ] = None,
) -> ExitCode:
    """Print each word that can replace the last one, and its meaning after a tab."""
    *before, incomplete = words or [""]
    for word, meaning in _find_candidates(before, incomplete):
        print(f"{word}\t{' '.join(meaning.split())}")
    return ExitCode.SUCCESS


def _find_candidates(before: Sequence[str], incomplete: str) -> Iterator[tuple[str, str]]:
    try:
        context = open_command(before)
    except CommandError:  # the verb needs a package that is not installed
        return
    command = context.command
    if isinstance(command, VerbGroup):
        found = command.list_summaries()
    else:
        found = _complete_parameter(context, before, incomplete)
    if incomplete.startswith("-"):
        found = [
            (name, each.help or "")
            for each in command.get_params(context)
            if each.param_type_name == "option" and not each.hidden
            for name in each.opts
        ]
    yield from ((word, meaning) for word, meaning in found if word.startswith(incomplete))


def _complete_parameter(context: Any, before: Sequence[str], incomplete: str) -> list[tuple[str, str]]:
    """Return the values of the option before the incomplete word, or else those of the first argument."""
    parameters = context.command.get_params(context)
    named = [each for each in parameters if before and before[-1] in each.opts and not getattr(each, "is_flag", False)]
    arguments = [each for each in parameters if each.param_type_name == "argument"]
    return [
        (item.value, item.help or "")
        for each in (named or arguments[:1])
        for item in each.shell_complete(context, incomplete)
        if each.nargs != -1 or item.value not in before
    ]
