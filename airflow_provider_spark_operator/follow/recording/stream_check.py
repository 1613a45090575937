"""Check the streaming queries of an application while a process waits for its end."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Final

from ...core.kubernetes.pods import get_status, read_phase
from ...core.lifecycle.driver_end import get_driver_container
from ...core.report.job_report import JobReport, parse_line
from ...core.report.stream_health import WINDOW, StreamGoal, StreamHealth
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, KubeError
from ..access.pods import has_ended, read_driver_pod
from ..access.reference import ApplicationReference
from ..access.side_task import run_beside

_LINES: Final = 10_000
_LONGEST: Final = 4 * 1024 * 1024


class StreamCheck:
    """The check of the queries of one application.

    The check reads the latest lines of the driver's log itself: the log of a task ends at a limit, and can be disabled.

    Args:
        reference: The application.
        goal: What the task expects of the queries.
        warn: Shows a warning, which begins with a verb.

    Attributes:
        health: The health of the queries. None before the first check.
    """

    def __init__(self, reference: ApplicationReference, goal: StreamGoal, warn: Callable[[str], None]) -> None:
        self._reference = reference
        self._goal = goal
        self._warn = warn
        self.health: StreamHealth | None = None

    def limit(self, client: KubeClient, wait: asyncio.Timeout) -> AbstractAsyncContextManager[None]:
        """Check the queries during the block, and let it time out if the task must not wait any longer.

        Args:
            client: The client of the cluster.
            wait: The timeout of the block.
        """
        return run_beside(self._follow(client, wait), "the check of its streaming queries", self._warn)

    async def _follow(self, client: KubeClient, wait: asyncio.Timeout) -> None:
        clock = asyncio.get_running_loop().time
        self.health = health = StreamHealth(self._goal, clock())
        is_refused = False
        while health.reached is None and health.stalled is None:
            await asyncio.sleep(health.pause)
            report = None
            try:
                report = await _read_report(client, self._reference)
            except Forbidden as error:
                if not is_refused:
                    self._warn(f"is followed without the check of its streaming queries: {error}. Grant the permission")
                is_refused = True
            except KubeError:
                pass  # the next read can succeed
            warning = health.check(report, clock())
            if warning is not None:
                self._warn(warning)
        wait.reschedule(0)


async def _read_report(client: KubeClient, reference: ApplicationReference) -> JobReport | None:
    """Return what the job has reported lately. None if no driver runs.

    Raises:
        KubeError: The API rejected a request or could not be reached.
    """
    report = JobReport()
    pod = await read_driver_pod(client, reference)
    if pod is None or has_ended(pod) or read_phase(get_status(pod)) != "running":
        return None
    stream = client.logs(
        reference.namespace,
        pod["metadata"]["name"],
        container=get_driver_container(pod),
        since_time=client.get_time() - WINDOW,
        tail_lines=_LINES,
        limit_bytes=_LONGEST,
    )
    async with aclosing(stream) as lines:
        async for line in lines:
            report |= parse_line(line) or JobReport()
    return report
