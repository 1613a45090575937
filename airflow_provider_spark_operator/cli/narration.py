"""Telling what happens to an application while it runs: states and executors to stderr, the log to stdout."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from airflow_provider_spark_operator.cli.errors import print_note
from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress
from airflow_provider_spark_operator.core.names import LABEL_APPLICATION_NAME, LABEL_ROLE, ROLE_EXECUTOR
from airflow_provider_spark_operator.core.pods import is_ready
from airflow_provider_spark_operator.core.states import INITIALIZING
from airflow_provider_spark_operator.follow.logs import follow_driver_log
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.kube.listwatch import Changed, Listed, Removed, list_and_watch
from airflow_provider_spark_operator.kube.resources import PODS

# The last lines of a driver that has ended come at once; a driver that is gone has none any more.
_LAST_LINES_SECONDS = 5.0


class Narration:
    """Tells of one application from entering to leaving, as an asynchronous context.

    Args:
        client: for the cluster.
        reference: the application.
    """

    def __init__(self, client: KubeClient, reference: ApplicationReference) -> None:
        self._client = client
        self._reference = reference
        self._logs: dict[int, asyncio.Task[None]] = {}
        self._executors: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._executors = asyncio.create_task(self._tell_executors())
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        logs = set(self._logs.values())
        if error is None and logs:
            await asyncio.wait(logs, timeout=_LAST_LINES_SECONDS)
        tasks = logs | ({self._executors} if self._executors else set())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def on_progress(self, progress: Progress) -> None:
        """Tell of a state, and follow the log of the attempt's driver from when there is one."""
        since = (progress.since or datetime.now(UTC)).astimezone()
        print_note(f"{since:%H:%M:%S} {progress.state}{_explained(progress.message)}")
        waiting = progress.phase is Phase.WAITING and progress.state in INITIALIZING
        if not waiting and progress.phase is not Phase.ENDED and progress.attempt not in self._logs:
            self._logs[progress.attempt] = asyncio.create_task(self._print_log())

    async def _print_log(self) -> None:
        try:
            async with aclosing(follow_driver_log(self._client, self._reference)) as lines:
                async for line in lines:
                    print(line, flush=True)
        except KubeError as error:
            print_note(f"the driver's log cannot be read: {error}")

    async def _tell_executors(self) -> None:
        selector = f"{LABEL_APPLICATION_NAME}={self._reference.name},{LABEL_ROLE}={ROLE_EXECUTOR}"
        ready: dict[str, bool] = {}
        told = ""
        try:
            changes = list_and_watch(self._client, PODS, self._reference.namespace, label_selector=selector)
            async with aclosing(changes) as stream:
                async for change in stream:
                    match change:
                        case Listed(items):
                            ready = {item["metadata"]["name"]: is_ready(item) for item in items}
                        case Changed(pod):
                            ready[pod["metadata"]["name"]] = is_ready(pod)
                        case Removed(pod):
                            ready.pop(pod["metadata"]["name"], None)
                    words = f"executors {sum(ready.values())}/{len(ready)}"
                    if words != told and (ready or told):
                        told = words
                        print_note(f"{datetime.now(UTC).astimezone():%H:%M:%S} {words}")
        except KubeError as error:
            print_note(f"executors cannot be watched: {error}")


def _explained(message: str | None) -> str:
    return f": {message}" if message else ""
