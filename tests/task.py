"""A task instance without a database, and helpers for tests of tasks and triggers."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from airflow_provider_spark_operator.testing.tasks import TaskInstance, defer, fire, reload, run
from airflow_provider_spark_operator.triggers import spark_application_runtime

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.triggers.base import BaseTrigger, TriggerEvent

__all__ = [
    "TaskInstance",
    "build_context",
    "call_when_logged",
    "create_cleared_try",
    "defer",
    "fire",
    "reload",
    "run",
    "run_to_first_event",
    "start_trigger",
    "stop_trigger",
]


def build_context(task_instance: TaskInstance, **values: Any) -> "Context":
    """Return the context in which Airflow runs the task."""
    return cast("Context", {"ti": task_instance, **values})


def create_cleared_try(task_instance: TaskInstance, retries: int = 3) -> TaskInstance:
    """Return the next try of a task that a user has cleared, as Airflow creates it."""
    following = task_instance.next_try()
    following.max_tries = task_instance.try_number + retries
    return following


async def run_to_first_event(trigger: "BaseTrigger") -> "TriggerEvent":
    """Run a trigger until it fires."""
    return await anext(trigger.run())


async def start_trigger(trigger: "BaseTrigger", text: str = "RunningHealthy") -> "asyncio.Task[TriggerEvent]":
    """Run a trigger as the triggerer does, until its log contains `text`."""
    ready = asyncio.Event()
    with call_when_logged(text, ready.set):
        task = asyncio.create_task(run_to_first_event(trigger))
        await asyncio.wait_for(ready.wait(), 60)
    return task


async def stop_trigger(trigger: "BaseTrigger", task: "asyncio.Task[TriggerEvent]") -> None:
    """Cancel a trigger as the triggerer does after an action of a user."""
    task.cancel("user-action")
    await asyncio.gather(task, return_exceptions=True)
    await trigger.on_kill()


@contextmanager
def call_when_logged(
    text: str, act: Callable[[], object], logger: logging.Logger = spark_application_runtime.logger
) -> Iterator[None]:
    """Call `act` once, as soon as a trigger's log contains `text`."""

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if text in record.getMessage() and not done:
                done.append(record)
                act()

    done: list[logging.LogRecord] = []
    listener, previous = Listener(), logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(listener)
        logger.setLevel(previous)
