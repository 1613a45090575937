from datetime import UTC, datetime

import click
import pytest

from airflow_provider_spark_operator.cli.base.ages import format_age, parse_duration


def test_age_is_the_time_since_a_timestamp_of_the_api() -> None:
    now = datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert format_age("2030-01-01T11:00:00Z", now) == "1h"
    assert format_age(None, now) == ""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("0.5", 0.5), ("90s", 90), ("15m", 900), ("2h30m", 9000), ("7d", 604_800), ("1w", 604_800)],
)
def test_duration_of_an_option_has_units(text: str, seconds: float) -> None:
    assert parse_duration(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "x", ".5", "1.5h", "nan", "5y", "-5s", "s", "5s5s", "1h5", "9" * 40 + "w", "٣s"])
def test_invalid_duration_is_a_usage_error(text: str) -> None:
    with pytest.raises(click.BadParameter, match="invalid duration"):
        parse_duration(text)
