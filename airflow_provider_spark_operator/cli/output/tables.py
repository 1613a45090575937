"""Print tables: rows below one line of titles, aligned with spaces, so that `awk` and `cut` can read them.

On a terminal, columns are left out or shortened if a row does not fit, and the last column continues below itself.
`-o wide` leaves out nothing: what does not fit stands below the row. Pipes get all columns, one line for each row.
"""

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import itemgetter
from typing import Final, Generic, TypeVar

from ..base.streams import is_unicode, paint
from .output import clean_cell

GAP: Final = "   "
_INDENT: Final = "    "
_UNBROKEN: Final = "\xa0"
NARROWEST: Final = 12
_NARROWEST_FOLDED: Final = 20
# A longer key stands on its own line: at first, and if columns do not fit nevertheless.
WIDEST_KEYS: Final = (40, 26)

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table.

    Attributes:
        title: The title, in capital letters.
        read: Returns the cell of a row. An empty cell is shown as `-`.
        width: The minimum width of the column. The rows of later pages may be longer than those of the first.
        is_wide: Whether only `-o wide` shows the column.
        drop_rank: Whether a narrow terminal leaves the column out: 0 only if it is empty, otherwise the highest first.
        is_shortened: Whether a narrow terminal shortens the cells. At most one column of a table.
        is_key: Whether a long cell stands on its own line on a narrow terminal, so that it is never shortened.
        replaced_by: The title of the next column, whose cell a narrow terminal shows instead unless it is empty.
        style: Returns the style of a cell on a terminal, as `paint` names it, for example `style_state`.
    """

    title: str
    read: Callable[[Row], str]
    width: int = 0
    is_wide: bool = False
    drop_rank: int = 0
    is_shortened: bool = False
    is_key: bool = False
    replaced_by: str = ""
    style: Callable[[str], str] | None = None


class Table(Generic[Row]):
    """Prints pages of rows. The first page decides the widths of the columns.

    Args:
        columns: The columns.
        is_wide: Whether to show the columns of `-o wide`, and to leave out none.
        indent: The blanks before each line.
        title_style: The style of the titles on a terminal.
    """

    def __init__(
        self, columns: Iterable[Column[Row]], *, is_wide: bool = False, indent: str = "", title_style: str = "bold"
    ) -> None:
        self._columns = [column for column in columns if is_wide or not column.is_wide]
        self._below: list[Column[Row]] = []
        self._widths: list[int] = []
        self._shortened: Column[Row] | None = None
        self._is_last_below = False
        self._is_wide = is_wide
        self._indent = indent
        self._title_style = title_style
        self._is_terminal = sys.stdout.isatty()
        self._limit = shutil.get_terminal_size().columns - len(indent)

    def print(self, rows: Sequence[Row]) -> None:
        """Print a page at once. Control characters are escaped.

        The first page that is not empty has the titles above.
        """
        if rows and not self._widths:
            self._fit(rows)
            self._print([column.title for column in self._columns], [self._title_style] * len(self._columns))
            last = [clean_cell(self._columns[-1].read(row)) for row in rows if not self._columns[-1].is_shortened]
            self._is_last_below = any(_is_too_long(cell, self._widths, self._limit) for cell in last)
        for row in rows:
            cells = [clean_cell(column.read(row)) for column in self._columns]
            styles = [
                column.style(cell) if column.style else "" for column, cell in zip(self._columns, cells, strict=True)
            ]
            self._print(cells, styles)
            self._print_below(row)
        sys.stdout.flush()

    def _fit(self, rows: Sequence[Row]) -> None:
        """Choose the columns and their widths. On a narrow terminal, the widths that the first page needs suffice."""
        needed = self._measure(rows)
        self._widths = [max(column.width, width) for column, width in zip(self._columns, needed, strict=True)]
        if not self._is_terminal:
            return
        if measure(self._widths[:-1]) > self._limit:
            self._widths = needed
        for _ in self._concede(rows):
            if self._find_excess() <= 0:
                return
        excess = self._find_excess(folded=0)
        for position, column in enumerate(self._columns):
            if column.is_shortened and excess > 0 and self._widths[position] > NARROWEST:
                self._shortened = column
                self._widths[position] = max(NARROWEST, self._widths[position] - excess)

    def _measure(self, rows: Sequence[Row]) -> list[int]:
        return [max(len(each.title), *(len(clean_cell(each.read(row))) for row in rows)) for each in self._columns]

    def _find_excess(self, folded: int = _NARROWEST_FOLDED) -> int:
        """Return by how much rows are too wide if the last column is folded to a width, unless it is made narrower."""
        (*others, last), column = self._widths, self._columns[-1]
        is_narrowed = column.drop_rank or column.is_shortened
        return measure([*others, last if is_narrowed else min(last, folded)]) - self._limit

    def _concede(self, rows: Sequence[Row]) -> Iterator[None]:
        """Make rows narrower, the least important columns first. Yield after each step."""
        yield
        for column in [each for each in self._columns if each.is_wide]:
            self._leave_out(column)
        yield
        for column in [each for each in self._columns if each.replaced_by]:
            self._replace(column, rows)
            yield
        for column in [each for each in self._columns if not any(each.read(row) for row in rows)]:
            self._leave_out(column)
            yield
        self._limit_keys(WIDEST_KEYS[0])
        yield
        for column in sorted((each for each in self._columns if each.drop_rank), key=lambda each: -each.drop_rank):
            self._leave_out(column)
            yield
        self._limit_keys(WIDEST_KEYS[1])
        yield

    def _leave_out(self, column: Column[Row], instead: Column[Row] | None = None) -> None:
        """Leave a column out, or show it below each row. `instead`: how it is shown there."""
        if len(self._columns) > 1:
            self._widths.pop(self._columns.index(column))
            self._columns.remove(column)
            self._below += [instead or column] if self._is_wide else []

    def _replace(self, column: Column[Row], rows: Sequence[Row]) -> None:
        """Leave out a column that the next one replaces."""
        other = self._columns[self._columns.index(column) + 1]
        replaced = replace(column, read=lambda row: column.read(row) if other.read(row) else "")
        merged = replace(column, read=lambda row: other.read(row) or column.read(row), replaced_by="")
        self._leave_out(column, replaced)
        self._columns[self._columns.index(other)] = merged
        self._widths = self._measure(rows)

    def _limit_keys(self, width: int) -> None:
        pairs = zip(self._columns, self._widths, strict=True)
        self._widths = [min(needed, width) if column.is_key else needed for column, needed in pairs]

    def _print(self, cells: list[str], styles: Sequence[str]) -> None:
        if not self._is_terminal:
            self._print_line(cells, styles)
            return
        if self._shortened:
            position = self._columns.index(self._shortened)
            cells[position] = _shorten(cells[position], self._widths[position])
        for key, column in enumerate(self._columns, 1):
            if column.is_key and len(cells[key - 1]) > self._widths[key - 1]:
                self._print_line(cells[:key], styles)
                cells[:key] = [""] * key
        for part in _fold_last(cells, self._widths, self._limit, is_below=self._is_last_below and cells[-1] != "-"):
            self._print_line(part, styles)

    def _print_line(self, cells: Sequence[str], styles: Sequence[str]) -> None:
        texts = [
            f"{paint(cell, style, sys.stdout)}{' ' * (width - len(cell))}"
            for cell, style, width in zip(cells, styles, self._widths, strict=False)
        ]
        print(f"{self._indent}{GAP.join(texts)}".rstrip())

    def _print_below(self, row: Row) -> None:
        """Print the cells of the columns that do not fit, each after its title."""
        pairs = [f"{column.title} {clean_cell(cell)}" for column in self._below if (cell := column.read(row))]
        text = GAP.join(pair.replace(" ", _UNBROKEN) for pair in pairs)
        for line in fold(text, self._limit - len(_INDENT)) if pairs else ():
            self._print_line([f"{_INDENT}{line.replace(_UNBROKEN, ' ')}"], ["dim"])


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
    titles: Sequence[str], rows: Sequence[Sequence[str]], styles: Mapping[str, Callable[[str], str]] | None = None
) -> None:
    """Print rows of cells below their titles. See `build_columns`."""
    Table(build_columns(titles, styles)).print(rows)


def measure(widths: Sequence[int]) -> int:
    """Return the width of a row with these columns."""
    return sum(widths) + len(GAP) * (len(widths) - 1)


def cut_pair(first: str, second: str, width: int) -> tuple[str, str]:
    """Return two cells of at most a width. The cut leaves their first difference, or their ends if they are equal."""
    equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    start = max(0, min(equal - width // 3, max(len(first), len(second)) - width))
    mark = _get_mark() if start else ""
    one, other = (_shorten(mark + text[start + len(mark) :], width) for text in (first, second))
    return one, other


def _get_mark() -> str:
    return "…" if is_unicode(sys.stdout) else "."


def _shorten(cell: str, width: int) -> str:
    return cell if len(cell) <= width else f"{cell[: width - 1]}{_get_mark()}"


def _is_too_long(cell: str, widths: Sequence[int], limit: int) -> bool:
    """Return whether the words of a last cell do not fit after the other cells."""
    free = limit - measure([*widths[:-1], 0])
    return len(cell) > free and free < max(_NARROWEST_FOLDED, *map(len, cell.split()))


def _fold_last(cells: Sequence[str], widths: Sequence[int], limit: int, *, is_below: bool) -> list[list[str]]:
    """Return the lines of a row whose last cell continues below itself, or below the row if its words do not fit.

    Args:
        cells: The cells of the row.
        widths: The widths of the columns.
        limit: The width of the terminal.
        is_below: Whether the last cell stands below the row in any case, as in the other rows.
    """
    empty = [""] * (len(cells) - 1)
    if is_below or _is_too_long(cells[-1], widths, limit):
        parts = fold(cells[-1], limit - len(_INDENT)) if cells[-1] else []
        return [[*cells[:-1], ""], *([f"{_INDENT}{part}", *empty] for part in parts)]
    first, *others = fold(cells[-1], limit - measure([*widths[:-1], 0]))
    return [[*cells[:-1], first], *([*empty, part] for part in others)]


def fold(text: str, width: int) -> list[str]:
    """Return the lines of a text. A word that is too long stays whole, so that it can be copied.

    The text stays one line if the width is too small to read it in parts.
    """
    if len(text) <= width or width < _NARROWEST_FOLDED:
        return [text]
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [text]


def format_incomplete(amount: str, *, is_incomplete: bool) -> str:
    """Return a formatted amount, with `≥` before it if it is incomplete."""
    return f"{'≥' if is_unicode(sys.stdout) else '>='}{amount}" if amount and is_incomplete else amount
