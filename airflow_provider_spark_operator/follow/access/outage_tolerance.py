"""Tolerate temporary failures for a limited time, and report them while they last."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

from ...kube.backoff import Backoff
from ...kube.errors import TRANSIENT, ConfigurationError, KubeError

# An API server that is being replaced returns within minutes. A job must not fail for that.
OUTAGE_TOLERANCE_SECONDS = 900.0
_LONGEST_PAUSE_SECONDS = 10.0
# If two failures are further apart than a request and its longest pause, another request succeeded between them.
_SAME_OUTAGE_SECONDS = 120.0
# An outage is stored again after this time. Another process may take minutes to continue the wait.
_STORE_SECONDS = 60.0
_LONGEST_HANDOVER_SECONDS = 300.0
# A report of an outage waits at most this time for the stored times of the outage.
_LONGEST_LOAD_SECONDS = 5.0

Result = TypeVar("Result")
OutageTimes: TypeAlias = tuple[float, float]
"""The times of the first and of a recent failure of an outage, in seconds since the epoch."""
Report: TypeAlias = Callable[[int, str], object]
"""A function that logs or shows a sentence, given a `logging` level: `Logger.log` or `Sink.show_remark`."""


class OutageMemory:
    """Stores when an outage began, so that another process that continues the wait does not start from zero.

    Nothing is stored or read while requests succeed.

    Args:
        load: Returns the stored times of the first and of a recent failure, in seconds since the epoch; None if there
            are none. Must not raise.
        save: Stores these times; None after the end of the outage. Must not raise.
    """

    def __init__(
        self, load: Callable[[], Awaitable[OutageTimes | None]], save: Callable[[OutageTimes | None], Awaitable[None]]
    ) -> None:
        self._load = load
        self._save = save
        # A failure soon after the start belongs to the outage that the previous process has stored.
        self._continues_until = time.time() + _SAME_OUTAGE_SECONDS
        self._since: float | None = None
        self._stored = 0.0
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def record_failure(self) -> float:
        """Store the times of an outage; return for how many seconds the outage has lasted, as far as it is known."""
        now = time.time()
        if now - self._stored >= _STORE_SECONDS:
            self._stored = now
            self._start(self._store(now))
        return 0.0 if self._since is None else now - self._since

    async def measure(self) -> float:
        """Return for how many seconds the outage has lasted, also in the previous process; 0 if it is not known."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LONGEST_LOAD_SECONDS)
        return 0.0 if self._since is None else time.time() - self._since

    def record_success(self) -> None:
        """Remove the stored times after the end of an outage."""
        self._continues_until = 0.0
        self._since = None
        if self._stored:
            self._stored = 0.0
            self._start(self._remove())

    def _start(self, action: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(action)
        self._tasks.add(task)  # a task without a reference may be garbage-collected while it runs
        task.add_done_callback(self._tasks.discard)

    async def _store(self, now: float) -> None:
        async with self._lock:
            if self._since is None:
                self._since = await self._find_start(now)
            await self._save((self._since, now))

    async def _remove(self) -> None:
        async with self._lock:
            self._since = None
            await self._save(None)

    async def _find_start(self, now: float) -> float:
        known = await self._load() if now < self._continues_until else None
        # A process that was killed leaves its times. After a longer pause, that outage has ended.
        return known[0] if known is not None and now - known[1] < _LONGEST_HANDOVER_SECONDS else now


OUTAGE_MEMORY: ContextVar[OutageMemory | None] = ContextVar("OUTAGE_MEMORY", default=None)
"""The memory of the task that waits in this context; None if no other process continues the wait."""


class OutageTolerance:
    """Tolerates the failures of one outage for `seconds`, then raises the latest failure."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._memory = OUTAGE_MEMORY.get()
        self._since: float | None = None
        self._latest = 0.0

    def record_failure(self, error: Exception) -> None:
        """Record a failure.

        Raises:
            Exception: `error`, if the outage has lasted longer than the tolerance.
        """
        now = time.monotonic()
        if self._since is None or now - self._latest > _SAME_OUTAGE_SECONDS:
            self._since = now
        self._latest = now
        before = self._memory.record_failure() if self._memory is not None else 0.0
        if max(now - self._since, before) >= self.seconds:
            raise error

    async def measure_rest(self) -> float:
        """Return for how many more seconds the outage is tolerated."""
        before = await self._memory.measure() if self._memory is not None else 0.0
        lasted = 0.0 if self._since is None else time.monotonic() - self._since
        return max(0.0, self.seconds - max(lasted, before))

    def record_success(self) -> None:
        """Record that requests succeed again, which ends an outage."""
        self._since = None
        if self._memory is not None:
            self._memory.record_success()


class OutageLog:
    """Reports an outage: each cause once, and the end when no request fails any more.

    Args:
        subject: What waits for the API server, for messages.
        report: Where to report.
        tolerance: For how long the outage is tolerated.
    """

    def __init__(self, subject: str, report: Report, tolerance: OutageTolerance) -> None:
        self._subject = subject
        self._report = report
        self._tolerance = tolerance
        self._causes: set[str] = set()
        self._failing: set[str] = set()

    async def record_failure(self, error: Exception, *, request: str = "read") -> None:
        """Report the error, unless a request has already failed for the same cause in this outage.

        Args:
            error: The failure.
            request: Which of the requests that share this log failed.
        """
        self._failing.add(request)
        cause = error.message if isinstance(error, KubeError) else str(error)
        if cause in self._causes:
            return
        self._causes.add(cause)
        rest = await self._tolerance.measure_rest()
        limit = f"{rest / 60:.0f} min" if rest >= 60 else f"{rest:.0f} s"
        message = f"{self._subject}: the Kubernetes API is not available: {error}; retrying for up to {limit}"
        self._report(logging.WARNING, message)

    def record_success(self, server: str, *, request: str = "read") -> None:
        """Report the end of the outage, if there was one and no other request still fails.

        Args:
            server: The address of the API server.
            request: Which of the requests that share this log succeeded.
        """
        self._failing.discard(request)
        if self._causes and not self._failing:
            self._causes.clear()
            self._report(logging.INFO, f"{self._subject}: the Kubernetes API is available again at {server}")


async def retry(
    attempt: Callable[[], Awaitable[Result]], subject: str, report: Report, *, seconds: float = OUTAGE_TOLERANCE_SECONDS
) -> Result:
    """Repeat `attempt` while the API server is not available, and report the outage.

    Args:
        attempt: Opens its own client, or uses a client that reloads its configuration.
        subject: What is attempted, for messages.
        report: Where to report.
        seconds: For how many seconds to repeat the attempt.

    Raises:
        KubeError: The API server rejected the request, or was not available for longer than `seconds`.
        ConfigurationError: The configuration of the client was invalid for longer than `seconds`.
    """
    tolerance, backoff = OutageTolerance(seconds), Backoff(longest=_LONGEST_PAUSE_SECONDS)
    outage = OutageLog(subject, report, tolerance)
    while True:
        try:
            return await attempt()
        except (*TRANSIENT, ConfigurationError) as error:
            tolerance.record_failure(error)
            await outage.record_failure(error)
        await asyncio.sleep(backoff.next())
