"""Emit the figures of a run as metrics of Airflow, with the backend that its configuration selects."""

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from airflow.sdk import Context

from ..airflow_compat import load_stats
from ..core.report.figures import RunFigures, read_figures
from ..triggers.event import ApplicationEvent, EventKind

logger = logging.getLogger(__name__)

_PREFIX: Final = "spark_operator.application"
# The application no longer exists. After the other events, a retry may follow it further.
_OUTCOMES: Final[Mapping[EventKind, str]] = {
    EventKind.DELETED: "deleted",
    EventKind.TIMED_OUT: "timed_out",
    EventKind.OVER_BUDGET: "budget",
    EventKind.STALLED: "stalled",
}


def emit_metrics(context: Context, event: ApplicationEvent) -> None:
    """Emit the figures of a run that has ended. A problem is only logged.

    Args:
        context: The context of the task.
        event: The end of the wait, with the record of the run.
    """
    outcome = _OUTCOMES.get(event.kind)
    if event.kind is EventKind.ENDED:
        outcome = event.failure_kind or "succeeded"
    if event.record is None or outcome is None:
        return
    try:
        _emit(context, event.record, outcome)
    except Exception as error:  # a metric must not fail the task
        logger.warning("could not emit the metrics of this run: %s", str(error) or type(error).__name__)


def _emit(context: Context, record: Mapping[str, object], outcome: str) -> None:
    stats, figures, task_instance = load_stats(), read_figures(record), context["ti"]
    tags = {"dag_id": task_instance.dag_id, "task_id": task_instance.task_id, "outcome": outcome}
    if figures.team:
        tags["team"] = figures.team
    for name, amount in (("core_hours", figures.core_hours), ("gib_hours", figures.gib_hours)):
        if amount is not None:
            stats.incr(f"{_PREFIX}.{name}", amount, tags=tags | _mark(figures, name))
    if figures.cost is not None:
        currency = {"currency": figures.currency} if figures.currency else {}
        stats.incr(f"{_PREFIX}.cost", figures.cost, tags=tags | currency | _mark(figures, "cost"))
    for name, seconds in (("duration", figures.seconds), ("waiting", figures.waiting_seconds)):
        if seconds is not None:
            stats.timing(f"{_PREFIX}.{name}", timedelta(seconds=seconds), tags=tags)
    if figures.executors is not None:
        stats.gauge(f"{_PREFIX}.executors", figures.executors, tags=tags)


def _mark(figures: RunFigures, name: str) -> dict[str, str]:
    """Return the tag of an amount that the true one exceeds."""
    return {"incomplete": "true"} if name in figures.incomplete else {}
