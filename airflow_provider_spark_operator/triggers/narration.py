"""Tell the log what happens to an application: its states with their times, executors, the driver's log."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

from airflow.sdk import conf

from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress, StateEntry
from airflow_provider_spark_operator.core.names import ANNOTATION_LOG_POSITION
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.follow.annotate import annotate
from airflow_provider_spark_operator.follow.executor_ends import ExecutorEnd
from airflow_provider_spark_operator.follow.last_lines import LastLines
from airflow_provider_spark_operator.follow.logs import LogPosition, follow_driver_log
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

_SECTION = "spark_operator"
# A task's log is read by people: more than this is looked up where the cluster keeps its logs.
_LONGEST_LOG = 4 * 1024 * 1024
# Each stream is a connection of its own. Who comes later gets the last lines only, at the end.
_MOST_STREAMS = 200
_LAST_LINES_SECONDS = 5.0
# A triggerer that is killed leaves the lines of at most this time to be told again by the next one.
_NOTE_SECONDS = 30.0
_LAST_NOTE_SECONDS = 2.0

_streams: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()


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
    """

    def __init__(
        self,
        client: KubeClient,
        reference: ApplicationReference,
        log: logging.Logger,
        *,
        with_driver_log: bool,
        reader: str | None = None,
    ) -> None:
        self._client = client
        self._reference = reference
        self._log = log
        self._with_driver_log = with_driver_log
        self._told: set[tuple[str, datetime | None]] = set()
        self._tail = LastLines()
        self._reader = reader
        self._position: LogPosition | None = None
        self._noted = ""
        self._blocked: set[str] = set()  # executors, by uid
        self._attempt = -1
        self._driver: asyncio.Task[None] | None = None
        self._executors: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Narrator":
        """Nothing runs before the first `tell`."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """End the streams."""
        await _stopped(self._driver)
        await _stopped(self._executors)

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The driver's last log lines that tell something, as far as they were streamed."""
        return self._tail.kept

    async def tell(self, seen: Progress, resource: Mapping[str, Any]) -> None:
        """Tell what is new in `seen`, the progress of `resource`: each state once, with the time it began."""
        if seen.attempt != self._attempt:  # without its time, a state of the attempt before has the same look
            self._told = {(state, time) for state, time in self._told if time is not None}
        new = [entry for entry in _entries(seen) if (entry.state, entry.time) not in self._told]
        self._told |= {(entry.state, entry.time) for entry in new}
        if self._position is None:
            self._position = _position_of(resource, self._reader)
        await self._keep_up_with_driver(seen)
        if new and seen.phase is not Phase.RUNNING:
            await _stopped(self._executors)
        for entry in new[:-1]:
            self._say(entry)
        if new:
            await self._tell_present(new[-1], seen, dialect_of(resource.get("apiVersion")).wanted_executors(resource))

    def tell_last_lines(self, lines: Iterable[str]) -> None:
        """Tell the end of a driver's log that was not streamed."""
        for line in lines:
            self._log.info("driver | %s", line)

    def tell_failure(self, events: Iterable[str], executors: Iterable[ExecutorEnd]) -> None:
        """Tell what the cluster still knows of a failure: its warnings, and the executors that failed."""
        for event in events:
            self._log.warning("event | %s", event)
        for executor in executors:
            self._log.warning("%s: executor %s ended with %s", self._reference, executor.pod, executor.how)
            for line in executor.log_lines:
                self._log.warning("%s | %s", executor.pod, line)

    async def finish(self) -> None:
        """Give the driver's last lines the time to arrive: its container has ended."""
        if self._driver is not None:
            await asyncio.wait([self._driver], timeout=_LAST_LINES_SECONDS)

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
        return count(pods)

    def _tell_blocked(self, executors: Iterable[Mapping[str, Any]]) -> None:
        for pod in executors:
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            container = blocked_container(pod)
            if container is not None and uid not in self._blocked:
                self._blocked.add(uid)
                why = why_blocked(container)
                self._log.warning("%s: executor %s cannot be started: %s", self._reference, name, why)

    async def _keep_up_with_driver(self, seen: Progress) -> None:
        if seen.attempt != self._attempt:
            await _stopped(self._driver)
            self._attempt, self._driver = seen.attempt, None
            self._tail.clear()
        # Not before it has started: a queue of waiting applications would ask for its drivers all the time.
        started = seen.phase is Phase.RUNNING or seen.state == ApplicationState.DRIVER_STARTED
        if self._with_driver_log and self._driver is None and started:
            self._driver = asyncio.create_task(self._tell_driver_log())

    async def _tell_driver_log(self) -> None:
        loop = asyncio.get_running_loop()
        most = conf.getint(_SECTION, "driver_log_streams", fallback=_MOST_STREAMS)
        if _streams.get(loop, 0) >= most:
            self._log.info("%d drivers' logs are being shown already: this one's last lines follow at the end", most)
            return
        _streams[loop] = _streams.get(loop, 0) + 1
        try:
            await self._tell_driver_lines()
        except KubeError as error:
            self._log.warning("the driver's log cannot be read: %s", error)
        finally:
            _streams[loop] -= 1

    async def _tell_driver_lines(self) -> None:
        position = self._position = self._position or LogPosition()
        if position.since is not None:
            self._log.info("the driver's log goes on after %s UTC", f"{position.since.astimezone(UTC):%H:%M:%S}")
        longest = conf.getint(_SECTION, "driver_log_bytes", fallback=_LONGEST_LOG)
        lines = follow_driver_log(self._client, self._reference, longest=longest, position=position)
        loop = asyncio.get_running_loop()
        noted = loop.time()
        try:
            async with aclosing(lines) as stream:
                async for line in stream:
                    self._tail.add(line)
                    self._log.info("driver | %s", line)
                    if loop.time() - noted >= _NOTE_SECONDS:
                        noted = loop.time()
                        await self._note(position)
        except asyncio.CancelledError:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_NOTE_SECONDS):
                    await self._note(position)
            raise

    async def _note(self, position: LogPosition) -> None:
        """Note on the application how far its log is told, for a triggerer that takes over."""
        note = f"{self._reader} {position.to_text()}"
        if self._reader is None or not position.stamp or note == self._noted:
            return
        try:
            await annotate(self._client, self._reference, {ANNOTATION_LOG_POSITION: note})
            self._noted = note
        except KubeError as error:  # some lines may be told twice; nothing else hangs on it
            self._log.debug("the position in the log is not noted: %s", error)


def _position_of(resource: Mapping[str, Any], reader: str | None) -> LogPosition:
    note = (resource["metadata"].get("annotations") or {}).get(ANNOTATION_LOG_POSITION, "")
    noted_reader, _, text = note.partition(" ")
    return LogPosition.from_text(text) if reader is not None and noted_reader == reader else LogPosition()


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
