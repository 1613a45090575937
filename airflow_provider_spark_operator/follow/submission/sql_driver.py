"""The function that the driver of SQL statements runs.

The source of this module is shipped to the driver, so it uses only the standard library and PySpark.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

MAX_ROWS = 1000
MAX_BYTES = 1024 * 1024
"""Limit of a result as JSON. Airflow stores XComs in its database."""
MAX_LINE_BYTES = 60_000
"""Limit of a printed row. The readers of logs shorten longer lines."""
MARK = "airflow-result: "
"""The beginning of each line that belongs to a result in the formats of programs."""

_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def run_statements(
    statements: Sequence[Mapping[str, Any]],
    parameters: dict[str, Any] | list[Any] | None,
    output: str,
    spark: SparkSession,
) -> dict[str, Any] | None:
    """Run the statements one after another. If one fails, print its error with its place, and exit.

    Args:
        statements: The text of each statement, the name of its file, and its first line.
        parameters: Values of the parameter markers.
        output: What to do with the result of the last statement: print it as `table`, `csv` or `json`, return its
            `rows`, or nothing if it is empty.
        spark: The session.
    """
    for number, statement in enumerate(statements, 1):
        place = f"statement {number} in {statement['file']}"
        is_last = number == len(statements)
        if not output or output == "rows":
            print(f"{place}, line {statement['line']} ({number} of {len(statements)})", flush=True)
        try:
            frame = spark.sql(statement["text"], parameters) if parameters else spark.sql(statement["text"])
            result = _finish(frame, output if is_last else "")
        except Exception as error:
            # The cause of a failure in the log is this error, with the place in the SQL file.
            print(f'Traceback (most recent call last):\n  File "{place}", line {statement["line"]}, in <module>')
            print("".join(traceback.format_exception_only(type(error), error)), flush=True)
            sys.exit(1)
    return result


def _finish(frame: DataFrame, output: str) -> dict[str, Any] | None:
    """Run a query, which Spark has only analyzed so far, and print or return its rows."""
    if output == "table":
        if frame.columns:
            frame.show(MAX_ROWS, truncate=False)
    elif output:
        return _deliver(_read_rows(frame) if frame.columns else [], frame.columns, output)
    elif frame.columns:
        frame.write.format("noop").mode("overwrite").save()
    return None


def _read_rows(frame: DataFrame) -> list[str]:
    """Return the first rows as JSON, one more than the limit."""
    from pyspark.sql import functions  # noqa: PLC0415 - only the driver has PySpark

    repeated = sorted({name for name in frame.columns if frame.columns.count(name) > 1})
    if repeated:
        raise ValueError(f"the result has several columns named {', '.join(repeated)}: rename them with AS")
    column = functions.to_json(functions.struct("*"), _OPTIONS)
    return [row[0] for row in frame.select(column).limit(MAX_ROWS + 1).collect()]


def _deliver(rows: list[str], columns: list[str], output: str) -> dict[str, Any] | None:
    truncated = len(rows) > MAX_ROWS
    if output == "rows":
        value = {"rows": [json.loads(row) for row in rows[:MAX_ROWS]], "truncated": truncated}
        size = len(json.dumps(value))
        if size > MAX_BYTES:
            raise ValueError(
                f"the result has {size} bytes as JSON, more than {MAX_BYTES}: select less, or write it to a table"
            )
        return value
    if truncated:
        raise ValueError(
            f"the result has more than {MAX_ROWS} rows: add LIMIT {MAX_ROWS}, or write it to a table or a file"
        )
    text = _format_csv(rows, columns) if output == "csv" else "[" + ",\n".join(["", *rows])[1:] + "\n]"
    lines = text.split("\n")
    if any(len(line.encode()) > MAX_LINE_BYTES for line in lines):
        raise ValueError(f"a row has more than {MAX_LINE_BYTES} bytes: select less, or write the result to a file")
    print("\n".join(MARK + line for line in lines), flush=True)
    return None


def _format_csv(rows: list[str], columns: list[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        # Numbers keep all their digits as text.
        values = json.loads(row, parse_float=str, parse_int=str).values()
        writer.writerow([one if one is None or isinstance(one, str) else json.dumps(one) for one in values])
    return text.getvalue().rstrip("\n")
