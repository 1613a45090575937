"""The tasks that work through a queue; their number may change while they work."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from airflow_provider_spark_operator.reconcile.cache import ObjectKey
from airflow_provider_spark_operator.reconcile.queue import WorkQueue


class Workers:
    """As many tasks as are wanted, each taking one key after the other.

    Args:
        queue: where the keys come from.
        look: what is done with each; it raises nothing that the others should survive.
        count: how many keys are looked at at the same time.
    """

    def __init__(self, queue: WorkQueue[ObjectKey], look: Callable[[ObjectKey], Awaitable[None]], count: int) -> None:
        self._queue = queue
        self._look = look
        self._count = count
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._busy: set[int] = set()
        self._numbers = itertools.count()
        self._resized = asyncio.Event()

    def resize(self, count: int) -> None:
        """Have `count` of them from now on; those that are too many end after what they are at."""
        self._count = count
        self._resized.set()

    async def run(self) -> None:
        """Work until cancelled, which breaks off what is being looked at."""
        try:
            async with asyncio.TaskGroup() as group:
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

    async def _work(self, number: int) -> None:
        while len(self._tasks) <= self._count:
            key = await self._queue.get()
            self._busy.add(number)
            try:
                await self._look(key)
            finally:
                self._busy.discard(number)
                self._queue.done(key)
        self._tasks.pop(number, None)
