"""What a progress says about the driver of its latest attempt."""

from datetime import UTC, datetime

import pytest

from airflow_provider_spark_operator.core.dialects.progress import (
    Phase,
    Progress,
    StateEntry,
    find_driver_period,
    had_driver,
    with_driver_deleted,
    with_driver_end,
    with_driver_lost,
)
from airflow_provider_spark_operator.core.reasons import (
    DRIVER_EVICTED,
    DRIVER_FAILED,
    DRIVER_INTERRUPTED,
    DRIVER_LOST,
    SUCCEEDED,
)
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.verdict import FailureKind, Outcome, judge_progress


def at(second: int) -> datetime:
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)


def seen(*states: str, kept: bool = False, means: ApplicationState | None = None) -> Progress:
    """The progress after these states, one second each."""
    history = tuple(StateEntry(state, at(second), means=means) for second, state in enumerate(states))
    return Progress(states[-1], Phase.ENDED, history=history, driver_kept=kept)


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (seen("Submitted", "DriverRequested", "Failed"), True),
        (seen("Submitted", "Failed"), False),
        (seen("Submitted", "SchedulingFailure"), False),
        (Progress("Failed", Phase.ENDED, driver_status={"phase": "Failed"}), True),
        (seen("COMPLETED", kept=True, means=ApplicationState.SUCCEEDED), True),
        (seen("FAILED", kept=True, means=ApplicationState.SCHEDULING_FAILURE), False),
        (seen("SUBMITTED", kept=True), False),
    ],
)
def test_driver_existed(progress: Progress, expected: bool) -> None:
    assert had_driver(progress) is expected


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (seen("Submitted", "DriverRequested", "RunningHealthy", "Succeeded"), (at(1), at(3))),
        (
            seen("Submitted", "DriverRequested", "Failed", "ScheduledToRestart", "DriverRequested", "Failed"),
            (at(4), at(5)),
        ),
        (seen("DriverRequested"), (at(0), None)),
        (seen("Submitted", "Failed"), (None, at(1))),
        (Progress("NEW", Phase.WAITING), (None, None)),
    ],
)
def test_period_is_that_of_the_latest_driver(
    progress: Progress, expected: tuple[datetime | None, datetime | None]
) -> None:
    assert find_driver_period(progress) == expected


def test_deleted_driver_is_an_interruption() -> None:
    progress = with_driver_deleted(seen("Submitted", "DriverRequested", "Failed", "ResourceReleased"))
    judged = judge_progress(progress)
    assert (judged.failure_kind, judged.reason) == (FailureKind.INFRASTRUCTURE, DRIVER_INTERRUPTED)
    assert judged.sentence == "Failed: the driver pod was deleted while it ran; retry."


@pytest.mark.parametrize("state", ["Succeeded", "DriverEvicted", "ResourceReleased"])
def test_deletion_changes_no_other_end(state: str) -> None:
    progress = seen("Submitted", "DriverRequested", state)
    assert with_driver_deleted(progress) is progress


@pytest.mark.parametrize(
    ("status", "outcome", "reason"),
    [
        ({"phase": "Succeeded"}, Outcome.SUCCEEDED, SUCCEEDED),
        ({"phase": "Failed", "reason": "Evicted"}, Outcome.FAILED, DRIVER_EVICTED),
        (
            {
                "phase": "Failed",
                "containerStatuses": [
                    {"name": "spark-kubernetes-driver", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}
                ],
            },
            Outcome.FAILED,
            DRIVER_FAILED,
        ),
    ],
)
def test_abandoned_driver_is_judged_by_its_own_end(status: dict[str, object], outcome: Outcome, reason: str) -> None:
    progress = Progress("FAILED", Phase.ENDED, driver_kept=True, driver_abandoned=True)
    judged = judge_progress(with_driver_end(progress, status))
    assert (judged.outcome, judged.reason) == (outcome, reason)


def test_abandoned_driver_that_disappeared_is_an_infrastructure_failure() -> None:
    progress = Progress("FAILED", Phase.RUNNING, driver_kept=True, driver_abandoned=True)
    judged = judge_progress(with_driver_lost(progress))
    assert (judged.outcome, judged.reason) == (Outcome.FAILED, DRIVER_LOST)
    assert judged.failure_kind is FailureKind.INFRASTRUCTURE
