"""An event loop on a separate thread, so that the main thread of the worker stays free for signals.

Airflow ends a task with signals. Their handlers run in the main thread, and may raise an exception
(`AirflowTaskTimeout`) at any point. In an event loop, such an exception would be lost in an unrelated callback. A main
thread that only waits can handle it.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import wait
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

Result = TypeVar("Result")

CANCEL_SECONDS = 20.0
"""The limit of a cancellation in a signal handler."""

_CLOSE_SECONDS = 5.0
# Python notices a signal that arrives immediately before a wait only after the wait.
_LONGEST_WAIT_SECONDS = 1.0
# How many values of a stream may wait for their consumer.
_LONGEST_QUEUE = 1000


class LoopThread:
    """A context manager whose `run` method runs coroutines in an event loop on a separate thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="spark-operator-loop", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def run(
        self, coroutine: Coroutine[Any, Any, Result], *, timeout: float | None = None, grace: float = 0.0
    ) -> Result:
        """Run `coroutine` to its end and return its result. If the wait is interrupted, cancel the coroutine.

        Args:
            coroutine: The coroutine, which runs on the other thread.
            timeout: Seconds to wait. If None, there is no limit.
            grace: Seconds that the coroutine has to finish after an interruption before it is cancelled.

        Raises:
            TimeoutError: The timeout expired, and the coroutine was cancelled.
        """
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            while timeout is None and not wait([future], _LONGEST_WAIT_SECONDS).done:
                pass
            return future.result(timeout)
        except BaseException:
            wait([future], grace)
            future.cancel()
            raise

    def iterate(self, values: AsyncGenerator[Result, None]) -> Iterator[Result]:
        """Yield the values of an asynchronous generator, which runs on the other thread.

        The generator is closed when the iteration ends. The generator pauses while the consumer is slow.

        Args:
            values: The generator.
        """
        stream = self.run(_open_stream(values))
        try:
            while (batch := self.run(stream.read())) is not None:
                yield from batch
        finally:
            if not self._loop.is_closed():
                self.run(stream.close())

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        closing = asyncio.run_coroutine_threadsafe(self._finish(), self._loop)
        try:
            closing.result(_CLOSE_SECONDS)
        except TimeoutError:
            return  # a coroutine ignores its cancellation; the daemon thread ends with the process
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)
        self._loop.close()

    async def _finish(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            # A second cancellation would interrupt the cleanup that the first one started.
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()


class _Stream(Generic[Result]):
    """The values of a generator on their way to another thread, many at a time."""

    def __init__(self, values: AsyncGenerator[Result, None]) -> None:
        self._values = values
        self._queue: asyncio.Queue[Result] = asyncio.Queue(_LONGEST_QUEUE)
        self._task = asyncio.create_task(self._fill())

    async def read(self) -> list[Result] | None:
        """Return the values that have arrived, at least one. Return None after the last value."""
        getting = asyncio.create_task(self._queue.get())
        try:
            await asyncio.wait({getting, self._task}, return_when=asyncio.FIRST_COMPLETED)
            batch = [getting.result()] if getting.done() else []
        finally:
            getting.cancel()
        with suppress(asyncio.QueueEmpty):
            while True:
                batch.append(self._queue.get_nowait())
        if not batch:
            await self._task  # raises the error of the generator
        return batch or None

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _fill(self) -> None:
        async with aclosing(self._values) as values:
            async for value in values:
                await self._queue.put(value)


async def _open_stream(values: AsyncGenerator[Result, None]) -> _Stream[Result]:
    return _Stream(values)
