"""The columns of a table, and the table that is printed while its pages arrive."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from airflow_provider_spark_operator.cli.row_printer import RowPrinter

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
        style: Returns the style of a cell on a terminal, as rich names it, for example `cli.styles.style_state`.
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
