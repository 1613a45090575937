"""An event loop beside the worker's main thread, which must stay free for signals.

Airflow ends a task by signals whose handlers run, and may raise (`AirflowTaskTimeout`), wherever the main
thread happens to be. In the midst of an event loop that would be in somebody else's callback, and the
exception would be lost there. A main thread that only waits can take it.
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
    """A context manager: while it is open, `run` runs coroutines in a loop on a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="spark-operator-loop", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def run(
        self, coroutine: Coroutine[Any, Any, Result], *, timeout: float | None = None, grace: float = 0.0
    ) -> Result:
        """Run `coroutine` to its end and return its result; cancel it where the wait is interrupted.

        Args:
            coroutine: Runs on the other thread.
            timeout: Seconds to wait; None for ever.
            grace: Seconds that it gets to finish, once the wait is interrupted, before it is cancelled.

        Raises:
            TimeoutError: The time is over; the coroutine is cancelled.
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
            return  # something does not let itself be cancelled: the thread is a daemon, and is left behind
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)
        self._loop.close()

    async def _finish(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            # A second cancellation would break off the clean-up that the first one has begun.
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
