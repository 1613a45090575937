"""The stamp of Airflow's task instance."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk.types import RuntimeTaskInstanceProtocol

from ..follow.submission.stamp import TaskStamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def stamp_of(task_instance: RuntimeTaskInstanceProtocol) -> TaskStamp:
    """Return the stamp of a task instance in its current try."""
    # The protocol does not contain the method.
    read_context: Callable[[], Mapping[str, Any]] = getattr(task_instance, "get_template_context", dict)
    context = read_context()
    return TaskStamp(
        dag_id=task_instance.dag_id,
        task_id=task_instance.task_id,
        run_id=task_instance.run_id,
        map_index=-1 if task_instance.map_index is None else task_instance.map_index,
        try_number=task_instance.try_number,
        task_instance_id=str(task_instance.id),
        max_tries=getattr(task_instance, "max_tries", None),  # in the triggerer, the task instance may have ids only
        trace_parent=_read_trace_parent(task_instance),
        logical_date=_format_date(context.get("logical_date")),
        loop_index=_read_loop_index(task_instance, context),
    )


def _read_loop_index(task_instance: RuntimeTaskInstanceProtocol, context: "Mapping[str, Any]") -> int | None:
    if "loop" in context:
        index: int = context["loop"].index
        return index
    # The context of a triggerer has no loop. A task instance that is not mapped is in a region only if it is in a loop.
    return getattr(task_instance, "region_index", None) if task_instance.map_index in (None, -1) else None


def _read_trace_parent(task_instance: RuntimeTaskInstanceProtocol) -> str | None:
    # The protocol does not contain the attribute, but Airflow's task instances do, on workers and in the triggerer.
    carrier = getattr(task_instance, "context_carrier", None) or {}
    value: str | None = carrier.get("traceparent")
    return value


def _format_date(date: object) -> str | None:
    # A run that was triggered without a logical date has none.
    return date.isoformat() if isinstance(date, datetime) else None
