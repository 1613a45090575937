"""The columns of a table, and its rows as they arrive."""

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..base.streams import is_unicode
from .output import clean_cell, open_console
from .table_layout import GAP, choose_columns, fold_last, measure, narrow, shorten


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


Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table.

    Attributes:
        title: The title, in capital letters.
        read: Returns the cell of a row. An empty cell is shown as `-`.
        width: The width of the column at least. The rows of later pages may be longer than those of the first.
        is_wide: Whether only `-o wide` shows the column.
        drop_rank: Whether a narrow terminal leaves the column out: 0 never, otherwise the highest first. `-o wide` and
            pipes show all columns.
        is_shortened: Whether a narrow terminal shortens the cells. At most one column of a table.
        style: Returns the style of a cell on a terminal, as rich names it, for example `cli.base.styles.style_state`.
    """

    title: str
    read: Callable[[Row], str]
    width: int = 0
    is_wide: bool = False
    drop_rank: int = 0
    is_shortened: bool = False
    style: Callable[[str], str] | None = None


class Table(Generic[Row]):
    """Prints pages of rows.

    Args:
        columns: The columns.
        is_wide: Whether to show the columns of `-o wide`.
    """

    def __init__(self, columns: Iterable[Column[Row]], *, is_wide: bool) -> None:
        self._columns = [column for column in columns if is_wide or not column.is_wide]
        self._printer = RowPrinter(
            [column.title for column in self._columns],
            [column.width for column in self._columns],
            {column.title: column.style for column in self._columns if column.style},
            dropped_first=[] if is_wide else self._list_dropped(),
            shortened=None if is_wide else next((each.title for each in self._columns if each.is_shortened), None),
        )

    def _list_dropped(self) -> list[str]:
        """Return the titles of the columns that can be left out, the least important first."""
        dropped = [column for column in self._columns if column.drop_rank]
        return [column.title for column in sorted(dropped, key=lambda column: -column.drop_rank)]

    def print(self, rows: Sequence[Row]) -> None:
        """Print a page at once. The first page that is not empty has the titles above."""
        self._printer.print([[column.read(row) for column in self._columns] for row in rows])
