import pytest

from airflow_provider_spark_operator.reconcile.objects.cache import ObjectKey
from airflow_provider_spark_operator.reconcile.objects.limits import (
    ReconcileLimit,
    ReconcileLimiter,
    RequestLimit,
    RequestLimiter,
)

PI, OTHER = ObjectKey("jobs", "pi"), ObjectKey("jobs", "other")


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_reconciles_per_period_are_limited(clock: Clock) -> None:
    limiter = ReconcileLimiter(ReconcileLimit(2, 15), clock)
    assert [limiter.reserve(PI), limiter.reserve(PI)] == [0, 0]
    clock.now += 5
    assert limiter.reserve(PI) == 10
    assert limiter.reserve(OTHER) == 0
    clock.now += 10
    assert [limiter.reserve(PI), limiter.reserve(PI), limiter.reserve(PI)] == [0, 0, 15]


@pytest.mark.parametrize("limit", [ReconcileLimit(), ReconcileLimit(0, 15), ReconcileLimit(-1, 15)])
def test_count_of_zero_or_less_is_no_limit(clock: Clock, limit: ReconcileLimit) -> None:
    limiter = ReconcileLimiter(limit, clock)
    assert [limiter.reserve(PI) for _ in range(100)] == [0] * 100
    assert len(limiter) == 0


def test_expired_periods_are_forgotten(clock: Clock) -> None:
    limiter = ReconcileLimiter(ReconcileLimit(1, 15), clock)
    for number in range(100):
        limiter.reserve(ObjectKey("jobs", str(number)))
        clock.now += 1
    assert len(limiter) == 15


def test_limit_counts_from_the_time_of_its_change(clock: Clock) -> None:
    limiter = ReconcileLimiter(ReconcileLimit(), clock)
    limiter.reserve(PI)
    limiter.limit = ReconcileLimit(1, 15)
    assert [limiter.reserve(PI), limiter.reserve(PI)] == [0, 15]
    limiter.limit = ReconcileLimit()
    assert limiter.reserve(PI) == 0


def test_requests_beyond_the_burst_wait(clock: Clock) -> None:
    limiter = RequestLimiter(RequestLimit(per_second=10, burst=2), clock)
    assert [limiter.reserve() for _ in range(4)] == pytest.approx([0, 0, 0.1, 0.2])
    clock.now += 0.2
    assert limiter.reserve() == pytest.approx(0.1)


def test_idle_time_fills_at_most_the_burst(clock: Clock) -> None:
    limiter = RequestLimiter(RequestLimit(per_second=10, burst=2), clock)
    clock.now += 3600
    assert [limiter.reserve() for _ in range(3)] == pytest.approx([0, 0, 0.1])


def test_burst_of_zero_permits_single_requests(clock: Clock) -> None:
    limiter = RequestLimiter(RequestLimit(per_second=10), clock)
    clock.now += 1
    assert [limiter.reserve() for _ in range(2)] == pytest.approx([0, 0.1])


def test_requests_without_a_limit_never_wait(clock: Clock) -> None:
    limiter = RequestLimiter(RequestLimit(), clock)
    assert [limiter.reserve() for _ in range(100)] == [0] * 100
