"""Format the help of the program and of its verbs, for the width of the terminal."""

import shutil
import sys
import textwrap
from collections.abc import Sequence

import click

from ..base.program_name import PROGRAM, get_program_name
from ..base.streams import paint
from ..options.declaration import DEFAULT_PANEL, VerbArgument, VerbOption
from ..options.options import CLUSTER_PANEL
from .catalogue import VERBS, Group, Section, Verb

_MAX_COLUMNS = 110
_FEWEST_COLUMNS = 32
_WIDEST_TERM = 28

_Rows = Sequence[tuple[str, str]]


def format_group(context: click.Context, members: Sequence[Verb | Group]) -> str:
    """Return the help of the program or of a group of verbs."""
    sections = {
        section: [(each.name.rpartition(" ")[2], each.summary) for each in members if each.section is section]
        for section in Section
    }
    advice = f"Run `{context.command_path} VERB --help` for the options and examples of a verb."
    if context.parent is None:
        advice += f" Run `{context.command_path} help exit-codes` for the exit codes."
    rows = [_format_rows(section, rows) for section, rows in sections.items()]
    return _format_page(
        context, str(context.command.help), "VERB [OPTIONS]", *rows, _format_options(context), fill(advice)
    )


def format_verb(context: click.Context) -> str:
    """Return the help of a verb: description, usage, examples, arguments and options."""
    arguments = [each for each in context.command.params if isinstance(each, VerbArgument)]
    words = [str(each.metavar) if each.required else f"[{each.metavar}]" for each in arguments]
    name = context.command_path.removeprefix(get_program_name()).strip()
    is_documented = any(verb.name == name and not verb.is_hidden for verb in VERBS)
    description, _, examples = str(context.command.help).partition("\n\nExamples:\n")
    text = textwrap.indent(textwrap.dedent(examples).replace(PROGRAM, get_program_name()), "  ")
    return _format_page(
        context,
        description,
        " ".join([*words, "[OPTIONS]"]),
        f"{_format_heading('Examples')}\n{text}",
        _format_rows("Arguments", [(str(each.metavar), each.help) for each in arguments]),
        _format_options(context),
        f"More: docs/reference/command-line.md#{name.replace(' ', '-')}" if is_documented else "",
    )


def _format_page(context: click.Context, description: str, usage: str, *parts: str) -> str:
    start = [*map(fill, description.split("\n\n")), f"{_format_heading('Usage')}\n  {context.command_path} {usage}"]
    return "\n\n".join(filter(None, [*start, *parts]))


def _format_options(context: click.Context) -> str:
    panels: dict[str, list[tuple[str, str]]] = {DEFAULT_PANEL: []}
    for each in context.command.get_params(context):
        if isinstance(each, click.Option) and not each.hidden:
            usage, panel = ", ".join(sorted(each.opts, key=len)), DEFAULT_PANEL
            if isinstance(each, VerbOption):
                usage, panel = each.usage, each.panel
            panels.setdefault(panel, []).append((usage, _describe(each)))
    panels.get(CLUSTER_PANEL, []).sort(key=lambda row: row[0].partition("--")[2])
    return "\n\n".join(_format_rows(panel, rows) for panel, rows in panels.items() if rows)


def _describe(option: click.Option) -> str:
    """Return the help of an option, with its default if that is a constant."""
    text = str(option.help)
    is_shown = isinstance(option.default, str) and "default:" not in text
    return f"{text} (default: {option.default})" if is_shown else text


def _format_heading(text: str) -> str:
    return paint(text, "bold", sys.stdout)


def _format_rows(heading: str, rows: _Rows) -> str:
    """Return two columns below a heading. On a narrow terminal, each description is below its term."""
    if not rows:
        return ""
    width = min(_WIDEST_TERM, max(len(term) for term, _ in rows))
    is_narrow = _count_columns() <= 2 * width
    indent = " " * (6 if is_narrow else width + 4)
    lines = [_format_heading(heading)]
    for term, description in rows:
        start = f"  {term:<{width}}  "
        if is_narrow or len(term) > width:
            lines.append(f"  {term}")
            start = indent
        lines.append(fill(description, start, indent))
    return "\n".join(lines)


def fill(text: str, start: str = "", indent: str = "") -> str:
    """Return a text in lines that fit the terminal.

    Args:
        text: The text.
        start: The beginning of the first line.
        indent: The beginning of the others.
    """
    return textwrap.fill(
        " ".join(text.split()), _count_columns(), initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
    )


def _count_columns() -> int:
    return max(_FEWEST_COLUMNS, min(_MAX_COLUMNS, shutil.get_terminal_size().columns))
