"""How a command that cannot go on says so: one clear sentence on stderr, and an exit code."""

import os
import sys
from typing import TextIO

from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.streams import discard

_RED = "\033[31m"
_PLAIN = "\033[0m"


class CommandError(Exception):
    """Ends a command; str() is what the user reads, without the program's name before it."""

    def __init__(self, message: str, exit_code: ExitCode) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def print_error(message: str, stream: TextIO | None = None) -> None:
    """Print an error, each line under the program's name; in colour on a terminal unless NO_COLOR is set."""
    stream = stream or sys.stderr
    colour = stream.isatty() and not os.environ.get("NO_COLOR")
    label = f"{_RED}error:{_PLAIN}" if colour else "error:"
    for line in message.splitlines() or [""]:
        _print(f"spark-operator: {label} {line}", stream)


def print_note(message: str, stream: TextIO | None = None) -> None:
    """Print what is worth knowing but no result: to stderr, like everything that is none."""
    _print(f"spark-operator: {message}", stream or sys.stderr)


def _print(line: str, stream: TextIO) -> None:
    """Print a line; if the stream cannot take it, as after its terminal was closed, the command goes on without."""
    try:
        print(line, file=stream, flush=True)
    except OSError:
        discard(stream)
