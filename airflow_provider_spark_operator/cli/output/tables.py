"""Print tables: rows below one line of titles, aligned with spaces, so that `awk` and `cut` can read them.

On a terminal, columns are left out or shortened if a row does not fit, and the last column continues below itself.
Pipes always get all columns, one line for each row.
"""

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, Generic, TypeVar

from ..base.streams import is_unicode
from .output import clean_cell, open_console

GAP: Final = "   "
_INDENT: Final = "    "
_NARROWEST: Final = 12
_NARROWEST_FOLDED: Final = 24

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table.

    Attributes:
        title: The title, in capital letters.
        read: Returns the cell of a row. An empty cell is shown as `-`.
        width: The minimum width of the column. The rows of later pages may be longer than those of the first.
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
    """Prints pages of rows. The first page decides the widths of the columns.

    Args:
        columns: The columns.
        is_wide: Whether to show the columns of `-o wide`, and to leave out or shorten none.
        indent: The blanks before each line.
        title_style: The style of the titles on a terminal.
    """

    def __init__(
        self, columns: Iterable[Column[Row]], *, is_wide: bool = False, indent: str = "", title_style: str = "bold"
    ) -> None:
        self._columns = [column for column in columns if is_wide or not column.is_wide]
        self._widths: list[int] = []
        self._shortened: Column[Row] | None = None
        self._is_wide = is_wide
        self._indent = indent
        self._title_style = title_style
        self._console = open_console() if sys.stdout.isatty() else None
        self._limit = shutil.get_terminal_size().columns - len(indent)

    def print(self, rows: Sequence[Row]) -> None:
        """Print a page at once. Control characters are escaped.

        The first page that is not empty has the titles above.
        """
        if rows and not self._widths:
            self._fit(rows)
            self._print([column.title for column in self._columns], [self._title_style] * len(self._columns))
        for row in rows:
            cells = [clean_cell(column.read(row)) for column in self._columns]
            styles = [
                column.style(cell) if column.style else "" for column, cell in zip(self._columns, cells, strict=True)
            ]
            self._print(cells, styles)
        sys.stdout.flush()

    def _fit(self, rows: Sequence[Row]) -> None:
        """Choose the columns and their widths. On a narrow terminal, the widths that the first page needs suffice."""
        columns = [(each.title, *(clean_cell(each.read(row)) for row in rows)) for each in self._columns]
        needed = [max(map(len, column)) for column in columns]
        self._widths = [max(column.width, width) for column, width in zip(self._columns, needed, strict=True)]
        if self._console is None:
            return
        if measure(self._widths[:-1]) > self._limit:
            self._widths = needed
        if not self._is_wide:
            self._narrow()

    def _narrow(self) -> None:
        """Leave out columns, the least important first, and then shorten one, as far as necessary and possible."""
        for dropped in sorted((each for each in self._columns if each.drop_rank), key=lambda each: -each.drop_rank):
            if measure(self._widths) <= self._limit:
                return
            self._widths.pop(self._columns.index(dropped))
            self._columns.remove(dropped)
        excess = measure(self._widths) - self._limit
        for position, column in enumerate(self._columns):
            if column.is_shortened and excess > 0 and self._widths[position] > _NARROWEST:
                self._shortened = column
                self._widths[position] = max(_NARROWEST, self._widths[position] - excess)

    def _print(self, cells: list[str], styles: Sequence[str]) -> None:
        if self._console is None:
            print(f"{self._indent}{GAP.join(_pad(cells, self._widths))}".rstrip())
            return
        # rich takes a tenth of a second to import. Pipes do not need it.
        from rich.text import Text  # noqa: PLC0415

        if self._shortened:
            position = self._columns.index(self._shortened)
            cells[position] = _shorten(cells[position], self._widths[position])
        for part in _fold_last(cells, self._widths, self._limit):
            padded = _pad(part, self._widths)
            texts = [Text(cell, style) for cell, style in zip(padded, styles, strict=True)]
            text = Text(self._indent) + Text(GAP).join(texts)
            text.rstrip()
            self._console.print(text, soft_wrap=True)


def build_columns(
    titles: Sequence[str], styles: Mapping[str, Callable[[str], str]] | None = None, widths: Sequence[int] = ()
) -> list[Column[Sequence[str]]]:
    """Return the columns of a table whose rows are sequences of cells.

    Args:
        titles: The titles of the columns.
        styles: The functions that return the style of a cell on a terminal, by the title of the column.
        widths: The minimum width of each column.
    """
    return [
        Column(title, itemgetter(position), width, style=(styles or {}).get(title))
        for position, (title, width) in enumerate(zip(titles, widths or [0] * len(titles), strict=True))
    ]


def print_table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Mapping[str, Callable[[str], str]] | None = None,
) -> None:
    """Print rows of cells below their titles. See `build_columns`."""
    Table(build_columns(titles, styles)).print(rows)


def measure(widths: Sequence[int]) -> int:
    """Return the width of a row with these columns."""
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _pad(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)]


def _shorten(cell: str, width: int) -> str:
    mark = "…" if is_unicode(sys.stdout) else "."
    return cell if len(cell) <= width else f"{cell[: width - 1]}{mark}"


def _fold_last(cells: Sequence[str], widths: Sequence[int], limit: int) -> list[list[str]]:
    """Return the lines of a row whose last cell continues below itself, or below the row if there is too little space.

    Args:
        cells: The cells of the row.
        widths: The widths of the columns.
        limit: The width of the terminal.
    """
    free = limit - measure([*widths[:-1], 0])
    empty = [""] * (len(cells) - 1)
    if len(cells[-1]) > free and free < _NARROWEST_FOLDED:
        parts = fold(cells[-1], limit - len(_INDENT))
        return [[*cells[:-1], ""], *([f"{_INDENT}{part}", *empty] for part in parts)]
    first, *others = fold(cells[-1], free)
    return [[*cells[:-1], first], *([*empty, part] for part in others)]


def fold(text: str, width: int) -> list[str]:
    """Return the lines of a text. It stays one line if the width is too small to read it in parts."""
    if len(text) <= width or width < _NARROWEST_FOLDED:
        return [text]
    return textwrap.wrap(text, width, break_on_hyphens=False) or [text]
