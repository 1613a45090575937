"""The parts that all triggers share: stored arguments, the single event, and the deletion after a kill."""

import asyncio
import inspect
import logging
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any
from weakref import WeakKeyDictionary

from airflow.triggers.base import BaseTrigger, TriggerEvent

from ..airflow_compat import HAS_ON_KILL
from .event import ApplicationEvent

logger = logging.getLogger(__name__)

FORMAT_VERSION = 1
"""The version of the format in which triggers store their arguments."""

DEFERRAL_SLACK = timedelta(seconds=60)
"""How much later than the deadline of a trigger Airflow's own timeout is. It ends the task if no triggerer runs."""

LAST_READ_SECONDS = 20.0
"""The time limit of the last read, in seconds. The read starts at the deadline and must end within `DEFERRAL_SLACK`."""

SHORTEST_DEFERRAL_SECONDS = 10.0
"""The time from the start of a trigger until it may fire.

When a task defers, its worker process ends. If the trigger fires at once, the scheduler can queue the task again
before it processes this end. In the same round of its loop, it then assigns the end of the old process to the new one,
and fails the task. Rounds of a busy scheduler take seconds.
"""

LONGEST_KILL_SECONDS = 60.0
"""How long a trigger stays in the triggerer, in seconds, until its deletion has ended. Airflow then closes its log."""

_RUNNER = "TriggerRunner.arun"
# The search is slow if there are thousands of triggers.
_runners: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[object] | None] = WeakKeyDictionary()
# A task without a reference may be garbage-collected while it runs.
_tasks: set[asyncio.Task[None]] = set()


class _EndEvent(TriggerEvent):
    """An event with a short text. Each triggerer adds the text of an event to the log of the task."""

    _text: str

    def __init__(self, ended: ApplicationEvent, noun: str) -> None:
        super().__init__(ended.to_payload())  # type: ignore[no-untyped-call]
        self._text = ended.describe(noun)

    def __repr__(self) -> str:
        return self._text

    __str__ = __repr__


class Lifecycle:
    """The stored arguments of a trigger, and whether the trigger has fired.

    Args:
        trigger: The trigger. Each argument of its constructor is an attribute of the same name.
        later: Arguments that a later release added. They are stored again.
        noun: The kind of the resource.
    """

    def __init__(self, trigger: BaseTrigger, later: Mapping[str, Any], noun: str = "SparkApplication") -> None:
        self._trigger = trigger
        self._noun = noun
        self._later = dict(later)
        self._has_fired = False
        self._was_cancelled = False
        self._runner: asyncio.Task[object] | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the path of the trigger's class and its arguments, as Airflow stores them."""
        kind = type(self._trigger)
        arguments = {name: getattr(self._trigger, name) for name in _list_argument_names(kind)}
        return f"{kind.__module__}.{kind.__qualname__}", self._later | arguments

    async def fire(
        self,
        event: Awaitable[ApplicationEvent],
        *,
        follows_worker: bool = True,
        if_interrupted: Callable[[], Awaitable[None]] | None = None,
    ) -> TriggerEvent:
        """Await the event, and return it for Airflow. A kill after that deletes nothing.

        Args:
            event: The wait for the event.
            follows_worker: Whether a worker has deferred the task. In a triggerer, the event is then returned
                `SHORTEST_DEFERRAL_SECONDS` after the call at the earliest.
            if_interrupted: Deletes what the task has submitted. Called if a user interrupts `airflow dags test`, after
                which no other process continues the task.
        """
        self._runner = find_runner()
        shortest = SHORTEST_DEFERRAL_SECONDS if follows_worker and self._runner is not None else 0.0
        earliest = asyncio.get_running_loop().time() + shortest
        try:
            ended = replace(await event, try_number=self._find_try_number())
            await asyncio.sleep(earliest - asyncio.get_running_loop().time())
        except asyncio.CancelledError:
            self._was_cancelled = True
            if if_interrupted is not None and _is_main_task():
                await if_interrupted()
            raise
        self._has_fired = True
        return _EndEvent(ended, self._noun)

    async def kill(self, delete: Callable[[], Coroutine[Any, Any, None]], subject: str) -> None:
        """Run `delete` to its end, unless the trigger has fired.

        Airflow cancels the `on_kill` of a trigger after a second, and repeats the cancellation in each round of its
        loop. The trigger stays for `LONGEST_KILL_SECONDS` regardless, so that the task log shows the outcome. After
        that, or if the triggerer shuts down, the deletion continues without the trigger.

        Args:
            delete: Deletes what the task has submitted, and does not raise.
            subject: What is deleted, for messages.
        """
        if self._has_fired:
            return
        task = asyncio.create_task(delete())
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)
        latest, cancelled = asyncio.get_running_loop().time() + LONGEST_KILL_SECONDS, False
        while not task.done() and not (cancelled and self._is_shutting_down()):
            try:
                async with asyncio.timeout_at(latest):
                    await asyncio.shield(task)
            except asyncio.CancelledError:
                cancelled = True
            except TimeoutError:
                break
        if not task.done():  # Airflow closes the task log next
            logger.warning(
                "deletion of %s continues in the triggerer after the end of this log: check the outcome", subject
            )
        if cancelled:
            raise asyncio.CancelledError

    async def clean_up(self, on_kill: Callable[[], Awaitable[None]]) -> None:
        """Call `on_kill` if the trigger was cancelled, before Airflow 3.3. Later versions call `on_kill` themselves.

        A trigger is also cancelled if the triggerer shuts down, or after Airflow's own timeout. Then `on_kill` is not
        called, as in Airflow 3.3.

        Args:
            on_kill: The method of the trigger.
        """
        if self._was_cancelled and not HAS_ON_KILL and not self._has_timed_out() and not self._is_shutting_down():
            await on_kill()

    def _find_try_number(self) -> int | None:
        # A trigger that starts its task has no stamp, but the triggerer sets its task instance.
        stamp = getattr(self._trigger, "stamp", None)
        return stamp.get("try_number") if stamp else getattr(self._trigger.task_instance, "try_number", None)

    def _has_timed_out(self) -> bool:
        # The triggerer sets the attribute, which the class does not declare. The task deletes its application.
        timeout: datetime | None = getattr(self._trigger, "timeout_after", None)
        if timeout is None:
            return False
        return (timeout if timeout.tzinfo else timeout.replace(tzinfo=UTC)) < datetime.now(UTC)

    def _is_shutting_down(self) -> bool:
        return self._runner is not None and self._runner.done()


def find_runner() -> asyncio.Task[object] | None:
    """Return the task that starts and cancels the triggers of this event loop. None outside of a triggerer.

    When it has ended, the triggerer shuts down: all triggers are cancelled, and Airflow may not answer requests.
    """
    loop = asyncio.get_running_loop()
    if loop not in _runners:
        names = {task: getattr(task.get_coro(), "__qualname__", None) for task in asyncio.all_tasks(loop)}
        _runners[loop] = next((task for task, name in names.items() if name == _RUNNER), None)
    return _runners[loop]


def _is_main_task() -> bool:
    """Return whether the current task is the argument of `asyncio.run`, which Ctrl+C cancels.

    The triggers in a triggerer are other tasks. `dag.test()` runs each trigger with `asyncio.run`.
    """
    handler = signal.getsignal(signal.SIGINT)
    return isinstance(handler, partial) and handler.keywords.get("main_task") is asyncio.current_task()


@cache
def _list_argument_names(kind: type[BaseTrigger]) -> tuple[str, ...]:
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return tuple(one.name for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD)
