"""Run one operator without a database: a task instance, and functions that act as the worker and the triggerer."""

from functools import partial
from typing import Any
from uuid import UUID, uuid4

from airflow.sdk import BaseOperator
from airflow.triggers.base import BaseTrigger

from ..airflow_compat import TaskDeferred, deserialize, import_string, serialize
from ..hooks.loop import LoopThread

__all__ = ["TaskInstance", "defer", "fire", "reload", "run"]

_FIRING_SECONDS = 60.0


class TaskInstance:
    """One try of one task, of the DAG `dag` and the run `manual__2026-01-01T00:00:00+00:00`.

    Args:
        task_id: Id of the task. The default is "run".
        try_number: Number of the try, from 1. The default is 1.
        ti_id: Id of the task instance, a UUID. If None, a new id is created.

    Attributes:
        xcoms: The XComs that the task pushed, by key, without the return value.
    """

    def __init__(self, task_id: str = "run", try_number: int = 1, ti_id: UUID | None = None) -> None:
        self.dag_id = "dag"
        self.task_id = task_id
        self.run_id = "manual__2026-01-01T00:00:00+00:00"
        self.map_index = -1
        self.try_number = try_number
        self.max_tries = 3
        self.id = ti_id or uuid4()
        self.xcoms: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        """Store an XCom in `xcoms`.

        Args:
            key: Key of the XCom.
            value: Value of the XCom.
        """
        self.xcoms[key] = value

    def next_try(self) -> "TaskInstance":
        """Return the next try of the same task, with a new id."""
        return TaskInstance(self.task_id, self.try_number + 1)


def run(operator: BaseOperator, task_instance: TaskInstance) -> Any:
    """Run a task to its end and return its result.

    The function executes the task as a worker does. If the task defers, the function runs the trigger as the
    triggerer does, and resumes the task, as often as it defers.

    Args:
        operator: Operator of the task, whose templates are already rendered.
        task_instance: Try of the task, for example `TaskInstance()`.

    Raises:
        Exception: The exception that the task raises.
    """
    context: Any = {"ti": task_instance}
    act = partial[Any](operator.execute, context)
    while True:
        try:
            return act()
        except TaskDeferred as deferred:
            event = {"event": fire(reload(deferred.trigger))}
            act = partial(operator.resume_execution, deferred.method_name, event, context)


def defer(operator: BaseOperator, task_instance: TaskInstance) -> TaskDeferred:
    """Execute a task until it defers, and return the deferral.

    Args:
        operator: Operator of the task, whose templates are already rendered.
        task_instance: Try of the task, for example `TaskInstance()`.

    Raises:
        AssertionError: The task does not defer.
    """
    context: Any = {"ti": task_instance}
    try:
        result = operator.execute(context)
    except TaskDeferred as deferred:
        return deferred
    raise AssertionError(f"the task did not defer: it returned {result!r}")


def reload(trigger: BaseTrigger) -> Any:
    """Return a copy of a trigger, as the triggerer loads it from the database.

    Args:
        trigger: Trigger of a deferral, for example `defer(operator, task_instance).trigger`.
    """
    path, arguments = trigger.serialize()
    loaded: Any = deserialize(serialize(arguments))
    return import_string(path)(**loaded)


def fire(trigger: BaseTrigger) -> Any:
    """Run a trigger until it fires, and return the payload of its event.

    Args:
        trigger: Trigger to run, for example a result of `reload`.

    Raises:
        AssertionError: The trigger ends without an event.
        TimeoutError: The trigger does not fire within a minute.
    """

    async def read_first() -> Any:
        async for event in trigger.run():
            return event.payload
        raise AssertionError("the trigger ended without an event")

    with LoopThread() as loop:
        return loop.run(read_first(), timeout=_FIRING_SECONDS)
