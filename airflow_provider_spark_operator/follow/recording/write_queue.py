"""The records that wait to be stored. Each event loop stores a limited number per second."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from ...core.report.recording import find_pause

Write: TypeAlias = Callable[[], Coroutine[Any, Any, bool]]
"""Stores the latest record of one application. Returns whether it was stored. Does not raise."""


class WriteQueue:
    """Stores records one after the other, the longest waiting first.

    The queue contains functions and no records, so the newest record is stored. A store that does not answer delays the
    others, but neither the event loop nor its tasks. After a failure, the queue pauses: Airflow's supervisor repeats a
    rejected request for seconds, in which it serves no other request.
    """

    def __init__(self) -> None:
        self._waiting: dict[Write, contextvars.Context] = {}
        self._current: tuple[Write, asyncio.Task[bool]] | None = None
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    def add(self, write: Write) -> None:
        """Store the record soon. A function that waits already is called once."""
        # Airflow shows a log line to the task in whose context it is written.
        self._waiting.setdefault(write, contextvars.copy_context())
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def remove(self, write: Write, seconds: float) -> None:
        """Do not call the function any more. Wait until its call has ended, and cancel a call that lasts longer.

        Args:
            write: The function.
            seconds: How long to wait.
        """
        self._waiting.pop(write, None)
        if self._current is not None and self._current[0] == write:
            task = self._current[1]
            await asyncio.wait([task], timeout=seconds)
            task.cancel()

    async def _run(self) -> None:
        while self._waiting:
            write = next(iter(self._waiting))
            task = asyncio.create_task(write(), context=self._waiting.pop(write))
            self._current = (write, task)
            await asyncio.wait([task])
            self._current = None
            self._failures = 0 if not task.cancelled() and task.result() else self._failures + 1
            await asyncio.sleep(find_pause(self._failures))


_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, WriteQueue] = WeakKeyDictionary()


def get_queue() -> WriteQueue:
    """Return the queue of the running event loop."""
    return _queues.setdefault(asyncio.get_running_loop(), WriteQueue())
