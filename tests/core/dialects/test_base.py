"""Shortened messages with Java exceptions."""

import pytest

from airflow_provider_spark_operator.core.dialects.base import shorten_java_message

ERROR = 'Exception in thread "main" a.B: no\n\tat c.D\nCaused by: e.F: why\n\tat g.H'


@pytest.mark.parametrize(
    ("message", "expected"),
    [(ERROR, "a.B: no: e.F: why"), (f"failed to run: INFO start\n{ERROR}", "failed to run: a.B: no: e.F: why")],
)
def test_uncaught_exception_is_shortened_to_its_error_and_cause(message: str, expected: str) -> None:
    assert shorten_java_message(message) == expected
