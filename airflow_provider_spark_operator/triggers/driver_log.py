"""Copy the log of an application's driver to the log of its task, across restarts of the triggerer."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

from airflow.sdk import conf

from airflow_provider_spark_operator.core.dialects.progress import Progress, driver_period, had_driver
from airflow_provider_spark_operator.core.last_lines import LastLines
from airflow_provider_spark_operator.core.line_levels import LineLevels
from airflow_provider_spark_operator.core.names import ANNOTATION_LOG_POSITION
from airflow_provider_spark_operator.core.root_cause import RootCause
from airflow_provider_spark_operator.follow.annotate import annotate
from airflow_provider_spark_operator.follow.logs import LogPosition, follow_driver_log, follow_pod_log
from airflow_provider_spark_operator.follow.pods import driver_pod
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError

_SECTION = "spark_operator"
# A task's log is read by people. Longer logs belong in the cluster's log store.
_LONGEST_LOG = 4 * 1024 * 1024
# Each stream is a connection. Drivers beyond this number are read at their end.
_MOST_STREAMS = 200
# A driver that has ended has no more lines after this pause.
_PAUSE_SECONDS = 5.0
# The longest time for which a task waits for the rest of a log.
_REST_SECONDS = 60.0
# The position is noted soon after the first lines, then at this interval. After a triggerer was killed, the lines of at
# most one interval are shown twice.
_FIRST_NOTE_SECONDS = 2.0
_NOTE_SECONDS = 30.0
_LAST_NOTE_SECONDS = 2.0
# Begins the lines that tell which part of the log is missing. The driver did not write them.
_REMARK = "… "

_streams: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()


class DriverLog:
    """The log of one application's drivers, one attempt after another.

    Args:
        client: The client for the cluster.
        reference: The application.
        log: The task's log.
        reader: The id of the task instance. Another reader with the same id continues where this one stops. None if
            no other reader can take over.
        position: A position that outlives this object. None starts at the position noted on the application.
    """

    def __init__(
        self,
        client: KubeClient,
        reference: ApplicationReference,
        log: logging.Logger,
        *,
        reader: str | None = None,
        position: LogPosition | None = None,
    ) -> None:
        self._client = client
        self._reference = reference
        self._log = log
        self._reader = reader
        self._position = position or LogPosition()
        self._resumed = bool(self._position.stamp)
        self._noted = ""
        self._tail = LastLines()
        self._cause = RootCause()
        self._levels = LineLevels()
        self._lines = 0
        self._attempt = -1
        self._task: asyncio.Task[None] | None = None
        self._from_start = False  # the log was read from its first line
        self._complete = False  # the log was read to its end, or as far as its limit

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The last lines of the driver's log that tell something, as far as they were read."""
        return self._tail.kept

    @property
    def cause(self) -> str | None:
        """The cause of a failure that the log names, as far as it was read."""
        return self._cause.sentence

    @property
    def whole(self) -> bool:
        """Whether the log was read from its first line to its end."""
        return self._from_start and self._position.whole

    def resume(self, resource: Mapping[str, Any]) -> None:
        """Continue at the position that an earlier reader has noted on the application."""
        if not self._resumed:
            self._resumed = True
            noted = _position_of(resource, self._reader)
            self._position.pod, self._position.stamp, self._position.count = noted.pod, noted.stamp, noted.count

    async def begin_attempt(self, attempt: int) -> None:
        """Stop reading the log of the attempt before, unless `attempt` is being read already."""
        if attempt == self._attempt:
            return
        self._attempt = attempt
        await self.close()
        self._task, self._complete, self._lines = None, False, 0
        self._tail, self._cause, self._levels = LastLines(), RootCause(), LineLevels()

    def start(self) -> None:
        """Follow the log of the present driver, unless it is followed already."""
        if self._task is None:
            self._task = asyncio.create_task(self._follow())

    async def finish(self, seen: Progress) -> None:
        """Read the rest of the log of a driver that has ended, and log which part of it cannot be read.

        Args:
            seen: The progress of the application, whose driver has ended.
        """
        if self._task is None or (self._task.done() and not self._complete):
            self._task = asyncio.create_task(self._read_rest(seen))
        deadline = asyncio.get_running_loop().time() + _REST_SECONDS
        read = -1
        while not self._task.done() and read < self._lines and asyncio.get_running_loop().time() < deadline:
            read = self._lines
            await asyncio.wait([self._task], timeout=_PAUSE_SECONDS)
        if not self._task.done():
            await self._leave_deleted_driver(seen)

    async def close(self) -> None:
        """Stop reading."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _leave_deleted_driver(self, seen: Progress) -> None:
        """Stop waiting for a driver pod that was deleted before its log was found."""
        with suppress(KubeError):
            if await driver_pod(self._client, self._reference) is None:
                await self.close()
                self._complete = True
                self._warn_of_gap(seen)

    async def _follow(self) -> None:
        with self._stream() as free:
            if not free:
                most = _most_streams()
                self._log.info("%d drivers' logs are being shown already: this one's follows at the end", most)
                return
            await self._show(follow_driver_log(self._client, self._reference, **self._options()))

    async def _read_rest(self, seen: Progress) -> None:
        """Read the log if the driver pod still exists."""
        try:
            pod = await driver_pod(self._client, self._reference)
        except KubeError as error:
            self._log.warning("the driver's log cannot be read: %s", error)
            return
        if pod is None:
            self._warn_of_gap(seen)
            return
        with self._stream() as free:
            if free:
                await self._show(follow_pod_log(self._client, self._reference, pod, **self._options()))

    async def _show(self, lines: AsyncGenerator[str, None]) -> None:
        position = self._position
        self._from_start = not position.stamp
        if position.since is not None:
            self._log.info("the driver's log goes on after %s UTC", f"{position.since.astimezone(UTC):%H:%M:%S}")
        noting = asyncio.create_task(self._note_regularly(position))
        try:
            async with aclosing(lines) as stream:
                async for line in stream:
                    self._lines += 1
                    if not line.startswith(_REMARK):
                        self._tail.add(line)
                        self._cause.add(line)
                    self._log.log(self._levels.level(line), "driver | %s", line)
            self._complete = True
        except KubeError as error:
            self._log.warning("the driver's log cannot be read: %s", error)
            self._complete = True  # a missing permission does not come back at the end
        except asyncio.CancelledError:
            noting.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_NOTE_SECONDS):
                    await self._note(position)
            raise
        finally:
            noting.cancel()
            await asyncio.gather(noting, return_exceptions=True)

    def _warn_of_gap(self, seen: Progress) -> None:
        if not had_driver(seen):
            return
        begin, end = driver_period(seen)
        shown = self._position.since
        if shown is not None and end is not None and shown.replace(microsecond=0) >= end.replace(microsecond=0):
            return  # the status has whole seconds: the last line shown is from the second of the end
        begin = shown or begin
        since = f" after {_clock(begin)}" if begin else ""
        until = f" until its end at {_clock(end)}" if end else ""
        zone = " UTC" if begin or end else ""
        message = "the driver's log%s%s%s is not available: the driver pod was deleted%s"
        # The position is noted from time to time: a triggerer that was killed has shown more than it noted.
        above = f"; lines after {_clock(shown)} may already be shown above" if shown and not self._lines else ""
        self._log.warning(message, since, until, zone, above)

    def _options(self) -> dict[str, Any]:
        longest = conf.getint(_SECTION, "driver_log_bytes", fallback=_LONGEST_LOG)
        return {"longest": longest, "position": self._position}

    async def _note_regularly(self, position: LogPosition) -> None:
        pause = _FIRST_NOTE_SECONDS
        while True:
            await asyncio.sleep(pause)
            if position.stamp:
                pause = _NOTE_SECONDS
            await self._note(position)

    async def _note(self, position: LogPosition) -> None:
        """Note on the application how far its log was shown, for a triggerer that takes over."""
        note = f"{self._reader} {position.to_text()}"
        if self._reader is None or not position.stamp or note == self._noted:
            return
        try:
            await annotate(self._client, self._reference, {ANNOTATION_LOG_POSITION: note})
            self._noted = note
        except KubeError as error:  # some lines may be shown twice; nothing else depends on it
            self._log.debug("the position in the log is not noted: %s", error)

    @contextmanager
    def _stream(self) -> Iterator[bool]:
        """Count a stream while it is open; whether there is room for it."""
        loop = asyncio.get_running_loop()
        if _streams.get(loop, 0) >= _most_streams():
            yield False
            return
        _streams[loop] = _streams.get(loop, 0) + 1
        try:
            yield True
        finally:
            _streams[loop] -= 1


def _most_streams() -> int:
    return conf.getint(_SECTION, "driver_log_streams", fallback=_MOST_STREAMS)


def _position_of(resource: Mapping[str, Any], reader: str | None) -> LogPosition:
    note = (resource["metadata"].get("annotations") or {}).get(ANNOTATION_LOG_POSITION, "")
    noted_reader, _, text = note.partition(" ")
    return LogPosition.from_text(text) if reader is not None and noted_reader == reader else LogPosition()


def _clock(time: datetime) -> str:
    return f"{time.astimezone(UTC):%H:%M:%S}"
