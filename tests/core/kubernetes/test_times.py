from datetime import timedelta

import pytest

from airflow_provider_spark_operator.core.kubernetes.times import format_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (-5, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (303, "5m3s"),
        (7200, "2h"),
        (183_600, "2d3h"),
        (90_000, "1d1h"),
    ],
)
def test_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == text
