"""Print the rows of a table while they arrive."""

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence

from airflow_provider_spark_operator.cli.output import clean_cell, open_console
from airflow_provider_spark_operator.cli.streams import is_unicode
from airflow_provider_spark_operator.cli.table_layout import GAP, choose_columns, fold_last, measure, narrow, shorten


class RowPrinter:
    """Prints pages of rows below one line of titles. The first page decides the widths of the columns.

    On a terminal, columns are left out or shortened if a row does not fit, and the last column continues below itself.
    Pipes always get all columns, one line for each row.

    Args:
        titles: The titles of the columns.
        widths: The width of each column at least.
        styles: The functions that return the style of a cell on a terminal, by the title of the column.
        dropped_first: The titles of the columns that a narrow terminal does not show, the least important first.
        shortened: The title of the column that a narrow terminal shortens. None for no column.
    """

    def __init__(
        self,
        titles: Sequence[str],
        widths: Sequence[int],
        styles: Mapping[str, Callable[[str], str]],
        *,
        dropped_first: Sequence[str] = (),
        shortened: str | None = None,
    ) -> None:
        self._titles = list(titles)
        self._styles = styles
        self._widths = [max(len(title), width) for title, width in zip(titles, widths, strict=True)]
        self._shown = list(range(len(titles)))
        self._dropped_first = [self._titles.index(title) for title in dropped_first if title in titles]
        self._shortened = None if shortened is None else self._titles.index(shortened)
        self._is_narrow = False
        self._has_begun = False
        self._console = open_console() if sys.stdout.isatty() else None
        self._limit = shutil.get_terminal_size().columns

    def print(self, rows: Sequence[Sequence[str]]) -> None:
        """Print a page at once. Control characters are escaped, and an empty cell is shown as `-`."""
        if not rows:
            return
        lines = [[clean_cell(cell) for cell in row] for row in rows]
        if not self._has_begun:
            self._has_begun = True
            columns = zip(*lines, strict=True)
            needed = [max(map(len, (title, *cells))) for title, cells in zip(self._titles, columns, strict=True)]
            self._widths = [max(width, least) for width, least in zip(self._widths, needed, strict=True)]
            self._fit(needed)
            self._print(self._titles, dict.fromkeys(self._titles, "bold"))
        for line in lines:
            cells = zip(self._titles, line, strict=True)
            self._print(line, {title: self._styles[title](cell) for title, cell in cells if title in self._styles})
        sys.stdout.flush()

    def _fit(self, needed: list[int]) -> None:
        """Choose the columns for the width of the terminal.

        Args:
            needed: The widths that the first page needs. They are sufficient if the usual ones do not fit.
        """
        if self._console is None:
            return
        if measure(self._widths[:-1]) > self._limit:
            self._widths = needed
        self._shown = choose_columns(self._widths, self._limit, self._dropped_first)
        if self._shortened is not None:
            position = self._shown.index(self._shortened)
            width = narrow([self._widths[each] for each in self._shown], position, self._limit)
            self._is_narrow = width < self._widths[self._shortened]
            self._widths[self._shortened] = width

    def _print(self, line: Sequence[str], styles: Mapping[str, str]) -> None:
        if self._console is None:
            cells = [f"{cell:<{width}}" for cell, width in zip(line, self._widths, strict=True)]
            print(GAP.join(cells).rstrip())
            return
        # rich is imported only on a terminal.
        from rich.text import Text  # noqa: PLC0415

        cells = list(line)
        if self._shortened is not None and self._is_narrow:
            width = self._widths[self._shortened]
            cells[self._shortened] = shorten(cells[self._shortened], width, unicode=is_unicode(sys.stdout))
        widths = [self._widths[each] for each in self._shown]
        titles = [self._titles[each] for each in self._shown]
        for part in fold_last([cells[each] for each in self._shown], widths, self._limit):
            padded = [f"{cell:<{width}}" for cell, width in zip(part, widths, strict=True)]
            padded[-1] = padded[-1].rstrip()
            texts = [Text(cell, styles.get(title, "")) for title, cell in zip(titles, padded, strict=True)]
            text = Text(GAP).join(texts)
            text.rstrip()
            self._console.print(text, soft_wrap=True)
