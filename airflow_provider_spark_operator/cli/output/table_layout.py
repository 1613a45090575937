"""Fit the columns of a table to the width of a terminal."""

import textwrap
from collections.abc import Sequence
from typing import Final

GAP: Final = "   "
_INDENT: Final = "    "
_NARROWEST: Final = 12
_NARROWEST_FOLDED: Final = 24


def choose_columns(widths: Sequence[int], limit: int, dropped_first: Sequence[int]) -> list[int]:
    """Return the positions of the columns to show.

    Args:
        widths: The width of each column.
        limit: The width of the terminal.
        dropped_first: The positions of the columns that can be left out, in this order, until the rest fits.
    """
    shown = list(range(len(widths)))
    for position in dropped_first:
        if measure([widths[each] for each in shown]) <= limit:
            break
        shown.remove(position)
    return shown


def narrow(widths: Sequence[int], position: int, limit: int) -> int:
    """Return the width of one column, reduced as far as necessary and possible for the table to fit the terminal."""
    excess = measure(widths) - limit
    return min(widths[position], max(_NARROWEST, widths[position] - excess)) if excess > 0 else widths[position]


def measure(widths: Sequence[int]) -> int:
    """Return the width of a row with these columns."""
    return sum(widths) + len(GAP) * (len(widths) - 1)


def shorten(cell: str, width: int, *, unicode: bool = True) -> str:
    """Return a cell that fits the width."""
    mark = "…" if unicode else "."
    return cell if len(cell) <= width else f"{cell[: width - 1]}{mark}"


def fold_last(cells: Sequence[str], widths: Sequence[int], limit: int) -> list[list[str]]:
    """Return the lines of a row whose last cell continues below itself, or below the row if there is too little space.

    Args:
        cells: The cells of the row.
        widths: The widths of the columns.
        limit: The width of the terminal.
    """
    free = limit - sum(widths[:-1]) - len(GAP) * (len(widths) - 1)
    empty = [""] * (len(cells) - 1)
    if len(cells[-1]) > free and free < _NARROWEST_FOLDED:
        parts = fold(cells[-1], limit - len(_INDENT))
        return [[*cells[:-1], ""], *([f"{_INDENT}{part}", *empty] for part in parts)]
    parts = fold(cells[-1], free)
    return [[*cells[:-1], parts[0]], *([*empty, part] for part in parts[1:])]


def fold(text: str, width: int) -> list[str]:
    """Return the lines of a text. It stays one line if the width is too small to read it in parts."""
    if len(text) <= width or width < _NARROWEST_FOLDED:
        return [text]
    return textwrap.wrap(text, width, break_on_hyphens=False) or [text]
