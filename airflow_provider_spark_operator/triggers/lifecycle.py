"""The parts that all triggers share: stored arguments, the single event, and the deletion after a kill."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import cache
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_spark_operator.triggers.event import ApplicationEvent

logger = logging.getLogger(__name__)

FORMAT_VERSION = 1
"""The version of the arguments that triggers store."""

# A task without a reference may be garbage-collected while it runs.
_tasks: set[asyncio.Task[None]] = set()


class Lifecycle:
    """The stored arguments of a trigger, and whether the trigger has fired.

    Args:
        trigger: The trigger. Each argument of its constructor is an attribute of the same name.
        later: Arguments that a later release added. They are stored again.
    """

    def __init__(self, trigger: BaseTrigger, later: Mapping[str, Any]) -> None:
        self._trigger = trigger
        self._later = dict(later)
        self._has_fired = False

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the path of the trigger's class and its arguments, as Airflow stores them."""
        kind = type(self._trigger)
        arguments = {name: getattr(self._trigger, name) for name in _list_argument_names(kind)}
        return f"{kind.__module__}.{kind.__qualname__}", self._later | arguments

    async def fire(self, event: Awaitable[ApplicationEvent]) -> TriggerEvent:
        """Await the event, and return it for Airflow. A kill after that deletes nothing."""
        payload = (await event).to_payload()
        self._has_fired = True
        return TriggerEvent(payload)  # type: ignore[no-untyped-call]

    async def kill(self, delete: Callable[[], Coroutine[Any, Any, None]], subject: str) -> None:
        """Run `delete` to its end, unless the trigger has fired.

        Airflow cancels the `on_kill` of a trigger after a second, and repeats the cancellation in each round of its
        loop. The deletion continues regardless.

        Args:
            delete: Deletes what the task has submitted, and does not raise.
            subject: What is deleted, for messages.
        """
        if self._has_fired:
            return
        task = asyncio.create_task(delete())
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():  # Airflow closes the task log next
                logger.warning(
                    "deletion of %s continues in the triggerer; the log of the triggerer shows the outcome", subject
                )
            raise


@cache
def _list_argument_names(kind: type[BaseTrigger]) -> tuple[str, ...]:
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return tuple(one.name for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD)
