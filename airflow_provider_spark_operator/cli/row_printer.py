"""Print the rows of a table while they arrive."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from airflow_provider_spark_operator.cli.output import clean_cell, open_console

_GAP: Final = "   "


class RowPrinter:
    """Prints pages of rows below one line of titles. The first page decides the widths of the columns.

    Args:
        titles: The titles of the columns.
        widths: The width of each column at least.
        styles: The functions that return the style of a cell on a terminal, by the title of the column.
    """

    def __init__(
        self, titles: Sequence[str], widths: Sequence[int], styles: Mapping[str, Callable[[str], str]]
    ) -> None:
        self._titles = titles
        self._styles = styles
        self._widths = [max(len(title), width) for title, width in zip(titles, widths, strict=True)]
        self._has_begun = False
        self._console = open_console() if sys.stdout.isatty() else None

    def print(self, rows: Sequence[Sequence[str]]) -> None:
        """Print a page at once. Control characters are escaped, and an empty cell is shown as `-`."""
        if not rows:
            return
        lines = [[clean_cell(cell) for cell in row] for row in rows]
        if not self._has_begun:
            self._has_begun = True
            columns = zip(*lines, strict=True)
            self._widths = [max(width, *map(len, cells)) for width, cells in zip(self._widths, columns, strict=True)]
            self._print(self._titles, dict.fromkeys(self._titles, "bold"))
        for line in lines:
            styles = {
                title: self._styles[title](cell)
                for title, cell in zip(self._titles, line, strict=True)
                if title in self._styles
            }
            self._print(line, styles)
        sys.stdout.flush()

    def _print(self, line: Sequence[str], styles: Mapping[str, str]) -> None:
        cells = [f"{cell:<{width}}" for cell, width in zip(line, self._widths, strict=True)]
        cells[-1] = cells[-1].rstrip()
        if self._console is None:
            print(_GAP.join(cells).rstrip())
            return
        # rich is imported only on a terminal.
        from rich.text import Text  # noqa: PLC0415

        texts = [Text(cell, styles.get(title, "")) for title, cell in zip(self._titles, cells, strict=True)]
        self._console.print(Text(_GAP).join(texts), soft_wrap=True)
