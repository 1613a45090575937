"""A task instance of Airflow as this package sees it: its stamp, and whether a person has killed it."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum

from airflow.sdk import TaskInstanceState
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import GetPreviousTI, PreviousTIResult
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.sdk.types import RuntimeTaskInstanceProtocol
from pydantic import ValidationError

from airflow_provider_spark_operator.follow.stamp import TaskStamp


class Fate(Enum):
    """What has become of a task instance whose process was told to stop."""

    KILLED = "killed"
    """Marked, cleared or removed by a person: its application is to go."""
    MOVED = "moved"
    """It lives on, here or in another process, or its next try will take the application over."""


# Spelled out: a state that a later Airflow adds must not count as killed before somebody has thought about it.
# None is a cleared task instance, RESTARTING one that was cleared while it ran on a worker. UP_FOR_RETRY is a
# worker that the scheduler took for dead: its next try adopts the application.
_KILLED = frozenset(
    {
        None,
        TaskInstanceState.SUCCESS,
        TaskInstanceState.FAILED,
        TaskInstanceState.SKIPPED,
        TaskInstanceState.UPSTREAM_FAILED,
        TaskInstanceState.REMOVED,
        TaskInstanceState.RESTARTING,
    }
)
# A deferred task instance gets there if its trigger has fired, or if the task was cleared.
_STARTED_ANEW = frozenset({TaskInstanceState.SCHEDULED, TaskInstanceState.QUEUED, TaskInstanceState.RUNNING})

# What a cancelled trigger logs about the application of a task that was not killed, as far as Airflow reports.
LEFT_RUNNING = (
    "%s is left running: another triggerer or the next try of the task follows it. If you cleared the task and changed "
    "its namespace or connection, delete it yourself"
)


def stamp_of(task_instance: RuntimeTaskInstanceProtocol) -> TaskStamp:
    """The stamp of a task instance in its present try."""
    return TaskStamp(
        dag_id=task_instance.dag_id,
        task_id=task_instance.task_id,
        run_id=task_instance.run_id,
        map_index=-1 if task_instance.map_index is None else task_instance.map_index,
        try_number=task_instance.try_number,
        task_instance_id=str(task_instance.id),
        max_tries=getattr(task_instance, "max_tries", None),  # the triggerer may know no more than the ids
        trace_parent=_read_trace_parent(task_instance),
        logical_date=_read_logical_date(task_instance),
    )


def _read_trace_parent(task_instance: RuntimeTaskInstanceProtocol) -> str | None:
    # The protocol does not have it; Airflow's own task instances do, on workers and in the triggerer.
    carrier = getattr(task_instance, "context_carrier", None) or {}
    value: str | None = carrier.get("traceparent")
    return value


def _read_logical_date(task_instance: RuntimeTaskInstanceProtocol) -> str | None:
    # The protocol does not have the context either; a run that was triggered without a logical date has none.
    read_context: Callable[[], Mapping[str, object]] = getattr(task_instance, "get_template_context", dict)
    date = read_context().get("logical_date")
    return date.isoformat() if isinstance(date, datetime) else None


def read_fate_of_deferred(stamp: TaskStamp) -> Fate:
    """The same as `read_fate`, for a trigger that is cancelled before it has fired.

    After a clear, the next try may be scheduled, running or deferred again before the trigger is cancelled. It may
    look for the application elsewhere, or fail before it looks, so this trigger has to delete the application. The
    try number tells a clear from a trigger that Airflow has moved to another triggerer. Where Airflow does not report
    the number, a task instance that is deferred counts as moved, and one that was started anew as killed: if the
    trigger has fired elsewhere, the application has ended, and ended applications are not deleted.
    """
    state = _read_state(stamp)
    if state in _STARTED_ANEW:
        return Fate.MOVED if _is_later_try_present(stamp) is False else Fate.KILLED
    if state == TaskInstanceState.DEFERRED:
        return Fate.KILLED if _is_later_try_present(stamp) else Fate.MOVED
    return _classify_state(state)


def read_fate(stamp: TaskStamp) -> Fate:
    """Ask Airflow what state the task instance is in. Blocks; in an event loop call it by `sync_to_async`.

    A signal or a cancelled trigger alone says nothing: a drained worker and a triggerer that lost its triggers
    to another one get the same ones as a killed task.
    """
    return _classify_state(_read_state(stamp))


def _classify_state(state: str | None) -> Fate:
    return Fate.KILLED if state in _KILLED else Fate.MOVED


def _read_state(stamp: TaskStamp) -> str | None:
    runs = RuntimeTaskInstance.get_task_states(
        dag_id=stamp.dag_id,
        task_ids=[stamp.task_id],
        run_ids=[stamp.run_id],
        map_index=stamp.map_index,
    )
    return _find_state(stamp, runs)


def _is_later_try_present(stamp: TaskStamp) -> bool | None:
    """Whether the task instance is in a later try than the stamp's; None where Airflow does not report it.

    Airflow reports the number of a try for the latest run before a logical date only.
    """
    if stamp.logical_date is None:
        return None
    message = GetPreviousTI(
        dag_id=stamp.dag_id,
        task_id=stamp.task_id,
        map_index=stamp.map_index,
        logical_date=datetime.fromisoformat(stamp.logical_date) + timedelta(microseconds=1),
    )
    try:
        answer: object = task_runner.SUPERVISOR_COMMS.send(message)
    except ValidationError as error:
        # Airflow 3.3's triggerer can ask this question, but cannot decode the answer, which the error still has.
        answer = _decode(error.errors()[0].get("input"))
    found = answer.task_instance if isinstance(answer, PreviousTIResult) else None
    if found is None or found.run_id != stamp.run_id:
        return None
    return found.try_number > stamp.try_number


def _decode(answer: object) -> object:
    try:
        return PreviousTIResult.model_validate(answer)
    except ValidationError:
        return None


def _find_state(stamp: TaskStamp, runs: Mapping[str, Mapping[str, str | None]]) -> str | None:
    # A task instance that is not there counts as None too: its run was deleted.
    key = stamp.task_id if stamp.map_index < 0 else f"{stamp.task_id}_{stamp.map_index}"
    return runs.get(stamp.run_id, {}).get(key)
