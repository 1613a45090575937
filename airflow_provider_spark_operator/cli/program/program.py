"""The command of click: a group of verbs whose modules are imported when they are used."""

import gc
import importlib
import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

import click
from click.shell_completion import CompletionItem

from ... import __version__
from ...core.spark.installation import advise_installation
from ..base.errors import CommandError, ExitCode
from ..base.interrupts import raise_on_interrupt
from ..base.program_name import PROGRAM
from ..base.usage_errors import suggest
from ..options.declaration import build_parameters, call_with_groups
from . import catalogue, help_page

SUMMARY = (
    "Run Apache Spark on Kubernetes: a controller, a local cluster and tools for SparkApplications and SparkClusters."
)
_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"


class _Described(click.Command):
    """A command whose `--help` has the same description in the help and in completions."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.help = "show this help"
        return option


class VerbCommand(_Described):
    """One verb."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments and options. Add the context to the usage errors that have none."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def get_help(self, ctx: click.Context) -> str:
        """Return the help of the verb."""
        return help_page.format_verb(ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb. SIGINT raises KeyboardInterrupt, so that the verb cleans up."""
        with raise_on_interrupt():
            return super().invoke(ctx)


class VerbGroup(_Described, click.Group):
    """The program, or a group of its verbs such as `local`."""

    member_of = ""

    def list_summaries(self) -> dict[str, str]:
        """Return the words that can follow the name of the group, each with its summary."""
        members = catalogue.list_members(self.member_of)
        return {member.name.rpartition(" ")[2]: member.summary for member in members}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options of the group. Without any argument, print the help to stderr."""
        if not args and not ctx.resilient_parsing:
            print(self.get_help(ctx), file=sys.stderr)
            ctx.exit(ExitCode.INVALID)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, the verb and its arguments. An unknown verb is a usage error."""
        found = self.get_command(ctx, args[0])
        if found is None and not ctx.resilient_parsing:
            ctx.fail(f"unknown verb {args[0]}{suggest(args[0], self.list_summaries())}")
        return args[0], found, args[1:]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as in click
        """Import the verb; return None if it does not exist."""
        for member in (*catalogue.GROUPS, *catalogue.VERBS):
            if member.name == f"{self.member_of} {cmd_name}".strip():
                return build_group(member) if isinstance(member, catalogue.Group) else build_verb(member)
        return None

    def get_help(self, ctx: click.Context) -> str:
        """Return the help of the group, which imports no verb."""
        return help_page.format_group(ctx, catalogue.list_members(self.member_of))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the options, or the verbs with their summaries. No verb is imported."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(word, help=summary) for word, summary in self.list_summaries().items()]


def build_program() -> VerbGroup:
    """Build the command of the whole program."""
    program = VerbGroup(help=SUMMARY, context_settings={"help_option_names": ["-h", "--help"]})
    click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s", help="print the version")(
        program
    )
    return program


def build_group(group: catalogue.Group) -> VerbGroup:
    """Build the command of a group of verbs."""
    command = VerbGroup(help=f"{group.summary[:1].upper()}{group.summary[1:]}.")
    command.member_of = group.name
    return command


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
            f"missing package {error.name}. To install it, {advise_installation('local')}", ExitCode.INVALID
        ) from None
    return VerbCommand(
        verb.name.rpartition(" ")[2],
        callback=partial(call_with_groups, module.run),
        params=build_parameters(module.run),
        help=inspect.getdoc(module.run),
    )


def import_verb(name: str) -> ModuleType:
    """Import a module without plugins of pydantic and without garbage collection: a tenth of the time.

    pydantic reads the metadata of every installed distribution to find plugins, and the models of this package need
    none. Modules are no garbage, so a collection during their import is of no use.

    Args:
        name: The full name of the module.

    Raises:
        ModuleNotFoundError: The module needs a package that is not installed.
    """
    with _without_plugins(), _without_collection():
        return importlib.import_module(name)


@contextmanager
def _without_plugins() -> Iterator[None]:
    """Disable plugins of pydantic, but not in the programs that the verb starts."""
    if _PLUGINS in os.environ:
        yield
        return
    os.environ[_PLUGINS] = "__all__"
    try:
        yield
    finally:
        del os.environ[_PLUGINS]


@contextmanager
def _without_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # modules live until the end of the process: a collection need not visit their objects
        if was_enabled:
            gc.enable()
