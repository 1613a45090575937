"""Parse a command line without running its verb."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from airflow_provider_spark_operator.cli.options.declaration import VerbArgument, VerbOption
from airflow_provider_spark_operator.cli.program.catalogue import Verb
from airflow_provider_spark_operator.cli.program.program import VerbCommand, build_program, build_verb


def parse(words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the name of the verb and the values of its parameters.

    Raises:
        click.UsageError: The command line is invalid.
    """
    program = build_program()
    with (
        patch.object(VerbCommand, "invoke", lambda _, context: context),
        program.make_context("spark-operator", list(words)) as context,
    ):
        found: Any = program.invoke(context)
    return found.command_path.removeprefix("spark-operator ").partition(" <")[0], found.params


def list_options(verb: Verb) -> set[str]:
    """Return the visible options of a verb, without `--help`."""
    options = (each for each in list_parameters(verb) if isinstance(each, VerbOption) and not each.hidden)
    return {name for each in options for name in each.opts}


def list_parameters(verb: Verb) -> list[VerbArgument | VerbOption]:
    """Return the arguments and options of a verb."""
    return [each for each in build_verb(verb).params if isinstance(each, VerbArgument | VerbOption)]
