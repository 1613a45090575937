"""The pool of tasks that process the keys of a queue; its size can change at any time."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from ..objects.cache import ObjectKey
from .queue import WorkQueue


class Workers:
    """A pool of tasks, each of which processes one key after the other.

    One more task processes keys of namespaces that have no key in progress. So a namespace cannot delay another one,
    even if its keys occupy the whole pool for a long time.

    Args:
        queue: The queue of the keys.
        process: Processes a key; an exception that it raises ends all workers.
        count: The number of keys that are processed concurrently.
    """

    def __init__(
        self, queue: WorkQueue[ObjectKey], process: Callable[[ObjectKey], Awaitable[None]], count: int
    ) -> None:
        self._queue = queue
        self._process = process
        self._count = count
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._busy: set[int] = set()
        self._numbers = itertools.count()
        self._resized = asyncio.Event()

    def resize(self, count: int) -> None:
        """Change the number of workers; superfluous workers end after their current key."""
        self._count = count
        self._resized.set()

    async def run(self) -> None:
        """Run until cancelled; the keys in progress are interrupted."""
        try:
            async with asyncio.TaskGroup() as group:
                self._adjust(group)
                group.create_task(self._work_for_idle_namespaces())
                while True:
                    self._resized.clear()
                    self._adjust(group)
                    await self._resized.wait()
        finally:
            self._tasks.clear()
            self._busy.clear()

    def _adjust(self, group: asyncio.TaskGroup) -> None:
        while len(self._tasks) < self._count:
            number = next(self._numbers)
            self._tasks[number] = group.create_task(self._work(number))
        idle = [number for number in self._tasks if number not in self._busy]
        for number in idle[: len(self._tasks) - self._count]:
            self._tasks.pop(number).cancel()

    async def _work_for_idle_namespaces(self) -> None:
        while True:
            key = await self._queue.take_of_idle_group()
            try:
                await self._process(key)
            finally:
                self._queue.release(key)

    async def _work(self, number: int) -> None:
        while len(self._tasks) <= self._count:
            key = await self._queue.take()
            self._busy.add(number)
            try:
                await self._process(key)
            finally:
                self._busy.discard(number)
                self._queue.release(key)
        self._tasks.pop(number, None)
