"""A task instance of Airflow without a database: what `execute` and `resume_execution` need of one."""

from typing import Any
from uuid import UUID, uuid4

from airflow.sdk import BaseOperator
from airflow.sdk._shared.module_loading import import_string
from airflow.sdk.exceptions import TaskDeferred
from airflow.sdk.serde import deserialize, serialize
from airflow.triggers.base import BaseTrigger

from airflow_provider_spark_operator.triggers.loop import LoopThread

_FIRING_SECONDS = 60.0


class TaskInstance:
    """One try of one task.

    Attributes:
        xcoms: What the task has pushed beside its return value.
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
        """Keep the value."""
        self.xcoms[key] = value

    def next_try(self) -> "TaskInstance":
        """The next try of the same task: another id."""
        return TaskInstance(self.task_id, self.try_number + 1)


def run(operator: BaseOperator, task_instance: TaskInstance) -> Any:
    """Execute as a worker does; where the task defers, wait as a triggerer does, and resume on another worker.

    Raises:
        Exception: What the task raises.
    """
    context: Any = {"ti": task_instance}
    try:
        return operator.execute(context)
    except TaskDeferred as deferred:
        event = fire(stored(deferred.trigger))
        return operator.resume_execution(deferred.method_name, {"event": event}, context)


def defer(operator: BaseOperator, task_instance: TaskInstance) -> TaskDeferred:
    """Execute until the task defers.

    Raises:
        AssertionError: It does not.
    """
    context: Any = {"ti": task_instance}
    try:
        result = operator.execute(context)
    except TaskDeferred as deferred:
        return deferred
    raise AssertionError(f"the task has not deferred, but returned {result!r}")


def stored(trigger: BaseTrigger) -> Any:
    """The trigger as the triggerer makes it of what the database holds."""
    path, arguments = trigger.serialize()
    kept: Any = deserialize(serialize(arguments))
    return import_string(path)(**kept)


def fire(trigger: BaseTrigger) -> Any:
    """Run a trigger until it fires; the payload of its event.

    Raises:
        AssertionError: It ends without one.
        TimeoutError: It does not fire within a minute.
    """

    async def first() -> Any:
        async for event in trigger.run():
            return event.payload
        raise AssertionError("the trigger ended without an event")

    with LoopThread() as loop:
        return loop.run(first(), timeout=_FIRING_SECONDS)
