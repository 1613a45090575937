import pytest

from airflow_provider_spark_operator.follow import outage_tolerance
from airflow_provider_spark_operator.follow.outage_tolerance import OutageTolerance
from airflow_provider_spark_operator.kube.errors import Unreachable

OUTAGE = Unreachable(None, "Unreachable", "down")


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(outage_tolerance, "time", clock)
    return clock


def fails_after(clock: Clock, subject: OutageTolerance, *pauses: float) -> bool:
    """Return whether failures with these pauses between them exhaust the tolerance."""
    try:
        for pause in pauses:
            clock.now += pause
            subject.record_failure(OUTAGE)
    except Unreachable:
        return True
    return False


def test_outage_within_the_tolerance_is_tolerated(clock: Clock) -> None:
    assert not fails_after(clock, OutageTolerance(100), 0, 50, 49)


def test_outage_longer_than_the_tolerance_is_raised(clock: Clock) -> None:
    assert fails_after(clock, OutageTolerance(100), 0, 50, 50)


def test_failures_far_apart_are_separate_outages(clock: Clock) -> None:
    assert not fails_after(clock, OutageTolerance(100), *[500] * 10)


def test_success_ends_an_outage(clock: Clock) -> None:
    subject = OutageTolerance(100)
    assert not fails_after(clock, subject, 0, 90)
    subject.record_success()
    assert not fails_after(clock, subject, 20, 90)


def test_failure_is_raised_at_once_without_tolerance(clock: Clock) -> None:
    assert fails_after(clock, OutageTolerance(0), 0)
