"""The table of a report on a terminal."""

from typing import Any

import pytest

from airflow_provider_spark_operator.cli.applications.report import ReportPrinter
from airflow_provider_spark_operator.core.report.report_rows import build_row
from tests.cli.output.test_tables import open_terminal
from tests.core.report.test_prices import TABLE, build, build_pods

GAPS = [{"what": "executors", "why": "their pods were deleted"}]


def build_rows() -> list[dict[str, Any]]:
    row = build_row(build(TABLE, build_pods()) | {"missing": GAPS}) | {"namespace": "production"}
    task = {"application": "daily-report-of-sales-a1b2c3", "dag": "sales", "task": "load", "team": "finance"}
    return [row | {"cost": 0.0041, "spotCost": 0.0}, row | task | {"cost": 99_999.5, "spotCost": 9_999.95}] * 2


@pytest.mark.parametrize(
    ("columns", "by", "kept"),
    [
        (80, None, ["OUTCOME", "EXEC CORE-H", "COST"]),
        (80, "dag", ["DAG", "OUTCOME", "EXEC CORE-H", "COST"]),
        (100, None, ["NAMESPACE", "OUTCOME", "DURATION", "EXEC CORE-H", "COST"]),
        (250, None, ["NAMESPACE", "DAG", "TASK", "TEAM", "WAITING", "EXEC GIB-H", "COST"]),
    ],
)
def test_each_row_is_one_line_that_fits_the_terminal(
    columns: int, by: str | None, kept: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = open_terminal(monkeypatch, columns)
    printer = ReportPrinter("table", by, "", with_namespace=columns >= 100)
    printer.print(build_rows())
    printer.finish()
    titles, *lines = terminal.getvalue().splitlines()
    assert all(title in titles for title in kept)
    assert max(map(len, lines)) <= columns
    assert len(lines) == 4 + (2 if by else 0) + 1, "the rows, the groups, and the sum"
    assert "≥0.0041 EUR" in lines[0]


def test_columns_without_values_are_left_out_first(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch, 115)
    printer = ReportPrinter("table", None, "", with_namespace=False)
    printer.print(build_rows()[:1])
    titles = terminal.getvalue().splitlines()[0]
    assert not {"NAMESPACE", "DAG", "TASK", "TEAM"} & {*titles.split()}
    assert {"WAITING", "DURATION"} < {*titles.split()}


def test_spot_column_shows_the_share_of_the_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch, 250)
    ReportPrinter("table", None, "", with_namespace=False).print(build_rows()[:2])
    assert [line.split()[-1] for line in terminal.getvalue().splitlines()] == ["SPOT", "0%", "10%"]
