"""Run verbs in the process of a test."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode


class Printed(NamedTuple):
    """What verbs print."""

    out: str
    err: str


class Verbs:
    """Runs verbs, and returns what they print.

    Args:
        capture: The captured output of the process.
    """

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, words: str | Sequence[str], expected: ExitCode | int = ExitCode.SUCCESS) -> Printed:
        """Run a verb, check its exit code, and return what was printed since the last call.

        Args:
            words: The words of the command, separated by spaces if it is a text.
            expected: The exit code.
        """
        code = main(words.split() if isinstance(words, str) else list(words))
        printed = Printed(*self._capture.readouterr())
        assert code == expected, printed.err
        return printed
