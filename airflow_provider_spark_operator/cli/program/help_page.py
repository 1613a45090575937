"""Format the help of the program and of its verbs, for the width of the terminal."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from ..base.program_name import PROGRAM, get_program_name
from ..options.options import CLUSTER_PANEL
from .catalogue import Group, Section, Verb

_MAX_COLUMNS = 110
_FEWEST_COLUMNS = 32
_WIDEST_TERM = 28
_BOLD = "\033[1m"
_PLAIN = "\033[0m"


def format_group(command: Any, context: Any, members: Sequence[Verb | Group]) -> str:
    """Return the help of the program or of a group of verbs."""
    parts = [_format_text(command.help or ""), _format_usage(context, "VERB [OPTIONS]")]
    for section in Section:
        rows = [(member.name.rpartition(" ")[2], member.summary) for member in members if member.section is section]
        if rows:
            parts.append(_format_rows(section, rows))
    parts.append(_format_options(command, context))
    advice = f"Run `{context.command_path} VERB --help` for the options and examples of a verb."
    if context.parent is None:
        advice += f" Run `{context.command_path} help exit-codes` for the exit codes."
    parts.append(_format_text(advice))
    return "\n\n".join(part for part in parts if part)


def format_verb(command: Any, context: Any, examples: str) -> str:
    """Return the help of a verb: description, usage, examples, arguments and options."""
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    usage = " ".join([*("" if name.metavar is None else _name_argument(name) for name in arguments), "[OPTIONS]"])
    parts = [_format_text(command.help or ""), _format_usage(context, usage)]
    if examples:
        text = examples.replace(PROGRAM, get_program_name())
        parts.append(f"{_format_heading('Examples')}\n{textwrap.indent(text, '  ')}")
    parts.append(_format_rows("Arguments", [(each.metavar or each.name, _describe(each)) for each in arguments]))
    parts.append(_format_options(command, context))
    return "\n\n".join(part for part in parts if part)


def _name_argument(argument: Any) -> str:
    name = str(argument.metavar)
    return name if argument.required else f"[{name}]"


def _format_options(command: Any, context: Any) -> str:
    panels: dict[str, list[tuple[str, str]]] = {}
    for option in command.get_params(context):
        if option.param_type_name == "option" and not option.hidden:
            panel = getattr(option, "rich_help_panel", None) or "Options"
            panels.setdefault(panel, []).append((_name_option(option), _describe(option)))
    panels[CLUSTER_PANEL] = sorted(panels.get(CLUSTER_PANEL, []), key=_read_long_name)
    return "\n\n".join(
        _format_rows(panel, panels[panel]) for panel in sorted(panels, key="Options".__ne__) if panels[panel]
    )


def _read_long_name(row: tuple[str, str]) -> str:
    return row[0].partition("--")[2]


def _name_option(option: Any) -> str:
    """Return the names of an option, the short one first, and the name of its value."""
    names = ", ".join(sorted(option.opts, key=len))
    return names if option.is_flag else f"{names} {option.metavar or option.name.upper()}"


def _describe(parameter: Any) -> str:
    """Return the help of a parameter, with its default if that is a constant."""
    if parameter.name == "help":
        return "show this help"
    default = parameter.default
    if default is None or isinstance(default, bool) or default == [] or "default:" in (parameter.help or ""):
        return str(parameter.help or "")
    return f"{parameter.help} (default: {default})"


def _format_usage(context: Any, rest: str) -> str:
    return f"{_format_heading('Usage')}\n  {context.command_path} {rest}"


def _format_heading(text: str) -> str:
    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"{_BOLD}{text}{_PLAIN}" if is_coloured else text


def _format_rows(heading: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return two columns below a heading. On a narrow terminal, each description is below its term."""
    rows = list(rows)
    if not rows:
        return ""
    columns = _get_columns()
    width = min(_WIDEST_TERM, max(len(term) for term, _ in rows))
    lines = [_format_heading(heading)]
    for term, description in rows:
        start = f"  {term:<{width}}  " if len(term) <= width and columns > 2 * width else ""
        if not start:
            lines.append(f"  {term}")
        indent = " " * (len(start) or (width + 4 if columns > 2 * width else 6))
        lines.append(
            textwrap.fill(
                description, columns, initial_indent=start or indent, subsequent_indent=indent, break_on_hyphens=False
            )
        )
    return "\n".join(lines)


def _format_text(text: str) -> str:
    """Return the paragraphs of a text, without the sections of a docstring such as `Raises:`."""
    paragraphs = text.partition("\n\nRaises:")[0].split("\n\n")
    return "\n\n".join(
        textwrap.fill(" ".join(each.split()), _get_columns(), break_on_hyphens=False) for each in paragraphs
    )


def _get_columns() -> int:
    return max(_FEWEST_COLUMNS, min(_MAX_COLUMNS, shutil.get_terminal_size().columns))
