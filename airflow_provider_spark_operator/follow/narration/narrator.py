"""Show what happens to an application: states with their times, executors, obstacles, and the driver's log."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from ...core.dialects.dialect import dialect_of
from ...core.dialects.progress import Phase, Progress, SettingNames, StateEntry
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ROLE_EXECUTOR
from ...core.kubernetes.pods import get_status
from ...core.lifecycle.executor_obstacles import describe_executor_wait
from ...core.log.driver_log import clean_sentence
from ...core.log.line_levels import LineLevels
from ...core.report.executor_log import ExecutorLog
from ...core.report.job_report import JobReport
from ...core.verdict.driver_reports import describe_refusal
from ...core.verdict.obstacles import describe_pod_wait
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import KubeError
from ..access import side_task
from ..access.pods import ExecutorCount, count_executors, find_blocked_container, list_executor_pods
from ..access.reference import ApplicationReference
from ..ending.evidence import read_warnings
from ..ending.executor_ends import ExecutorEnd
from ..recording.recorder import RunRecorder
from ..recording.spark_sampler import SparkSampler
from .driver_log import DriverLog, DriverLogOptions
from .obstacles import BACKGROUND, ObstacleWatch, Pauses, WaitState
from .sink import Sink, warn_about

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Narration:
    """Settings for one application: which parts a narrator shows, and where.

    Attributes:
        sink: Where it is shown.
        driver_log: How the driver's log is followed. None if the log is not shown.
        situation: Where the current state and obstacle are recorded.
        pauses: The seconds between two requests for pods.
        recorder: Keeps the record of the run. None if it is not recorded.
        sampler: Reads what Spark does. None if this is not measured.
    """

    sink: Sink
    driver_log: DriverLogOptions | None = None
    situation: WaitState = field(default_factory=WaitState)
    pauses: Pauses = field(default_factory=lambda: BACKGROUND)
    recorder: RunRecorder | None = None
    sampler: SparkSampler | None = None


class Narrator:
    """Shows what happens to one application, and keeps the last lines of its driver's log.

    Used as an asynchronous context manager, whose exit ends the narrator's tasks.

    Args:
        client: The client of the cluster. Objects that it may not read are omitted.
        reference: The application.
        narration: What is shown, and where.

    Attributes:
        recorder: Keeps the record of the run. None if it is not recorded.
    """

    def __init__(self, client: KubeClient, reference: ApplicationReference, narration: Narration) -> None:
        self._client = client
        self._reference = reference
        self._sink = sink = narration.sink
        self._warn = warn_about(reference, sink)
        self._driver: DriverLog | None = None
        if narration.driver_log is not None:
            self._driver = DriverLog(client, reference, sink, narration.driver_log, narration.recorder)
        self._situation, self._pauses = narration.situation, narration.pauses
        self._sampler = narration.sampler
        self.recorder = narration.recorder
        if self.recorder is not None:
            self.recorder.begin(client)
        self._obstacles = ObstacleWatch(client, reference, sink, self._situation, self._pauses, self.recorder)
        self._shown = set[tuple[str, datetime | None]]()
        self._message: str | None = None
        self._blocked: set[str] = set()  # the uids of executor pods
        self._executors_wait: str | None = None
        self._attempt = -1
        self._settings = SettingNames()
        self._executors: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Return the narrator. Nothing runs before the first call of `show`."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """End the tasks."""
        if self._driver is not None:
            await self._driver.close()
        await self._obstacles.close()
        if self._sampler is not None:
            await self._sampler.close()
        await side_task.stop(self._executors)

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The last informative lines of the driver's log that were streamed."""
        return self._driver.last_lines if self._driver is not None else ()

    @property
    def cause(self) -> str | None:
        """The cause of a failure that the driver's log names, as far as it was streamed."""
        return self._driver.cause if self._driver is not None else None

    @property
    def refusal(self) -> str | None:
        """The latest executor that the API rejected according to the driver's log, as far as it was streamed."""
        return self._driver.refusal if self._driver is not None else None

    @property
    def report(self) -> JobReport:
        """The report of the job in the driver's log, as far as it was streamed."""
        return self._driver.report if self._driver is not None else JobReport()

    @property
    def ended_driver(self) -> JsonObject | None:
        """The driver pod, if it was read after its end."""
        return self._driver.ended_pod if self._driver is not None else None

    @property
    def executors(self) -> ExecutorLog:
        """The executors in the driver's log, as far as it was streamed."""
        return self._driver.executors if self._driver is not None else ExecutorLog()

    @property
    def has_whole_log(self) -> bool:
        """Whether the driver's log was streamed from its first line to its end."""
        return self._driver is not None and self._driver.is_whole

    async def show(self, seen: Progress, resource: Mapping[str, Any]) -> None:
        """Show what is new in `seen`, the progress of `resource`: each state once, with the time when it began."""
        if seen.attempt != self._attempt:  # states without a time look the same in every attempt
            self._attempt = seen.attempt
            self._shown = {(state, time) for state, time in self._shown if time is not None}
        entries = _list_entries(seen)
        self._record_times(entries)
        self._settings = seen.settings
        new = [entry for entry in entries if (entry.state, entry.time) not in self._shown]
        self._shown |= {(entry.state, entry.time) for entry in new}
        await self._keep_up_with_driver(seen, resource)
        await self._obstacles.update(seen, resource)
        if new and seen.phase is not Phase.RUNNING:
            await side_task.stop(self._executors)
        new = [self._omit_repetition(entry) for entry in new]
        for entry in new[:-1]:
            self._sink.show_state(entry, None)
        if new:
            await self._show_present(
                new[-1], seen, dialect_of(resource.get("apiVersion")).count_wanted_executors(resource)
            )
        if self.recorder is not None:  # after the executors were counted
            self.recorder.update(seen, resource)
        if self._sampler is not None:
            self._sampler.update(self._client, seen, resource, self.show_remark)

    def _omit_repetition(self, entry: StateEntry) -> StateEntry:
        """Return the state without its message if the previous state had the same message."""
        is_repeated, self._message = entry.message == self._message, entry.message
        return replace(entry, message=None) if is_repeated else entry

    def show_last_lines(self, lines: Iterable[str]) -> None:
        """Show the end of a driver's log that was not streamed."""
        levels = LineLevels()
        for line in lines:
            self._sink.show_driver_line(line, levels.classify(line))

    def show_failure(self, events: Iterable[str], executors: Iterable[ExecutorEnd]) -> None:
        """Show what the cluster still knows about a failure: warnings, and the executors that failed."""
        self._sink.show_failure(events, executors)

    def show_remark(self, level: int, sentence: str) -> None:
        """Show a sentence about the narration itself, with its `logging` level."""
        self._sink.show_remark(level, sentence)

    async def observe(self, found: list[JsonObject]) -> None:
        """Record the pods of the application."""
        if self.recorder is not None:
            await self.recorder.observe(found)

    async def finish(self, seen: Progress) -> None:
        """Show the rest of the driver's log after the driver has ended."""
        if self._driver is not None:
            await self._driver.finish(seen)

    def _record_times(self, entries: Iterable[StateEntry]) -> None:
        """Record the times of states that were shown without: an application is Submitted before it has a status."""
        for entry in entries:
            if (entry.state, None) in self._shown:
                self._shown.remove((entry.state, None))
                self._shown.add((entry.state, entry.time))

    def follow_driver(self) -> None:
        """Follow the log of a driver that runs although no state reports it."""
        if self._driver is not None:
            self._driver.start()

    async def record_obstacle(self, seen: Progress, resource: Mapping[str, Any]) -> None:
        """Record the state and the obstacle of the application in the situation.

        Args:
            seen: The progress of `resource`.
            resource: The application.
        """
        await self._obstacles.update(seen, resource)
        await self._obstacles.check_at_once()

    async def show_log(self, seen: Progress, resource: Mapping[str, Any]) -> None:
        """Show the driver's log as far as it exists, without the states, which were shown before.

        Args:
            seen: The progress of `resource`.
            resource: The application.
        """
        await self._keep_up_with_driver(seen, resource)
        await self.finish(seen)

    async def _show_present(self, entry: StateEntry, seen: Progress, wanted: int) -> None:
        if seen.phase is not Phase.RUNNING:
            self._sink.show_state(entry, None)
            return
        found = await self._count(wanted)
        self._sink.show_state(entry, found)
        await side_task.stop(self._executors)
        if found and (self._pauses.keeps_counting or not found.is_complete):
            count = self._count_repeatedly(found, wanted)
            self._executors = side_task.start(count, "the number of its executors", self._warn)

    async def _count_repeatedly(self, last: ExecutorCount, wanted: int) -> None:
        # The pods are listed repeatedly and not watched. With a watch of the namespace, a triggerer would receive each
        # change of each executor.
        first, longest = self._pauses.executors
        backoff, had_fallen = Backoff(first=first, longest=longest), False
        while self._pauses.keeps_counting or not last.is_complete:
            await asyncio.sleep(backoff.next())
            found = await self._count(wanted)
            if found is None:
                continue
            # Spark stops all executors before the driver ends. Only a second count shows that they were lost.
            has_fallen = last.ready > 0 and found.ready == 0
            if str(found) != str(last) and (had_fallen or not has_fallen):
                self._sink.show_executors(found)
                last = found
            had_fallen = has_fallen

    async def _count(self, wanted: int) -> ExecutorCount | None:
        try:
            pods = await list_executor_pods(self._client, self._reference, self.observe, is_background=True)
        except KubeError as error:
            logger.debug("could not count the executors of %s: %s", self._reference, error)
            return None
        self._show_blocked(pods)
        await self._show_waiting(pods)
        return count_executors(pods, wanted)

    def _show_blocked(self, executors: Iterable[Mapping[str, Any]]) -> None:
        for pod in executors:
            container, uid = find_blocked_container(pod), pod["metadata"]["uid"]
            if container is not None and uid not in self._blocked:
                self._blocked.add(uid)
                self._sink.show_blocked_pod(ROLE_EXECUTOR, pod["metadata"]["name"], container)

    async def _show_waiting(self, executors: Sequence[Mapping[str, Any]]) -> None:
        """Show, once per change, why executors are not scheduled or cannot mount their volumes."""
        why = describe_executor_wait(executors)
        pending = [
            pod for pod in executors if get_status(pod).get("phase") == "Pending" and not find_blocked_container(pod)
        ]
        if why is None and pending:
            pod = pending[0]
            warnings = await read_warnings(self._client, self._reference, pod["metadata"]["uid"])
            why = describe_pod_wait(f"executor {pod['metadata']['name']}", pod, warnings)
        if why is None and self.refusal is not None:
            why = describe_refusal(self.refusal, self._settings)
        if why is not None and why != self._executors_wait:
            self._sink.show_obstacle(f"{self._reference}: {clean_sentence(why)}")
        self._executors_wait = self._situation.obstacle = why

    async def _keep_up_with_driver(self, seen: Progress, resource: Mapping[str, Any]) -> None:
        if self._driver is None:
            return
        self._driver.resume(resource)
        await self._driver.begin_attempt(seen.attempt)
        # Not earlier: thousands of queued applications would each request their driver pod again and again.
        if seen.phase is Phase.RUNNING or seen.driver_started:
            self._driver.start()


def _list_entries(seen: Progress) -> list[StateEntry]:
    present = StateEntry(seen.state, seen.since, seen.message)
    known = [*seen.history]
    if not any((entry.state, entry.time) == (present.state, present.time) for entry in known):
        known.append(present)
    return known
