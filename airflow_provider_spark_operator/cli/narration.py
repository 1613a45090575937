"""Telling what happens to an application while it runs: states and executors to stderr, the log to stdout."""

import asyncio
import errno
from contextlib import aclosing
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from airflow_provider_spark_operator.cli.errors import print_note
from airflow_provider_spark_operator.cli.streams import OutputError
from airflow_provider_spark_operator.core.dialects.progress import Progress
from airflow_provider_spark_operator.core.names import (
    LABEL_APPLICATION_NAME,
    LABEL_ROLE,
    ROLE_DRIVER,
    ROLE_EXECUTOR,
)
from airflow_provider_spark_operator.core.pods import is_ready
from airflow_provider_spark_operator.core.states import INITIALIZING, ApplicationState
from airflow_provider_spark_operator.follow.logs import follow_driver_log
from airflow_provider_spark_operator.follow.pods import blocked_container, why_blocked
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.kube.listwatch import Listed, Removed, list_and_watch
from airflow_provider_spark_operator.kube.resources import PODS
from airflow_provider_spark_operator.kube.transport import JsonObject

# The last lines of a driver that has ended come at once; a driver that is gone has none any more.
_LAST_LINES_SECONDS = 5.0
# The container can be started, but ends each time: Spark replaces an executor that does not come up.
_RESTARTED = "CrashLoopBackOff"
_WITHOUT_DRIVER = INITIALIZING | {ApplicationState.SCHEDULING_FAILURE, ApplicationState.RESOURCE_RELEASED}


class Narration:
    """Tells of one application from entering to leaving, as an asynchronous context.

    Args:
        client: for the cluster.
        reference: the application.

    Attributes:
        obstacle: set when the driver or an executor cannot be started; says which pod, why, and with what
            image. On a cluster of one's own nobody will mend it.
    """

    def __init__(self, client: KubeClient, reference: ApplicationReference) -> None:
        self._client = client
        self._reference = reference
        self._logs: dict[int, asyncio.Task[None]] = {}
        self._pods: asyncio.Task[None] | None = None
        self._ready: dict[str, bool] = {}
        self._told = ""
        self.obstacle: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Self:
        self._pods = asyncio.create_task(self._tell_pods())
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        logs = set(self._logs.values())
        if error is None and logs and not self.obstacle.done():
            await asyncio.wait(logs, timeout=_LAST_LINES_SECONDS)
        tasks = logs | ({self._pods} if self._pods else set())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self.obstacle.cancel()

    def on_progress(self, progress: Progress) -> None:
        """Tell of a state, and follow the log of the attempt's driver from when there is one."""
        since = (progress.since or datetime.now(UTC)).astimezone()
        print_note(f"{since:%H:%M:%S} {progress.state}{_explained(progress.message)}")
        if progress.state not in _WITHOUT_DRIVER and progress.attempt not in self._logs:
            self._logs[progress.attempt] = asyncio.create_task(self._print_log())

    async def _print_log(self) -> None:
        try:
            async with aclosing(follow_driver_log(self._client, self._reference)) as lines:
                async for line in lines:
                    print(line, flush=True)
        except OutputError as error:
            # The application goes on; `main` ends with an error in the end, unless the reader has just left.
            if error.errno != errno.EPIPE:
                print_note(f"the driver's log is not shown any more: {error}")
        except KubeError as error:
            print_note(f"the driver's log cannot be read: {error}")

    async def _tell_pods(self) -> None:
        selector = f"{LABEL_APPLICATION_NAME}={self._reference.name}"
        try:
            changes = list_and_watch(self._client, PODS, self._reference.namespace, label_selector=selector)
            async with aclosing(changes) as stream:
                async for change in stream:
                    if isinstance(change, Listed):
                        self._ready.clear()
                    for pod in change.items if isinstance(change, Listed) else [change.object]:
                        self._look_at(pod, gone=isinstance(change, Removed))
                    self._tell_executors()
        except KubeError as error:
            print_note(f"the pods cannot be watched: {error}")

    def _look_at(self, pod: JsonObject, *, gone: bool) -> None:
        name, role = pod["metadata"]["name"], pod["metadata"]["labels"].get(LABEL_ROLE)
        if role == ROLE_EXECUTOR and gone:
            self._ready.pop(name, None)
        elif role == ROLE_EXECUTOR:
            self._ready[name] = is_ready(pod)
        if not gone and not self.obstacle.done() and (obstacle := _obstacle(pod, name, role)):
            self.obstacle.set_result(obstacle)

    def _tell_executors(self) -> None:
        words = f"executors {sum(self._ready.values())}/{len(self._ready)}"
        if words != self._told and (self._ready or self._told):
            self._told = words
            print_note(f"{datetime.now(UTC).astimezone():%H:%M:%S} {words}")


def _obstacle(pod: JsonObject, name: str, role: str | None) -> str | None:
    """Why the driver or an executor cannot be started, None if it can."""
    container = blocked_container(pod)
    if container is None or role not in (ROLE_DRIVER, ROLE_EXECUTOR):
        return None
    if role == ROLE_EXECUTOR and container.reason == _RESTARTED:
        return None
    who = "the driver" if role == ROLE_DRIVER else f"executor pod {name}"
    return f"{who} cannot be started: {why_blocked(container)}"


def _explained(message: str | None) -> str:
    return f": {message}" if message else ""
