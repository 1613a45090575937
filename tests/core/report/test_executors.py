"""The numbers of executors."""

import pytest

from airflow_provider_spark_operator.core.report.executors import ExecutorNumbers


@pytest.mark.parametrize(
    ("numbers", "absence"),
    [
        (ExecutorNumbers(0, 2, 2), "the driver runs, and 2 are starting"),
        (ExecutorNumbers(0, 2, 1), "the driver runs, and 1 is starting"),
        (ExecutorNumbers(0, 2, 0), "the driver runs, but no executor runs or is starting"),
        (ExecutorNumbers(1, 2, 1), ""),
        (ExecutorNumbers(0, 2), ""),
        (ExecutorNumbers(None, 2), ""),
    ],
)
def test_absence_of_executors_is_explained(numbers: ExecutorNumbers, absence: str) -> None:
    assert numbers.absence == absence
