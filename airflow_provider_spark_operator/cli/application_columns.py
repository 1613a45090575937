"""The columns of a table of applications."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from airflow_provider_spark_operator.cli.ages import format_duration
from airflow_provider_spark_operator.cli.styles import style_state
from airflow_provider_spark_operator.core.report.summary import ApplicationSummary
from airflow_provider_spark_operator.core.verdict import Outcome


@dataclass(frozen=True)
class SummaryColumn:
    """A column of a table of applications.

    Attributes:
        title: The title, in capital letters.
        read: Returns the cell of an application. An empty cell is shown as `-`.
        width: The width of the column at least. The rows of later pages may be longer than those of the first.
        is_wide: Whether only `-o wide` shows the column.
        style: Returns the style of a cell on a terminal.
    """

    title: str
    read: Callable[[ApplicationSummary], str]
    width: int = 0
    is_wide: bool = False
    style: Callable[[str], str] | None = None


def choose_columns(*, with_namespace: bool, is_wide: bool) -> Sequence[SummaryColumn]:
    """Return the columns to show.

    Args:
        with_namespace: Whether to show the namespace.
        is_wide: Whether to show the columns of `-o wide`.
    """
    shown = [column for column in _COLUMNS if is_wide or not column.is_wide]
    return [_NAMESPACE, *shown] if with_namespace else shown


def describe_outcome(summary: ApplicationSummary) -> str:
    """Return how an application ended: `Succeeded`, `Failed (application)`; empty if it has not ended."""
    verdict = summary.verdict
    if verdict.outcome is Outcome.WAITING:
        return ""
    return f"{verdict.outcome} ({verdict.failure_kind})" if verdict.failure_kind else str(verdict.outcome)


def describe_state(summary: ApplicationSummary) -> str:
    """Return the state, and whether the application is being deleted."""
    return f"{summary.state} (deleting)" if summary.is_deleting else summary.state


def format_optional(duration: timedelta | None) -> str:
    """Return a duration; empty if it is unknown."""
    return "" if duration is None else format_duration(duration)


_NAMESPACE: Final = SummaryColumn("NAMESPACE", lambda summary: summary.namespace, 12)
_COLUMNS: Final = (
    SummaryColumn("NAME", lambda summary: summary.name, 20),
    SummaryColumn("STATE", describe_state, 16, style=style_state),
    SummaryColumn("OUTCOME", describe_outcome, 9, style=lambda outcome: style_state(outcome.partition(" ")[0])),
    SummaryColumn("ATTEMPTS", lambda summary: str(summary.attempts)),
    SummaryColumn("EXECUTORS", lambda summary: str(summary.executors)),
    SummaryColumn("AGE", lambda summary: format_optional(summary.age), 6),
    SummaryColumn("DURATION", lambda summary: format_optional(summary.duration), 6),
    SummaryColumn("TASK", lambda summary: str(summary.task or "")),
    SummaryColumn("REASON", lambda summary: _read_reason(summary), is_wide=True),
    SummaryColumn("DRIVER", lambda summary: summary.driver or "", is_wide=True),
    SummaryColumn("RUN", lambda summary: summary.task.run_id if summary.task else "", is_wide=True),
    SummaryColumn("API VERSION", lambda summary: summary.api_version, is_wide=True),
)


def _read_reason(summary: ApplicationSummary) -> str:
    return "" if summary.verdict.outcome is Outcome.WAITING else summary.verdict.reason
