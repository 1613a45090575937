"""Store the final record of a run as an XCom, keep a summary for later tries, and emit its figures as metrics."""

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any, Final

from airflow.sdk import Context

from ..airflow_compat import HAS_RETRY_POLICIES, TaskInstanceKey, load_stats, read_xcom
from ..airflow_version import INSTALLED
from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.pods import get_object, get_text, list_objects
from ..core.report.figures import RunFigures, read_figures, sum_tries
from ..core.report.record_values import cut_text
from ..core.report.recording import add_tries, close_record, shrink, summarize_try
from ..core.report.run_record import MAX_TEXT, MAX_TRIES
from ..core.spark_metrics.advice import HISTORY_KEY, advise, choose_runs, measure_run
from ..core.spark_metrics.metrics import Peak, build_metrics, describe_metrics, read_peaks
from ..hooks.event_log import EventLogUnavailable, read_event_log
from ..links.url import push_xcoms
from ..triggers.event import ApplicationEvent, EventKind
from ..triggers.run_record import XCOM_KEY

logger = logging.getLogger(__name__)

_STORE_KEY = "spark_run_tries"
_PREFIX: Final = "spark_operator.application"
# The application no longer exists. After the other events, a retry may follow it further.
_OUTCOMES: Final[Mapping[EventKind, str]] = {
    EventKind.DELETED: "deleted",
    EventKind.TIMED_OUT: "timed_out",
    EventKind.OVER_BUDGET: "budget",
    EventKind.STALLED: "stalled",
}


def store_final_record(
    context: Context,
    record: Mapping[str, Any] | None,
    failure: str | None,
    *,
    is_over_budget: bool = False,
    event_logs: str | None = None,
) -> None:
    """Store the record of a run at the end of a try. A problem is only logged.

    Args:
        context: The context of the task.
        record: The record. If None, the one that the task has stored while the application ran.
        failure: Why the try fails, if the outcome of the application is not known. None if the record shows it.
        is_over_budget: Whether the task has ended the application because of its budget.
        event_logs: The URL of the folder with the event log of the application. If None, it is not read.
    """
    record = record or _read_stored(context)
    if record is None:
        return
    final = dict(record) if failure is None else close_record(record, failure, is_over_budget=is_over_budget)
    if event_logs is not None and failure is None:
        final = _add_event_log(final, event_logs)
    final = _add_earlier_tries(final, context)
    if all_tries := sum_tries(final):
        final["allTries"] = all_tries
    final = _add_advice(final, context)
    push_xcoms({XCOM_KEY: shrink(final)}, context["ti"])


def _add_event_log(record: JsonObject, folder: str) -> JsonObject:
    """Return the record with what Spark did until its end. The figures of the Spark UI stay if there is no log."""
    application_id = get_text(get_object(record.get("application")).get("applicationId"))
    try:
        metrics = read_event_log(folder, application_id)
    except EventLogUnavailable as error:
        logger.warning("the final figures of Spark are missing: %s", error)
        gap = {"what": "spark", "why": cut_text(f"its final figures are missing: {error}", MAX_TEXT)}
        return record | {"missing": [*list_objects(record.get("missing")), gap]}
    # Without spark.eventLog.logStageExecutorMetrics, a log contains less about memory than the Spark UI.
    known = read_peaks(record)
    peaks = {role: metrics.peaks.get(role, Peak()) | known.get(role, Peak()) for role in {*metrics.peaks, *known}}
    metrics = replace(metrics, peaks=peaks)
    logger.info("event log of %s: %s", application_id, describe_metrics(metrics))
    missing = [gap for gap in list_objects(record.get("missing")) if gap.get("what") != "spark"]
    return record | {"spark": build_metrics(metrics), "missing": missing}


def _add_advice(record: JsonObject, context: Context) -> JsonObject:
    """Return the record with a suggestion, and keep what the latest runs of the task used for later runs."""
    measured = measure_run(record)
    if measured is None:
        return record
    # A run stores this XCom only here, so this is the one of an earlier run.
    earlier = list_objects(_read_xcom(HISTORY_KEY, context, or_of_earlier_run=True))
    if not earlier and "spark" not in record:  # out of memory, without spark_metrics
        return record
    runs = choose_runs([*earlier, measured])
    push_xcoms({HISTORY_KEY: runs}, context["ti"])
    advice = advise(runs)
    if advice is None:
        return record
    logger.info("advice: %s", advice.text)
    return record | {"advice": [asdict(advice)]}


def _read_stored(context: Context) -> Mapping[str, Any] | None:
    stored = _read_xcom(XCOM_KEY, context)
    return stored if isinstance(stored, dict) else None


def _read_xcom(key: str, context: Context, *, or_of_earlier_run: bool = False) -> object:
    task_instance = context["ti"]
    ti_key = TaskInstanceKey(
        dag_id=task_instance.dag_id,
        task_id=task_instance.task_id,
        run_id=task_instance.run_id,
        try_number=task_instance.try_number,
        map_index=-1 if task_instance.map_index is None else task_instance.map_index,
    )
    try:
        return read_xcom(key, ti_key, or_of_earlier_run=or_of_earlier_run)
    except Exception as error:  # nothing was stored, or the store does not answer
        logger.debug("could not read the XCom %s: %s", key, error)
        return None


def _add_earlier_tries(record: JsonObject, context: Context) -> JsonObject:
    """Return the record with the earlier tries of the task, and keep a summary of this try."""
    try_number, store = context["ti"].try_number, context.get("task_state_store")
    if store is None:
        problem = "" if HAS_RETRY_POLICIES else f"Airflow {INSTALLED} does not keep earlier tries, Airflow 3.3 does"
        return add_tries(record, (), try_number, problem)
    try:
        earlier = [each for each in list_objects(store.get(_STORE_KEY)) if each.get("tryNumber") != try_number]
        kept: list[Any] = [*earlier, summarize_try(record, try_number)][-MAX_TRIES:]
        store.set(_STORE_KEY, kept)
    except Exception as error:
        logger.warning("could not keep the record of this try for later tries: %s", error)
        return add_tries(record, (), try_number)
    return add_tries(record, earlier, try_number)


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
