"""Facts about the driver of the latest attempt, derived from the progress of an application."""

from datetime import UTC, datetime

import pytest

from airflow_provider_spark_operator.core.dialects.progress import (
    Phase,
    Progress,
    StateEntry,
    find_driver_period,
    had_driver,
    with_driver_deleted,
)
from airflow_provider_spark_operator.core.states.reasons import DRIVER_INTERRUPTED
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, judge_progress


def build_time(second: int) -> datetime:
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)


def build_progress(*states: str, driver_kept: bool = False, equivalent: ApplicationState | None = None) -> Progress:
    """Build the progress of an application that entered one state per second."""
    history = tuple(StateEntry(state, build_time(second), equivalent=equivalent) for second, state in enumerate(states))
    return Progress(states[-1], Phase.ENDED, history=history, driver_kept=driver_kept, driver_read=True)


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (build_progress("Submitted", "DriverRequested", "Failed"), True),
        (build_progress("Submitted", "Failed"), False),
        (build_progress("Submitted", "SchedulingFailure"), False),
        (Progress("Failed", Phase.ENDED, driver_status={"phase": "Failed"}), True),
        (build_progress("COMPLETED", driver_kept=True, equivalent=ApplicationState.SUCCEEDED), True),
        (build_progress("FAILED", driver_kept=True, equivalent=ApplicationState.SCHEDULING_FAILURE), False),
        (build_progress("SUBMITTED", driver_kept=True), False),
    ],
)
def test_driver_existed_if_it_was_requested_or_reported(progress: Progress, expected: bool) -> None:
    assert had_driver(progress) is expected


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (build_progress("Submitted", "DriverRequested", "RunningHealthy", "Succeeded"), (build_time(1), build_time(3))),
        (
            build_progress("Submitted", "DriverRequested", "Failed", "ScheduledToRestart", "DriverRequested", "Failed"),
            (build_time(4), build_time(5)),
        ),
        (build_progress("DriverRequested"), (build_time(0), None)),
        (build_progress("Submitted", "Failed"), (None, build_time(1))),
        (Progress("NEW", Phase.WAITING), (None, None)),
    ],
)
def test_driver_period_is_that_of_latest_driver(
    progress: Progress, expected: tuple[datetime | None, datetime | None]
) -> None:
    assert find_driver_period(progress) == expected


def test_deleted_driver_is_an_interruption() -> None:
    progress = with_driver_deleted(build_progress("Submitted", "DriverRequested", "Failed", "ResourceReleased"))
    verdict = judge_progress(progress)
    assert (verdict.failure_kind, verdict.reason) == (FailureKind.INFRASTRUCTURE, DRIVER_INTERRUPTED)
    assert verdict.sentence == "Failed: the driver pod was deleted while it ran; retry."


@pytest.mark.parametrize("state", ["Succeeded", "DriverEvicted", "ResourceReleased"])
def test_driver_deletion_does_not_change_other_results(state: str) -> None:
    progress = build_progress("Submitted", "DriverRequested", state)
    assert with_driver_deleted(progress) is progress
