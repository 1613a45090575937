"""Whether the streaming queries of an application make progress, from what its job reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from ..kubernetes.times import format_duration
from .job_report import JobReport, Scalar

_FIRST_SECONDS: Final = 5.0
_SECONDS: Final = 30.0
"""The pause between two checks. A job reports as often, see `spark_task.py`."""
WINDOW: Final = timedelta(seconds=2 * _SECONDS + 5)
"""The part of the log that a check reads."""


@dataclass(frozen=True)
class StreamGoal:
    """The expectations of a task about its streaming queries.

    Attributes:
        ends_at_progress: Whether the task ends when a query has made progress.
        stalled_seconds: The age of the latest progress from which the queries count as stalled.
        ends_stalled: Whether the task ends a stalled application.
        continues: Whether the application replaces an earlier version, whose checkpoint it continues.
    """

    ends_at_progress: bool = False
    stalled_seconds: float = 600.0
    ends_stalled: bool = False
    continues: bool = False


class StreamHealth:
    """The health of the queries of one application. Times are seconds of a monotonic clock.

    Args:
        goal: What the task expects.
        now: The time.

    Attributes:
        reached: The progress with which the task ends. None before it, or if the task does not end with it.
        stalled: Why the application must be ended. None if it must not.
    """

    def __init__(self, goal: StreamGoal, now: float) -> None:
        self._goal = goal
        self._latest: Mapping[str, Mapping[str, Scalar]] = {}
        self._progress = now
        self._has_warned = False
        self.reached: str | None = None
        self.stalled: str | None = None

    @property
    def pause(self) -> float:
        """The seconds until the next check."""
        has_batch = any(query.get("batch") is not None for query in self._latest.values())
        return min(_SECONDS if has_batch else _FIRST_SECONDS, self._goal.stalled_seconds)

    def check(self, report: JobReport | None, now: float) -> str | None:
        """Note what the job has reported lately. Return a warning; None if there is none.

        Args:
            report: The report. None if no driver runs, or if its log could not be read.
            now: The time.
        """
        if report is None:
            self._progress = now
            return None
        if {**self._latest, **report.queries} != self._latest:  # two reads of a log overlap
            return self._note(report, now)
        age = now - self._progress
        if age < self._goal.stalled_seconds or self._has_warned:
            return None
        self._has_warned = True
        since = format_duration(timedelta(seconds=int(age)))
        missing = "its queries have made no progress" if self._latest else "its job has reported no progress of a query"
        sentence = f"is stalled: {missing} for {since}"
        if self._goal.ends_stalled:
            self.stalled = sentence
        return sentence

    def _note(self, report: JobReport, now: float) -> str | None:
        before, has_recovered = self._latest, self._has_warned
        self._latest, self._progress, self._has_warned = {**self._latest, **report.queries}, now, False
        if self._goal.ends_at_progress and any(query.get("batch") is not None for query in report.queries.values()):
            self.reached = JobReport(queries=report.queries).describe()
        began = {name: query.get("first") for name, query in report.queries.items()}
        lost = [name for name, first in began.items() if first == 0 and before.get(name, {}).get("first") is None]
        if self._goal.continues and lost:
            return (
                f"replaces an earlier version, but its query {lost[0]} began with batch 0: the checkpoint is lost, or "
                "checkpointLocation has changed. All data that the source still has are processed again"
            )
        return "makes progress again" if has_recovered else None


def read_goal(arguments: Mapping[str, Any]) -> StreamGoal:
    """Return the goal from the stored arguments of a trigger. Unknown ones are ignored."""
    known = {name: value for name, value in arguments.items() if name in StreamGoal.__dataclass_fields__}
    return StreamGoal(**known)
