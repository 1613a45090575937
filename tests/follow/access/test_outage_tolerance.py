import asyncio

import pytest

from airflow_provider_spark_operator.follow.access import outage_tolerance
from airflow_provider_spark_operator.follow.access.outage_tolerance import (
    OUTAGE_MEMORY,
    OutageLog,
    OutageMemory,
    OutageTimes,
    OutageTolerance,
)
from airflow_provider_spark_operator.kube.errors import Unreachable

OUTAGE = Unreachable(None, "Unreachable", "down")


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
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


class Process:
    """A process that waits, and the store that it shares with the processes before and after it."""

    def __init__(self, stored: list[OutageTimes | None]) -> None:
        self.stored = stored
        self.memory = OutageMemory(self._load, self._save)
        OUTAGE_MEMORY.set(self.memory)
        self.tolerance = OutageTolerance(900)

    async def _load(self) -> OutageTimes | None:
        return self.stored[-1] if self.stored else None

    async def _save(self, times: OutageTimes | None) -> None:
        self.stored.append(times)

    async def fails(self) -> bool:
        """Record a failure, and let the store finish; return whether the tolerance is exhausted."""
        try:
            self.tolerance.record_failure(OUTAGE)
        except Unreachable:
            return True
        finally:
            await settle()
        return False


async def settle() -> None:
    """Let all tasks run that are ready."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_outage_continues_in_the_process_that_continues_the_wait(clock: Clock) -> None:
    stored: list[OutageTimes | None] = []
    assert not await Process(stored).fails()
    for _ in range(8):  # each process is replaced after 100 seconds
        clock.now += 100
        assert not await Process(stored).fails()
    clock.now += 99
    last = Process(stored)
    assert not await last.fails()
    clock.now += 1
    assert await last.fails()
    assert stored[-1] == (1000.0, 1899.0)


async def test_report_says_the_time_that_is_left_after_the_previous_process(clock: Clock) -> None:
    process, lines = Process([(clock.now - 877, clock.now - 10)]), list[str]()
    log = OutageLog("SparkApplication jobs/pi", lambda _, line: lines.append(line), process.tolerance)
    process.tolerance.record_failure(OUTAGE)
    await log.record_failure(OUTAGE)
    (line,) = lines
    assert line.startswith("SparkApplication jobs/pi: the Kubernetes API is not available: ")
    assert line.endswith("; retrying for up to 23 s")


async def test_report_does_not_wait_for_a_store_that_hangs(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage_tolerance, "_LONGEST_LOAD_SECONDS", 0.01)
    process, gate = Process([]), asyncio.Event()
    process.memory._load = lambda: gate.wait()  # type: ignore[assignment, return-value]
    process.tolerance.record_failure(OUTAGE)
    assert await process.tolerance.measure_rest() == 900
    process.memory.record_success()


async def test_outage_is_stored_once_a_minute(clock: Clock) -> None:
    stored: list[OutageTimes | None] = []
    process = Process(stored)
    for _ in range(13):
        await process.fails()
        clock.now += 10
    assert stored == [(1000.0, 1000.0), (1000.0, 1060.0), (1000.0, 1120.0)]


async def test_end_of_an_outage_is_stored(clock: Clock) -> None:
    stored: list[OutageTimes | None] = []
    process = Process(stored)
    await process.fails()
    process.tolerance.record_success()
    process.tolerance.record_success()
    await settle()
    clock.now += 1000
    assert not await process.fails()
    assert not await Process(stored).fails()
    assert stored == [(1000.0, 1000.0), None, (2000.0, 2000.0), (2000.0, 2000.0)]


async def test_outage_ends_even_while_the_store_is_slow(clock: Clock) -> None:
    process, gate = Process([]), asyncio.Event()
    assert not await process.fails()
    process.memory._save = lambda _: gate.wait()  # type: ignore[assignment, return-value]
    clock.now += 890
    assert not await process.fails()
    process.tolerance.record_success()
    await settle()
    clock.now += 20
    assert not await process.fails()
    gate.set()
    await settle()


async def test_nothing_is_stored_without_a_failure() -> None:
    stored: list[OutageTimes | None] = []
    Process(stored).tolerance.record_success()
    await settle()
    assert not stored


@pytest.mark.parametrize(("age", "pause"), [(300, 0), (60, 121)], ids=["old", "long after the start"])
async def test_times_of_an_earlier_outage_do_not_count(clock: Clock, age: float, pause: float) -> None:
    process = Process([(clock.now - age - 600, clock.now - age)])
    clock.now += pause
    assert not await process.fails()
    clock.now += 850
    assert process.memory.record_failure() == 850


async def test_memory_without_a_store_changes_nothing(clock: Clock) -> None:
    assert OUTAGE_MEMORY.get() is None
    assert fails_after(clock, OutageTolerance(100), 0, 50, 50)
