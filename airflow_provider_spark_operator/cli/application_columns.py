"""The columns of a table of applications."""

from datetime import timedelta
from typing import Final

from airflow_provider_spark_operator.cli.columns import Column
from airflow_provider_spark_operator.cli.styles import style_state
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.core.reasons import OUT_OF_MEMORY
from airflow_provider_spark_operator.core.report.summary import ApplicationSummary
from airflow_provider_spark_operator.core.times import format_duration
from airflow_provider_spark_operator.core.verdict import Outcome

# In the messages of `core.application`.
_COUNT: Final = "(executors ready: "


def list_columns(*, with_namespace: bool) -> list[Column[ApplicationSummary]]:
    """Return the columns, among them those of `-o wide`.

    Args:
        with_namespace: Whether to show the namespace.
    """
    return [_NAMESPACE, *_COLUMNS] if with_namespace else [*_COLUMNS]


def describe_outcome(summary: ApplicationSummary) -> str:
    """Return how an application ended: `Succeeded`, `Failed (application)`; empty if it has not ended."""
    verdict = summary.verdict
    if verdict.outcome is Outcome.WAITING:
        return ""
    return f"{verdict.outcome} ({verdict.failure_kind})" if verdict.failure_kind else str(verdict.outcome)


def _describe_cause(summary: ApplicationSummary) -> str:
    """Return the outcome, with the reason in place of the kind of failure if the driver was out of memory."""
    verdict = summary.verdict
    return f"{verdict.outcome} ({verdict.reason})" if verdict.reason == OUT_OF_MEMORY else describe_outcome(summary)


def _measure_end(summary: ApplicationSummary) -> timedelta | None:
    """Return the time since the end; since the creation if only the end is unknown, like `spark-operator cleanup`."""
    if summary.phase is not Phase.ENDED or summary.age is None:
        return None
    return summary.age - (summary.duration or timedelta())


def describe_state(summary: ApplicationSummary) -> str:
    """Return the state, and whether the application is being deleted, held, queued, or what it waits for."""
    if summary.is_deleting:
        return f"{summary.state} (deleting)"
    if not summary.is_held:
        return f"{summary.state} ({summary.obstacle})" if summary.obstacle else summary.state
    return f"{summary.state} (queued)" if summary.queue and not summary.is_suspended else f"{summary.state} (held)"


def describe_message(summary: ApplicationSummary) -> str:
    """Return the message of the current state; empty if it only counts the executors at the begin of the state."""
    message = summary.message or ""
    return "" if summary.phase is Phase.RUNNING and _COUNT in message else message


def format_optional(duration: timedelta | None) -> str:
    """Return a duration; empty if it is unknown."""
    return "" if duration is None else format_duration(duration)


_NAMESPACE: Final[Column[ApplicationSummary]] = Column("NAMESPACE", lambda summary: summary.namespace, 12)
_COLUMNS: Final[tuple[Column[ApplicationSummary], ...]] = (
    Column("NAME", lambda summary: summary.name, 20),
    Column("STATE", describe_state, 16, is_shortened=True, style=style_state),
    Column("OUTCOME", _describe_cause, 9, style=lambda outcome: style_state(outcome.partition(" ")[0])),
    Column("ATTEMPTS", lambda summary: str(summary.attempts), drop_rank=2),
    Column("EXECUTORS", lambda summary: str(summary.executors), drop_rank=1),
    Column("AGE", lambda summary: format_optional(summary.age), 6),
    Column("DURATION", lambda summary: format_optional(summary.duration), 6, drop_rank=3),
    Column("TASK", lambda summary: str(summary.task or ""), drop_rank=4),
    Column("ENDED", lambda summary: format_optional(_measure_end(summary)), is_wide=True),
    Column("REASON", lambda summary: _read_reason(summary), is_wide=True),
    Column("DRIVER", lambda summary: summary.driver or "", is_wide=True),
    Column("QUEUE", lambda summary: summary.queue, is_wide=True),
    Column("RUN", lambda summary: summary.task.run_id if summary.task else "", is_wide=True),
    Column("API VERSION", lambda summary: summary.api_version, is_wide=True),
)


def _read_reason(summary: ApplicationSummary) -> str:
    return "" if summary.verdict.outcome is Outcome.WAITING else summary.verdict.reason
