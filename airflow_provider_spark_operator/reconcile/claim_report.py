"""Reporting how many resources this controller drives, and how many it leaves to others."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from airflow_provider_spark_operator.reconcile.arbitration import ClaimCounts

logger = logging.getLogger(__name__)

_INTERVAL_SECONDS = 2.0


class ClaimReport:
    """Logs the counts of each kind, once after the start and whenever others' resources become more or fewer.

    Args:
        counts: Count the resources of a kind, by its name.
        interval: Seconds between two counts.
    """

    def __init__(self, counts: Mapping[str, Callable[[], ClaimCounts]], interval: float = _INTERVAL_SECONDS) -> None:
        self._counts = counts
        self._interval = interval
        self._reported: dict[str, tuple[int, int]] = {}

    async def run(self) -> None:
        """Report until cancelled."""
        while self._counts:
            await asyncio.sleep(self._interval)
            self.report()

    def report(self) -> None:
        """Log the counts of each kind that has changed."""
        for kind, count in self._counts.items():
            counts = count()
            others = counts.waiting, counts.left_alone
            if self._reported.get(kind) != others:
                self._reported[kind] = others
                logger.info(
                    "%s: %d managed by this controller, %d of another controller and not checked yet, %d left alone",
                    kind,
                    counts.claimed,
                    counts.waiting,
                    counts.left_alone,
                )
