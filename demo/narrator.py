"""Show what happens on the cluster while the demo runs: states, executors, lines of the driver, verdicts."""

import asyncio
import re
from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress
from datetime import UTC, datetime

from airflow_provider_spark_operator.core.dialects.progress import StateEntry
from airflow_provider_spark_operator.core.kubernetes.pods import ContainerStatus
from airflow_provider_spark_operator.follow.access.pods import ExecutorCount
from airflow_provider_spark_operator.follow.access.reference import ApplicationDeleted, ApplicationReference
from airflow_provider_spark_operator.follow.ending.executor_ends import ExecutorEnd
from airflow_provider_spark_operator.follow.narration.driver_log import DriverLogOptions
from airflow_provider_spark_operator.follow.narration.narrator import Narration
from airflow_provider_spark_operator.follow.narration.obstacles import ATTENDED
from airflow_provider_spark_operator.follow.watching.wait import wait_for_end
from airflow_provider_spark_operator.follow.watching.watch import WatchHub
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.listwatch import Listed, Removed, list_and_watch
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS

# A line of Spark's log begins with a date or a level. The job itself printed the other lines.
SPARK_LOG_LINE = re.compile(
    r"^(\d\d(\d\d)?[-/]\d\d|WARNING:|Setting default log level|To adjust logging|Using Spark's|\s)"
)


class DemoSink:
    """The sink of the demo.

    Args:
        name: The name of the application.
        say: Receives the name and each line of text.
    """

    def __init__(self, name: str, say: Callable[[str, str], None]) -> None:
        self._name = name
        self._say = say
        self._executors = ""

    def show_state(self, entry: StateEntry, executors: ExecutorCount | None) -> None:
        """Show the state, and the executors of an application that runs."""
        self._say(self._name, entry.state)
        if executors is not None:
            self.show_executors(executors)

    def show_executors(self, executors: ExecutorCount) -> None:
        """Show the number of executors, unless there are none or the same number was shown before."""
        if executors.present and (text := str(executors)) != self._executors:
            self._say(self._name, text)
            self._executors = text

    def show_obstacle(self, sentence: str) -> None:
        """Show what the application waits for."""
        self._say(self._name, sentence)

    def show_blocked_pod(self, role: str, name: str, container: ContainerStatus) -> None:
        """Show nothing, because the images of the demo exist."""

    def show_driver_line(self, line: str, level: int) -> None:  # noqa: ARG002 - only lines without a level are shown
        """Show a line that the job itself printed."""
        if line.strip() and not SPARK_LOG_LINE.match(line):
            self._say(self._name, f"driver: {line.rstrip()}")

    def show_failure(self, events: Iterable[str], executors: Iterable[ExecutorEnd]) -> None:
        """Show nothing, because the verdict contains the cause of the failure."""

    def show_remark(self, level: int, sentence: str) -> None:
        """Show nothing, because the log of the task contains the remark."""


async def narrate(client: KubeClient, namespace: str, say: Callable[[str, str], None]) -> None:
    """Show what happens to every application of a namespace, until cancelled.

    Args:
        client: The client for the cluster.
        namespace: The namespace.
        say: Receives the name of an application and each line of text.
    """
    hub, known = WatchHub(client), set[str]()
    try:
        async with (
            asyncio.TaskGroup() as group,
            aclosing(list_and_watch(client, SPARK_APPLICATIONS, namespace)) as changes,
        ):
            async for change in changes:
                if isinstance(change, Removed):
                    continue
                for application in change.items if isinstance(change, Listed) else [change.object]:
                    reference = ApplicationReference.of(application)
                    if reference.uid not in known:
                        known.add(reference.uid)
                        group.create_task(_follow(hub, reference, say))
    finally:
        await hub.close()


async def _follow(hub: WatchHub, reference: ApplicationReference, say: Callable[[str, str], None]) -> None:
    narration = Narration(DemoSink(reference.name, say), DriverLogOptions(), pauses=ATTENDED)
    with suppress(ApplicationDeleted):
        conclusion = await wait_for_end(hub, reference, narration)
        say(reference.name, f"verdict: {conclusion.verdict.sentence}")


def format_line(subject: str, text: str) -> str:
    """Format one line of the narration: the time in UTC, the subject and the text."""
    return f"{datetime.now(UTC):%H:%M:%S}  {subject:<18} {text}"
