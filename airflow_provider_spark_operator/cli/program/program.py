"""The typer application: a group of verbs whose modules are imported when they are used."""

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ... import __version__
from ..base.errors import CommandError
from ..base.exit_codes import ExitCode
from ..base.interrupts import raise_on_interrupt
from ..base.program_name import PROGRAM, get_program_name
from ..base.usage_errors import add_context, suggest
from . import catalogue, help_page
from .verb_import import import_verb

SUMMARY = (
    "Run Apache Spark on Kubernetes: a controller, a local cluster and tools for SparkApplications and SparkClusters."
)

_SETTINGS = {"help_option_names": ["-h", "--help"]}


class VerbCommand(TyperCommand):
    """One verb."""

    examples = ""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option `--help`."""
        return _without_coercion(super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments and options of the verb."""
        with add_context(ctx):
            return super().parse_args(ctx, args)

    def get_help(self, ctx: Any) -> str:
        """Return the help of the verb."""
        return help_page.format_verb(self, ctx, self.examples)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb. SIGINT raises KeyboardInterrupt, so that the verb cleans up."""
        with raise_on_interrupt():
            return super().invoke(ctx)


class VerbGroup(TyperGroup):
    """The program, or a group of its verbs such as `local`."""

    member_of = ""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option `--help`."""
        return _without_coercion(super().get_help_option(ctx))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature of typer
        """Return the words that can follow the name of the group."""
        return [member.name.rpartition(" ")[2] for member in catalogue.list_members(self.member_of)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options of the group. Without any argument, print the help to stderr."""
        if not args and not ctx.resilient_parsing:
            print(self.get_help(ctx), file=sys.stderr)
            raise typer.Exit(ExitCode.INVALID)
        with add_context(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the verb and its arguments. An unknown verb is a usage error."""
        found = self.get_command(ctx, args[0])
        if found is None:
            ctx.fail(f"unknown verb {args[0]}{suggest(args[0], self.list_commands(ctx))}")
        return args[0], found, args[1:]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the signature of typer
        """Import the verb; return None if it does not exist."""
        for member in (*catalogue.GROUPS, *catalogue.VERBS):
            if member.name == f"{self.member_of} {cmd_name}".strip():
                return build_group(member) if isinstance(member, catalogue.Group) else build_verb(member)
        return None

    def list_summaries(self) -> list[tuple[str, str]]:
        """Return the words that can follow the name of the group, each with its summary."""
        members = catalogue.list_members(self.member_of)
        return [(member.name.rpartition(" ")[2], member.summary) for member in members]

    def get_help(self, ctx: Any) -> str:
        """Return the help of the group, which imports no verb."""
        return help_page.format_group(self, ctx, catalogue.list_members(self.member_of))


def _without_coercion(option: Any) -> Any:
    """Return an option with False instead of None, which typer would convert with pydantic: 0.1 s for its import."""
    if option is not None:
        option.default = False
    return option


def build_program() -> VerbGroup:
    """Build the command of the whole program."""

    def show_version(wanted: bool) -> None:
        if wanted:
            print(f"{PROGRAM} {__version__}")
            raise typer.Exit

    def accept_options(
        version: bool = typer.Option(
            False, "--version", callback=show_version, is_eager=True, help="print the version"
        ),
    ) -> None:
        pass

    return _build_group("", SUMMARY, accept_options)


def build_group(group: catalogue.Group) -> VerbGroup:
    """Build the command of a group of verbs."""
    return _build_group(group.name, f"{group.summary[:1].upper()}{group.summary[1:]}.", lambda: None)


def _build_group(name: str, summary: str, callback: Callable[..., None]) -> VerbGroup:
    application = typer.Typer(add_completion=False, rich_markup_mode=None)
    application.callback(cls=VerbGroup, help=summary, context_settings=_SETTINGS, no_args_is_help=False)(callback)
    group = typer.main.get_command(application)
    assert isinstance(group, VerbGroup)  # noqa: S101 - it follows from `cls`
    group.member_of = name
    return group


def build_verb(verb: catalogue.Verb) -> VerbCommand:
    """Import the module of a verb and build its command from the signature of its function `run`.

    Raises:
        CommandError: The verb needs a package that is not installed.
    """
    try:
        module = import_verb(verb.module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(__package__.partition(".")[0]):
            raise
        raise CommandError(
            f"missing package {error.name}. Install it with pip install 'airflow-provider-spark-operator[local]'",
            ExitCode.INVALID,
        ) from None
    application = typer.Typer(add_completion=False, rich_markup_mode=None)
    application.command(
        verb.name.rpartition(" ")[2],
        cls=VerbCommand,
        help=inspect.getdoc(module.run),
        context_settings={**_SETTINGS, **getattr(module, "SETTINGS", {})},
    )(module.run)
    command = typer.main.get_command(application)
    assert isinstance(command, VerbCommand)  # noqa: S101 - it follows from `cls`
    command.examples = inspect.cleandoc(getattr(module, "EXAMPLES", ""))
    return command


def open_command(words: Sequence[str]) -> Any:
    """Return the context of the command that the first words name, without running it.

    The other words are parsed as its arguments, as far as they are valid.
    """
    command: Any = build_program()
    context = command.make_context(get_program_name(), [], resilient_parsing=True)
    for position, word in enumerate(words, start=1):
        found = command.get_command(context, word) if isinstance(command, VerbGroup) else None
        if found is None:
            break
        command = found
        rest = [] if isinstance(command, VerbGroup) else list(words[position:])
        context = command.make_context(word, rest, parent=context, resilient_parsing=True)
    return context
