"""Print the rows of a report as a table, CSV or JSON."""

import csv
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.times import format_duration
from ..base.errors import print_note
from ..output.output import format_value
from ..output.tables import Column, Table

_TOTAL: Final = "TOTAL"
# A spreadsheet reads a cell that begins with one of them as a formula. Anybody may write the annotations of a task.
_FORMULA: Final = ("=", "+", "-", "@")
_TITLES: Final = {
    "namespace": "NAMESPACE",
    "application": "APPLICATION",
    "dag": "DAG",
    "task": "TASK",
    "team": "TEAM",
    "outcome": "OUTCOME",
    "seconds": "DURATION",
    "waitingSeconds": "WAITING",
    "driverCoreHours": "DRIVER CORE-H",
    "driverGibHours": "DRIVER GIB-H",
    "executorCoreHours": "EXEC CORE-H",
    "executorGibHours": "EXEC GIB-H",
    "cost": "COST",
}


class ReportPrinter:
    """Prints pages of rows, and then their sums.

    Args:
        output: `table`, `csv` or `json`. Only `json` keeps all rows until the end.
        names: The members of the rows, in order. The table omits `currency`, which stands after the cost.
        list_name: The member of the JSON output with the rows.
        nothing: The note if there are no rows.
    """

    def __init__(self, output: str, names: Sequence[str], list_name: str, nothing: str) -> None:
        self._output = output
        self._names = names
        self._list_name = list_name
        self._nothing = nothing
        self._rows: list[JsonObject] = []
        shown = [name for name in names if name in _TITLES]
        columns = [Column(_TITLES[name], _build_reader(name), is_key=name == shown[0]) for name in shown]
        self._table = Table[JsonObject](columns, is_wide=True)
        self._csv = csv.writer(sys.stdout, lineterminator="\n") if output == "csv" else None
        self._has_titles = False

    def print(self, rows: Sequence[JsonObject]) -> None:
        """Print a page."""
        if self._csv:
            if not self._has_titles:
                self._csv.writerow(self._names)
                self._has_titles = True
            self._csv.writerows([_format_csv(row.get(name)) for name in self._names] for row in rows)
            sys.stdout.flush()
        elif self._output == "json":
            self._rows += rows
        else:
            self._table.print(rows)

    def finish(self, sums: JsonObject) -> None:
        """Print the sums, and what they do not contain. CSV has only rows, so that it can be summed up again."""
        if self._output == "json":
            print(format_value({self._list_name: self._rows, "total": sums}, "json"), end="")
            return
        if not sums["runs"]:
            print_note(self._nothing)
        elif not self._csv:
            self._table.print([{self._names[0]: _TOTAL, **sums}])
        for gap in sums["missing"]:
            runs = f"{gap['runs']} of {sums['runs']} runs"
            print_note(f"{gap['what']} is not known, or incomplete, in {runs}, for example: {gap['why']}")


def _build_reader(name: str) -> Callable[[JsonObject], str]:
    def read(row: JsonObject) -> str:
        value = row.get(name)
        if isinstance(value, int | float) and name.lower().endswith("seconds"):
            return format_duration(timedelta(seconds=value))
        if isinstance(value, float):
            value = f"{value:.3f}"
        return "" if value is None else f"{value} {row['currency'] or ''}" if name == "cost" else str(value)

    return read


def _format_csv(value: object) -> object:
    if isinstance(value, list):
        return "; ".join(f"{gap['what']}: {gap['why']}" for gap in value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
