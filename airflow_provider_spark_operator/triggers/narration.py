"""Tell the log what happens to an application: its states with their times, executors, the driver's log."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress, StateEntry
from airflow_provider_spark_operator.core.last_lines import cleaned
from airflow_provider_spark_operator.core.line_levels import LineLevels
from airflow_provider_spark_operator.core.obstacles import executors_wait_for, pod_waits_for
from airflow_provider_spark_operator.core.pods import status_of
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.follow.evidence import warnings_about
from airflow_provider_spark_operator.follow.executor_ends import ExecutorEnd
from airflow_provider_spark_operator.follow.logs import LogPosition
from airflow_provider_spark_operator.follow.pods import (
    ExecutorCount,
    blocked_container,
    count,
    executor_pods,
    why_blocked,
)
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.triggers.driver_log import DriverLog
from airflow_provider_spark_operator.triggers.obstacle_watch import ObstacleWatch, Standing


class Narrator:
    """Tells one application's story to a log, and keeps the driver's last lines.

    Used as an asynchronous context manager: what it has started ends with it.

    Args:
        client: For executors and the driver's log; what it may not read is left out of the story.
        reference: The application.
        log: Where to tell it.
        with_driver_log: Whether the driver's log is told as it is written.
        reader: Whose log it is told to, a task instance's id: another narrator for the same one goes on where this
            one stops. None where nobody can take over.
        position: See `DriverLog`.
        standing: Where the present state, and what the application waits for, are kept.
    """

    def __init__(
        self,
        client: KubeClient,
        reference: ApplicationReference,
        log: logging.Logger,
        *,
        with_driver_log: bool,
        reader: str | None = None,
        position: LogPosition | None = None,
        standing: Standing | None = None,
    ) -> None:
        self._client = client
        self._reference = reference
        self._log = log
        self._driver: DriverLog | None = None
        if with_driver_log:
            self._driver = DriverLog(client, reference, log, reader=reader, position=position)
        self._standing = standing or Standing()
        self._obstacles = ObstacleWatch(client, reference, log, self._standing)
        self._told: set[tuple[str, datetime | None]] = set()
        self._blocked: set[str] = set()  # executors, by uid
        self._executors_wait: str | None = None
        self._attempt = -1
        self._executors: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Narrator":
        """Nothing runs before the first `tell`."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """End the streams."""
        if self._driver is not None:
            await self._driver.close()
        await self._obstacles.close()
        await _stopped(self._executors)

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The driver's last log lines that tell something, as far as they were streamed."""
        return self._driver.last_lines if self._driver is not None else ()

    @property
    def cause(self) -> str | None:
        """The cause of a failure that the driver's log names, as far as it was streamed."""
        return self._driver.cause if self._driver is not None else None

    @property
    def whole_log(self) -> bool:
        """Whether the driver's log was streamed from its first line to its end."""
        return self._driver is not None and self._driver.whole

    async def tell(self, seen: Progress, resource: Mapping[str, Any]) -> None:
        """Tell what is new in `seen`, the progress of `resource`: each state once, with the time it began."""
        if seen.attempt != self._attempt:  # without its time, a state of the attempt before has the same look
            self._attempt = seen.attempt
            self._told = {(state, time) for state, time in self._told if time is not None}
        new = [entry for entry in _entries(seen) if (entry.state, entry.time) not in self._told]
        self._told |= {(entry.state, entry.time) for entry in new}
        await self._keep_up_with_driver(seen, resource)
        await self._obstacles.update(seen, resource)
        if new and seen.phase is not Phase.RUNNING:
            await _stopped(self._executors)
        for entry in new[:-1]:
            self._say(entry)
        if new:
            await self._tell_present(new[-1], seen, dialect_of(resource.get("apiVersion")).wanted_executors(resource))

    def tell_last_lines(self, lines: Iterable[str]) -> None:
        """Tell the end of a driver's log that was not streamed."""
        levels = LineLevels()
        for line in lines:
            self._log.log(levels.level(line), "driver | %s", line)

    def tell_failure(self, events: Iterable[str], executors: Iterable[ExecutorEnd]) -> None:
        """Tell what the cluster still knows of a failure: its warnings, and the executors that failed."""
        for event in events:
            self._log.warning("event | %s", event)
        for executor in executors:
            self._log.warning("%s: executor %s ended with %s", self._reference, executor.pod, executor.how)
            for line in executor.log_lines:
                self._log.warning("%s | %s", executor.pod, line)

    async def finish(self, seen: Progress) -> None:
        """Show the rest of the driver's log: the driver has ended."""
        if self._driver is not None:
            await self._driver.finish(seen)

    def follow_driver(self) -> None:
        """Follow the log of a driver that runs although no state says so."""
        if self._driver is not None:
            self._driver.start()

    async def find_obstacle(self, seen: Progress, resource: Mapping[str, Any]) -> None:
        """Note the state and what the application waits for.

        Args:
            seen: The progress of `resource`.
            resource: The application.
        """
        await self._obstacles.update(seen, resource)
        await self._obstacles.look_once_more()

    async def read_log_of(self, seen: Progress, resource: Mapping[str, Any]) -> None:
        """Show the driver's log as far as it goes, and none of the states: they were told before.

        Args:
            seen: The progress of `resource`.
            resource: The application.
        """
        await self._keep_up_with_driver(seen, resource)
        await self.finish(seen)

    async def _tell_present(self, entry: StateEntry, seen: Progress, wanted: int) -> None:
        if seen.phase is not Phase.RUNNING:
            self._say(entry)
            return
        found = await self._count()
        self._say(entry, f", executors {_shown(found, wanted)}" if found else "")
        await _stopped(self._executors)
        if found and not _complete(found, wanted):
            self._executors = asyncio.create_task(self._await_executors(found, wanted))

    def _say(self, entry: StateEntry, more: str = "") -> None:
        since = f" since {entry.time.astimezone(UTC):%H:%M:%S} UTC" if entry.time else ""
        message = f": {entry.message}" if entry.message else ""
        self._log.info("%s: %s%s%s%s", self._reference, entry.state, more, since, message)

    async def _await_executors(self, last: ExecutorCount, wanted: int) -> None:
        # Asked for again, and not watched: a watch of the namespace's pods would bring a triggerer each change of each
        # executor there, for a number that people read while it is incomplete.
        backoff = Backoff(first=1.0, longest=30.0)
        while not _complete(last, wanted):
            await asyncio.sleep(backoff.next())
            found = await self._count()
            if found and found != last:
                self._log.info("%s: executors %s", self._reference, _shown(found, wanted))
                last = found

    async def _count(self) -> ExecutorCount | None:
        try:
            pods = await executor_pods(self._client, self._reference)
        except KubeError as error:
            self._log.debug("executors cannot be counted: %s", error)
            return None
        self._tell_blocked(pods)
        await self._tell_waiting(pods)
        return count(pods)

    def _tell_blocked(self, executors: Iterable[Mapping[str, Any]]) -> None:
        for pod in executors:
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            container = blocked_container(pod)
            if container is not None and uid not in self._blocked:
                self._blocked.add(uid)
                why = why_blocked(container)
                self._log.warning("%s: executor %s cannot be started: %s", self._reference, name, why)

    async def _tell_waiting(self, executors: Sequence[Mapping[str, Any]]) -> None:
        """Log, once per change, what keeps executors from a node, or from their volumes."""
        why = executors_wait_for(executors)
        pending = [pod for pod in executors if status_of(pod).get("phase") == "Pending" and not blocked_container(pod)]
        if why is None and pending:
            pod = pending[0]
            warnings = await warnings_about(self._client, self._reference, pod["metadata"]["uid"])
            why = pod_waits_for(f"executor {pod['metadata']['name']}", pod, warnings)
        if why is not None and why != self._executors_wait:
            self._log.warning("%s: %s", self._reference, cleaned(why))
        self._executors_wait = self._standing.obstacle = why

    async def _keep_up_with_driver(self, seen: Progress, resource: Mapping[str, Any]) -> None:
        if self._driver is None:
            return
        self._driver.resume(resource)
        await self._driver.begin_attempt(seen.attempt)
        # Not before it has started: a queue of waiting applications would ask for its drivers all the time.
        if seen.phase is Phase.RUNNING or seen.state == ApplicationState.DRIVER_STARTED:
            self._driver.start()


def seconds_per_state(seen: Progress) -> dict[str, float]:
    """How long each state of the recorded history lasted; the last one has no end and is left out."""
    seconds: dict[str, float] = {}
    for entry, following in zip(seen.history, seen.history[1:], strict=False):
        if entry.time and following.time:
            lasted = max(0.0, (following.time - entry.time).total_seconds())
            seconds[entry.state] = round(seconds.get(entry.state, 0.0) + lasted, 3)
    return seconds


def _entries(seen: Progress) -> list[StateEntry]:
    present = StateEntry(seen.state, seen.since, seen.message)
    known = [*seen.history]
    if not any((entry.state, entry.time) == (present.state, present.time) for entry in known):
        known.append(present)
    return known


def _complete(found: ExecutorCount, wanted: int) -> bool:
    # With dynamic allocation it is not known how many will come: at least one, and all that are there are to be ready.
    return found.ready >= max(wanted, found.present, 1)


def _shown(found: ExecutorCount, wanted: int) -> str:
    return f"{found.ready}/{max(wanted, found.present)}"


async def _stopped(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
