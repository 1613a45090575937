"""The wait of a task for capacity: its delays, its end, and its sentence."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_spark_operator.core.states.capacity_wait import CapacityWait

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
HOUR = 3600.0


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 30), (2, 60), (3, 120), (5, 480), (6, 600), (10**6, 600)], ids=str
)
def test_delay_doubles_up_to_ten_minutes(failures: int, seconds: int) -> None:
    assert CapacityWait(HOUR, failures=failures).delay == timedelta(seconds=seconds)


def test_wait_ends_after_its_limit_from_the_first_failure_on() -> None:
    first = CapacityWait(HOUR).add_failure(NOW)
    assert first == CapacityWait(HOUR, "2026-01-31T12:00:00+00:00", 1)
    second = first.add_failure(NOW + timedelta(minutes=59))
    assert second == CapacityWait(HOUR, "2026-01-31T12:00:00+00:00", 2)
    assert second.add_failure(NOW + timedelta(hours=1)) is None


def test_stored_wait_is_read_although_a_later_release_stored_it() -> None:
    wait = CapacityWait(HOUR, "2026-01-31T12:00:00+00:00", 2)
    assert CapacityWait.from_arguments({**asdict(wait), "later": 1}) == wait
    assert CapacityWait.from_arguments({"seconds": HOUR}) == CapacityWait(HOUR)


def test_sentence_names_the_next_submission_and_the_end_of_the_wait() -> None:
    wait = CapacityWait(HOUR).add_failure(NOW)
    assert wait is not None
    assert wait.describe(NOW) == (
        "the cluster has no room for the application; it is submitted again in 30s, at 2026-01-31 12:00:30 UTC, "
        "without using a retry. From 2026-01-31 13:00:00 UTC on, such a failure uses a retry (capacity_wait)"
    )
    assert "From 2026-01-31 13:00:00 UTC on" in CapacityWait(HOUR, failures=1).describe(NOW)
