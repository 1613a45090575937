"""An event loop on a separate thread, so that the main thread of the worker stays free for signals.

Airflow ends a task with signals. Their handlers run in the main thread, and may raise an exception
(`AirflowTaskTimeout`) at any point. In an event loop, such an exception would be lost in an unrelated callback. A main
thread that only waits can handle it.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import wait
from types import TracebackType
from typing import Any, Self, TypeVar

Result = TypeVar("Result")

_CLOSE_SECONDS = 5.0


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
            timeout: Seconds to wait; None for no limit.
            grace: Seconds that the coroutine has to finish after an interruption before it is cancelled.

        Raises:
            TimeoutError: The timeout expired, and the coroutine was cancelled.
        """
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(timeout)
        except BaseException:
            wait([future], grace)
            future.cancel()
            raise

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
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
