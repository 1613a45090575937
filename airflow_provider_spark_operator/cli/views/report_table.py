"""Print the rows of a report as a table, CSV or JSON."""

import csv
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from ...core.kubernetes.json_object import JsonObject, format_duration
from ...core.report.record_values import format_amount
from ...core.report.report_rows import GROUPS, NUMBERS, SPOT_COST, sum_up
from ..base.errors import print_note
from ..output.output import format_value
from ..output.tables import Column, Table, format_incomplete
from .application_columns import style_cell

_TOTAL: Final = "TOTAL"
# A spreadsheet reads a cell that begins with one of them as a formula. Anybody may write the annotations of a task.
_FORMULA: Final = ("=", "+", "-", "@")
_KEY: Final = "application"
_TEXTS: Final = (_KEY, "namespace", "dag", "task", "team", "outcome")
_TITLES: Final = {
    _KEY: "APPLICATION",
    "namespace": "NAMESPACE",
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
    "idleCoreHours": "IDLE CORE-H",
    "cost": "COST",
    SPOT_COST: "SPOT",
}
# The columns that a narrow terminal leaves out, the first one first.
_DROPPED: Final = (
    *(
        "idleCoreHours",
        "driverGibHours",
        "executorGibHours",
        "waitingSeconds",
        SPOT_COST,
        "task",
        "team",
        "dag",
        "driverCoreHours",
    ),
    "seconds",
    "namespace",
)
_WIDTHS: Final = {"cost": 14}  # a sum can be longer than the first rows


class ReportPrinter:
    """Prints pages of rows, then the sums of each group, and the sums of all.

    Args:
        output: `table`, `csv` or `json`. Only `json` keeps all rows until the end.
        by: The grouping, a key of `GROUPS`. None for no groups.
        nothing: The note if there are no rows.
        with_namespace: Whether a table shows the namespace.
    """

    def __init__(self, output: str, by: str | None, nothing: str, *, with_namespace: bool) -> None:
        self._output = output
        self._group = GROUPS[by] if by else ()
        self._nothing = nothing
        self._rows: list[JsonObject] = []
        self._sums = sum_up(())
        self._groups: dict[tuple[str, ...], JsonObject] = {}
        shown = [name for name in _TITLES if with_namespace or name != "namespace"]
        self._table = Table[JsonObject](_build_column(name, is_kept=name in self._group) for name in shown)
        self._csv = _CsvPrinter((*self._group, "runs", "failed") if by else _TEXTS)

    def print(self, rows: Sequence[JsonObject]) -> None:
        """Print a page. CSV with groups contains only these, because a sum is no row."""
        self._sums = sum_up([self._sums, *rows])
        for row in rows if self._group else ():
            key = tuple(row[name] or "" for name in self._group)
            self._groups[key] = sum_up([*([self._groups[key]] if key in self._groups else []), row])
        if self._output == "json":
            self._rows += rows
        elif self._output == "table":
            self._table.print(rows)
        elif not self._group:
            self._csv.print(rows)

    def finish(self) -> None:
        """Print the sums, and what they do not contain. CSV has no sum of all, so that it can be summed up again."""
        groups = [dict(zip(self._group, key, strict=True)) | self._groups[key] for key in sorted(self._groups)]
        if self._output == "json":
            members = {"applications": self._rows, **({"groups": groups} if self._group else {}), "total": self._sums}
            print(format_value(members, "json"), end="")
            return
        if self._output == "csv":
            self._csv.print(groups)
        elif self._sums["runs"]:
            named = [
                {_KEY: f"SUM {'/'.join(one[key] or f'(no {key})' for key in self._group)}", **one} for one in groups
            ]
            self._table.print([*named, {_KEY: _TOTAL, **self._sums}])
        if not self._sums["runs"]:
            print_note(self._nothing)
        for gap in self._sums["missing"]:
            runs = f"{gap['runs']} of {self._sums['runs']} runs"
            print_note(f"{gap['what']} unknown or incomplete in {runs}, for example: {gap['why']}")


class _CsvPrinter:
    """Prints rows as CSV, with titles above the first row."""

    def __init__(self, first: Sequence[str]) -> None:
        self._names = (*first, *NUMBERS, "currency", "incomplete", "missing")
        self._writer = csv.writer(sys.stdout, lineterminator="\n")
        self._has_titles = False

    def print(self, rows: Sequence[JsonObject]) -> None:
        if not self._has_titles:
            self._writer.writerow(self._names)
            self._has_titles = True
        self._writer.writerows([_format_csv(row.get(name)) for name in self._names] for row in rows)
        sys.stdout.flush()


def _build_column(name: str, *, is_kept: bool) -> Column[JsonObject]:
    return Column(
        _TITLES[name],
        _build_reader(name),
        _WIDTHS.get(name, 0),
        drop_rank=0 if is_kept or name not in _DROPPED else len(_DROPPED) - _DROPPED.index(name),
        is_key=name == _KEY,
        style=style_cell if name == "outcome" else None,
    )


def _build_reader(name: str) -> Callable[[JsonObject], str]:
    def read(row: JsonObject) -> str:
        value = row.get(name)
        if not isinstance(value, int | float):
            return str(value or "")
        if name == SPOT_COST:
            return f"{value / row['cost']:.0%}" if row["cost"] else ""
        is_time = name.lower().endswith("seconds")
        shown = format_duration(timedelta(seconds=value)) if is_time else format_amount(value)
        unit = f" {row['currency'] or ''}" if name == "cost" else ""
        return format_incomplete(f"{shown}{unit}", is_incomplete=name in row["incomplete"])

    return read


def _format_csv(value: object) -> object:
    if isinstance(value, list):
        return "; ".join(each if isinstance(each, str) else f"{each['what']}: {each['why']}" for each in value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
