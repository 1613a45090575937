"""The function that the driver of SQL runs, on a session that returns prepared rows."""

import csv
import io
import json
from typing import Any

import pytest

from airflow_provider_spark_operator.core.log.root_cause import RootCause
from airflow_provider_spark_operator.follow.submission.sql_driver import (
    MARK,
    MAX_BYTES,
    MAX_LINE_BYTES,
    MAX_ROWS,
    run_statements,
)

pytest.importorskip("pyspark")


class Frame:
    """The result of a statement."""

    def __init__(self, session: "Session", rows: list[dict[str, Any]], columns: list[str]) -> None:
        self._session, self._rows, self.columns = session, rows, columns
        self.write = self

    def select(self, _: object) -> "Frame":
        return self

    def limit(self, number: int) -> "Frame":
        return Frame(self._session, self._rows[:number], self.columns)

    def collect(self) -> list[tuple[str]]:
        return [(json.dumps(row),) for row in self._rows]

    def format(self, _: str) -> "Frame":
        return self

    def mode(self, _: str) -> "Frame":
        return self

    def save(self) -> None:
        self._session.executed.append(self.columns)

    def show(self, number: int, truncate: bool) -> None:
        print("shown", number, truncate)


class AnalysisException(Exception):
    """An error of Spark."""


class Session:
    """Returns its rows for a SELECT, and no columns for other statements."""

    def __init__(self, rows: list[dict[str, Any]], columns: list[str] | None = None) -> None:
        self.rows, self.columns = rows, columns or ["a"]
        self.seen: list[tuple[str, object]] = []
        self.executed: list[list[str]] = []

    def sql(self, text: str, parameters: object = None) -> Frame:
        self.seen.append((text, parameters))
        if "missing" in text:
            raise AnalysisException("[TABLE_OR_VIEW_NOT_FOUND] The table `missing` cannot be found.\nLine 2\n\nLine 4")
        return Frame(self, self.rows, self.columns if text.startswith("SELECT") else [])


@pytest.fixture(autouse=True)
def functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a JVM, Spark builds no columns."""
    monkeypatch.setattr("pyspark.sql.functions.struct", lambda *_: None)
    monkeypatch.setattr("pyspark.sql.functions.to_json", lambda *_: None)


def run(session: Session, *texts: str, output: str = "", parameters: Any = None) -> Any:
    statements = [{"text": text, "line": number * 2, "file": "a.sql"} for number, text in enumerate(texts, 1)]
    return run_statements(statements, parameters, output, session)


def read_result(text: str) -> str:
    return "\n".join(line.removeprefix(MARK) for line in text.splitlines() if line.startswith(MARK))


def test_each_query_is_executed_and_parameters_are_bound(capsys: pytest.CaptureFixture[str]) -> None:
    session = Session([{"a": 1}])
    assert run(session, "SELECT 1", "DROP TABLE a", "SELECT 2", parameters={"x": 1}) is None
    assert session.seen == [(text, {"x": 1}) for text in ("SELECT 1", "DROP TABLE a", "SELECT 2")]
    assert session.executed == [["a"], ["a"]]
    assert "statement 2 in a.sql, line 4 (2 of 3)" in capsys.readouterr().out


def test_rows_are_returned_up_to_the_limit() -> None:
    rows = [{"a": number} for number in range(MAX_ROWS + 5)]
    assert run(Session(rows), "SELECT 1", output="rows") == {"rows": rows[:MAX_ROWS], "truncated": True}
    assert run(Session(rows[:3]), "SELECT 1", output="rows") == {"rows": rows[:3], "truncated": False}
    assert run(Session(rows), "DROP TABLE a", output="rows") == {"rows": [], "truncated": False}


def test_table_is_printed_by_spark(capsys: pytest.CaptureFixture[str]) -> None:
    run(Session([]), "DROP TABLE a", output="table")
    run(Session([]), "SELECT 1", output="table")
    assert capsys.readouterr().out == f"shown {MAX_ROWS} False\n"


def test_csv_and_json_contain_every_value(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"a": "x,\n'", "b": 1.50, "c": None, "d": {"e": [1]}}, {"a": "", "b": True, "c": 7, "d": None}]
    session = Session(rows, list("abcd"))
    run(session, "SELECT 1", output="json")
    assert json.loads(read_result(capsys.readouterr().out)) == rows
    run(session, "SELECT 1", output="csv")
    read = list(csv.reader(io.StringIO(read_result(capsys.readouterr().out))))
    assert read == [list("abcd"), ["x,\n'", "1.5", "", '{"e": ["1"]}'], ["", "true", "7", ""]]


def test_result_without_rows_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    run(Session([]), "SELECT 1", output="json")
    assert json.loads(read_result(capsys.readouterr().out)) == []


@pytest.mark.parametrize(
    ("output", "rows", "message"),
    [
        ("csv", [{"a": 1}] * (MAX_ROWS + 1), "ValueError: the result has more than 1000 rows: add LIMIT 1000"),
        ("json", [{"a": "x" * MAX_LINE_BYTES}], "ValueError: a row has more than 60000 bytes"),
        ("rows", [{"a": "x" * MAX_BYTES}], "ValueError: the result has 1048617 bytes as JSON, more than 1048576"),
    ],
)
def test_result_that_is_too_large_fails(
    capsys: pytest.CaptureFixture[str], output: str, rows: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(SystemExit):
        run(Session(rows), "SELECT 1", output=output)
    printed = capsys.readouterr().out
    assert message in printed
    assert read_result(printed) == ""


def test_repeated_column_names_fail(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(Session([], ["b", "a", "a"]), "SELECT 1", output="rows")
    assert "ValueError: the result has several columns named a: rename them with AS" in capsys.readouterr().out


def test_failure_names_the_statement_and_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(Session([]), "SELECT 1", "SELECT * FROM missing", "SELECT 2")
    assert caught.value.code == 1
    cause = RootCause()
    for line in capsys.readouterr().out.splitlines():
        cause.add(line)
    assert cause.located_sentence is not None
    assert cause.located_sentence.endswith(
        "AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] The table `missing` cannot be found (statement 2 in a.sql:4)"
    )
