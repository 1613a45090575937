"""Print sections of text with headings, pairs and tables; with colours on a terminal."""

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..base.streams import paint
from .output import clean_cell
from .tables import GAP, NARROWEST, WIDEST_KEYS, Table, build_columns, cut_pair, fold, measure

_INDENT: Final = "  "


class SectionPrinter:
    """Prints sections. Control characters in values are escaped.

    On a terminal, long values continue below themselves. Pipes get one line for each value.

    Attributes:
        width: The width of the terminal; None for a pipe.
    """

    def __init__(self) -> None:
        self.width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None

    def print_pairs(self, pairs: Sequence[tuple[str, str]], styles: Mapping[str, str] | None = None) -> None:
        """Print names and values in two columns. Pairs without a value are left out.

        Args:
            pairs: The names and values.
            styles: The styles of values on a terminal, by name.
        """
        shown = [(name, value) for name, value in pairs if value]
        width = max((len(name) for name, _ in shown), default=0) + 1
        for name, value in shown:
            label, style = f"{name + ':':<{width}}", (styles or {}).get(name, "")
            for part in self._fold(clean_cell(value), width + len(GAP)):
                print(f"{paint(label, 'bold', sys.stdout)}{GAP}{paint(part, style, sys.stdout)}")
                label = " " * width

    def print_heading(self, heading: str) -> None:
        """Print the heading of a section, below an empty line."""
        print("\n" + paint(f"{heading}:", "bold", sys.stdout))

    def print_lines(self, lines: Sequence[str], style: Callable[[str], str] = lambda _: "") -> None:
        """Print lines below a heading. Their indentation is kept.

        Args:
            lines: The lines.
            style: Returns the style of each line on a terminal.
        """
        for line in lines:
            indentation, colour = " " * (len(line) - len(line.lstrip(" "))), style(line)
            for part in self._fold(clean_cell(line), len(_INDENT) + len(indentation)):
                print(f"{_INDENT}{indentation}{paint(part, colour, sys.stdout)}")

    def print_table(
        self,
        titles: Sequence[str],
        rows: Sequence[Sequence[str]],
        styles: Mapping[str, Callable[[str], str]] | None = None,
    ) -> None:
        """Print a table below a heading.

        Args:
            titles: The titles of the columns.
            rows: The cells of each row.
            styles: The functions that return the style of a cell on a terminal, by the title of the column.
        """
        Table(build_columns(titles, styles), indent=_INDENT, title_style="dim").print(rows)

    def print_comparison(
        self, titles: Sequence[str], rows: Sequence[tuple[str, str, str]], style: Callable[[str], str] = lambda _: ""
    ) -> None:
        """Print a table of names with two values. On a terminal, long values are cut around their first difference.

        Names of rows whose values differ are bold on a terminal.

        Args:
            titles: The titles of the columns.
            rows: The name and the values of each row.
            style: Returns the style of each value on a terminal.
        """
        different = {name for name, first, second in rows if first != second}
        styles = dict.fromkeys(titles[1:], style) | {titles[0]: lambda name: "bold" if name in different else ""}
        name, first, second = build_columns(titles, styles)
        columns = [replace(name, is_key=True), first, replace(second, is_shortened=True)]
        Table(columns, indent=_INDENT, title_style="dim").print(self._cut_values(rows))

    def _cut_values(self, rows: Sequence[tuple[str, str, str]]) -> Sequence[tuple[str, str, str]]:
        if self.width is None:
            return rows
        names = min(WIDEST_KEYS[1], max((len(name) for name, _, _ in rows), default=0))
        longest = max(NARROWEST, (self.width - len(_INDENT) - measure([names, 0, 0])) // 2)
        return [(name, *cut_pair(clean_cell(first), clean_cell(second), longest)) for name, first, second in rows]

    def _fold(self, text: str, indentation: int) -> list[str]:
        return [text] if self.width is None else fold(text, self.width - indentation)
