"""Check the budget of an application while a process waits for its end."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from ...core.kubernetes.json_object import JsonObject
from ...core.report.budget import FIRST_SECONDS, Budget, BudgetWatch
from ..access.side_task import run_beside
from .recorder import RunRecorder


class BudgetCheck:
    """The check of one budget during the wait for the end of an application.

    Args:
        budget: The budget.
        recorder: Keeps the record of the run.
        warn: Shows a warning, which begins with a verb.

    Attributes:
        budget: The budget.
        exceeded: The figures of the exceeded limit, if the application must be ended. Otherwise None.
    """

    def __init__(self, budget: Budget, recorder: RunRecorder, warn: Callable[[str], None]) -> None:
        self.budget = budget
        self._watch = BudgetWatch(budget)
        self._recorder = recorder
        self._warn = warn
        self.exceeded: str | None = None

    def limit(self, wait: asyncio.Timeout) -> AbstractAsyncContextManager[None]:
        """Check the budget during the block, and let the block time out if the budget is exceeded.

        Args:
            wait: The timeout of the block.
        """
        return run_beside(self.follow(lambda: wait.reschedule(0)), "the check of its budget", self._warn)

    async def follow(self, end_wait: Callable[[], None]) -> None:
        """Check the budget until it is exceeded.

        Args:
            end_wait: Ends the wait, so that the application can be ended.
        """
        pause = FIRST_SECONDS
        while self.exceeded is None:
            await asyncio.sleep(pause)
            # Building a record takes milliseconds, or more with many executors.
            pause = self._check(await asyncio.to_thread(self._recorder.build))
        end_wait()

    def conclude(self, record: JsonObject | None) -> None:
        """Warn of the use that the final record shows. The application has ended, so it cannot be ended any more.

        Args:
            record: The final record.
        """
        self._check(record)

    def _check(self, record: JsonObject | None) -> float:
        finding = self._watch.check(record)
        for figures in finding.warnings:
            self._warn(f"has used {figures}")
        self.exceeded = finding.exceeded
        return finding.seconds
