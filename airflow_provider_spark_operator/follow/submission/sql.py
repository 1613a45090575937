"""Turn SQL statements into a program: the script of a driver, and the file with the statements."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from ...core.compose.files import TASK_SCRIPT, LocalFile
from ...core.compose.sql import NO_FILE, SqlText, is_sql_file, split_statements
from ...core.kubernetes.problems import InvalidResource, Problem
from ...core.parameters.parameters import Parameters
from . import driver_script, sql_driver
from .shipment import read_files

ROWS: Final = "rows"
"""The output of an application whose result the task reads."""
_NO_MESSAGE: Final = "/dev/null"


def write_program(
    parameters: Parameters, folders: Sequence[str], output: str
) -> tuple[Parameters, tuple[LocalFile, ...]]:
    """Return the parameters with the program in place of the statements, and the files of the program.

    Args:
        parameters: The parameters, with SQL.
        folders: Folders to search for SQL files.
        output: What the driver does with the result of the last statement, see `sql_driver.run_statements`.

    Raises:
        InvalidResource: There is no statement, or a file is not text.
        FileUnavailable: A file does not exist or cannot be read.
    """
    given = parameters.sql or ()
    texts = [_read(text, folders) for text in ([given] if isinstance(given, str) else given)]
    statements = [
        {"text": one.text, "line": one.line, "file": getattr(text, "file", NO_FILE)}
        for text in texts
        for one in split_statements(text)
    ]
    if not statements:
        file = f"{given} " if isinstance(given, str) and is_sql_file(given) else ""
        raise InvalidResource([Problem("" if file else "sql", f"{file}contains no statement")])
    values = parameters.sql_parameters
    keywords: dict[str, object] = {
        "statements": statements,
        "parameters": dict(values) if isinstance(values, Mapping) else values,
        "output": output,
    }
    arguments = driver_script.render_arguments(sql_driver.run_statements.__name__, [], keywords, wants_spark=True)
    script = driver_script.render_script(Path(sql_driver.__file__).read_text(encoding="utf-8"))
    program = replace(
        parameters,
        sql=None,
        sql_parameters=None,
        py_file=TASK_SCRIPT,
        arguments=parameters.arguments or [_NO_MESSAGE, ""],
    )
    return program, driver_script.build_files(script, arguments)


def _read(text: str, folders: Sequence[str]) -> str:
    if not is_sql_file(text):
        return text
    (file,) = read_files([text], folders)
    try:
        return SqlText(file.content.decode(), text)
    except UnicodeDecodeError as error:
        raise InvalidResource([Problem("sql", f"could not read {text}: {error}. Save the file as UTF-8")]) from None
