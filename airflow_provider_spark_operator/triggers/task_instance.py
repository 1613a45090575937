"""Whether a user has stopped a task instance of Airflow."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING

from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from pydantic import ValidationError

from ..airflow_compat import REPORTS_LATER_TRIES, GetPreviousTI, PreviousTIResult, TaskInstanceState
from ..follow.submission.stamp import TaskStamp

if TYPE_CHECKING:
    from airflow.sdk.api.datamodels._generated import PreviousTIResponse


class Fate(Enum):
    """What happened to a task instance whose process was asked to stop."""

    KILLED = "killed"
    """A user marked the task as failed or successful, cleared it or removed it: the trigger deletes its application."""
    MOVED = "moved"
    """The task continues, here or in another process, or its next try adopts the application."""


# The list is explicit, so that a state that a later Airflow adds does not count as killed. None is a cleared task
# instance. RESTARTING is one that was cleared while it ran on a worker. UP_FOR_RETRY is not in the list: the scheduler
# has lost the worker, and the next try adopts the application.
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
# A deferred task instance gets into these states if its trigger has fired, or if the task was cleared.
_STARTED_ANEW = frozenset({TaskInstanceState.SCHEDULED, TaskInstanceState.QUEUED, TaskInstanceState.RUNNING})

# The message of a cancelled trigger about the application of a task that was not killed, as far as Airflow reports.
LEFT_RUNNING = (
    "this trigger does not delete %s: another triggerer follows it, or the next try of the task adopts or deletes it. "
    "If you cleared the task and changed its namespace or connection, check whether it still runs"
)


def read_fate_of_deferred(stamp: TaskStamp) -> Fate:
    """Read the fate of a deferred task instance, for a trigger that is cancelled before it has fired.

    After a clear, the next try may be scheduled, running or deferred again before the trigger is cancelled. It may look
    for the application elsewhere, or fail before it looks. Therefore this trigger must delete the application.

    The try number distinguishes a clear from a move of the trigger to another triggerer. If Airflow does not report the
    number, a deferred task instance counts as moved. A task instance that was started again counts as killed. If the
    trigger has fired elsewhere, the application has ended, and ended applications are not deleted.
    """
    state = _read_state(stamp)
    if state in _STARTED_ANEW:
        return Fate.MOVED if _is_later_try_present(stamp) is False else Fate.KILLED
    if state == TaskInstanceState.DEFERRED:
        return Fate.KILLED if _is_later_try_present(stamp) else Fate.MOVED
    return _classify_state(state)


def is_deferred(stamp: TaskStamp) -> bool:
    """Return whether the task instance still waits for its trigger. Blocks: in an event loop, use `sync_to_async`."""
    return _read_state(stamp) == TaskInstanceState.DEFERRED


def read_fate(stamp: TaskStamp) -> Fate:
    """Read from Airflow the fate of a task instance. Blocks: in an event loop, call it with `sync_to_async`.

    A signal or a cancelled trigger alone is not enough. A drained worker, and a triggerer whose triggers have moved
    to another one, get the same signals as a killed task.
    """
    return _classify_state(_read_state(stamp))


def _classify_state(state: str | None) -> Fate:
    return Fate.KILLED if state in _KILLED else Fate.MOVED


def _read_state(stamp: TaskStamp) -> str | None:
    # `get_task_states` reports only the latest iteration of a loop.
    if stamp.loop_index is not None and (present := _read_present(stamp)) is not None:
        return present.state
    runs = RuntimeTaskInstance.get_task_states(
        dag_id=stamp.dag_id, task_ids=[stamp.task_id], run_ids=[stamp.run_id], map_index=stamp.map_index
    )
    return _find_state(stamp, runs)


def _is_later_try_present(stamp: TaskStamp) -> bool | None:
    """Return whether the latest try is later than that of the stamp; None if Airflow does not report it."""
    present = _read_present(stamp)
    return None if present is None else present.try_number > stamp.try_number


def _read_present(stamp: TaskStamp) -> "PreviousTIResponse | None":
    """Return the task instance in its latest try; None if Airflow does not report it.

    Airflow reports it only for the latest run before a logical date. In a loop, a task on a worker gets its own
    iteration, and a trigger the latest one.
    """
    if stamp.logical_date is None or not REPORTS_LATER_TRIES:
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
        # The triggerer can send this request, but cannot decode the answer. The error contains it.
        answer = _decode(error.errors()[0].get("input"))
    found = answer.task_instance if isinstance(answer, PreviousTIResult) else None
    return found if found is not None and found.run_id == stamp.run_id else None


def _decode(answer: object) -> object:
    try:
        return PreviousTIResult.model_validate(answer)
    except ValidationError:
        return None


def _find_state(stamp: TaskStamp, runs: Mapping[str, Mapping[str, str | None]]) -> str | None:
    # A missing task instance also counts as None: its run was deleted.
    key = stamp.task_id if stamp.map_index < 0 else f"{stamp.task_id}_{stamp.map_index}"
    return runs.get(stamp.run_id, {}).get(key)
