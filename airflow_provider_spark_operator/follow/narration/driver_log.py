"""Show the log of an application's driver, across attempts and across restarts of the reader."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ...core.dialects.progress import Progress, find_driver_period, had_driver
from ...core.kubernetes.names import ANNOTATION_LOG_POSITION
from ...core.log.driver_log import LastLines
from ...core.log.line_levels import LineLevels
from ...core.log.root_cause import RootCause
from ...core.parameters.arguments import LONGEST_LOG
from ...core.report.executor_log import ExecutorLog
from ...core.report.job_report import JobReport, parse_line
from ...kube.client import KubeClient
from ...kube.errors import KubeError
from ..access import side_task
from ..access.pods import has_ended, read_driver_pod
from ..access.reference import ApplicationReference
from ..access.requests import annotate
from ..logs.logs import LogPosition, follow_driver_log, follow_pod_log
from ..recording.recorder import RunRecorder
from .sink import Sink, warn_about

if TYPE_CHECKING:
    from ...core.kubernetes.json_object import JsonObject

logger = logging.getLogger(__name__)

# A driver that has ended writes no more lines after this pause.
_PAUSE_SECONDS = 5.0
# The maximum time for which a task waits for the rest of a log.
_REST_SECONDS = 60.0
# The position is saved soon after the first lines, then at this interval. If a reader is killed, the lines of at most
# one interval are shown twice.
_FIRST_SAVE_SECONDS = 2.0
_SAVE_SECONDS = 30.0
_LAST_SAVE_SECONDS = 2.0
# The most logs that are read at the same time if a thousand drivers end together. Each needs a connection.
_CONCURRENT_RESTS = 32
_QUEUE_SECONDS = 300.0
# The prefix of lines that report a missing part of the log. The driver did not write these lines.
_REMARK = "… "

_streams: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()
_rests: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@dataclass(frozen=True)
class DriverLogOptions:
    """How the log of a driver is read.

    Attributes:
        reader: The id of the reader, such as the id of a task instance. Another reader with the same id continues where
            this reader stops. None if no other reader can continue.
        position: The position in the log, which outlives a `DriverLog`. An empty position starts at the position that
            is saved on the application.
        longest: The maximum number of bytes that are shown of one log.
        most_streams: The maximum number of logs that are followed at the same time in this event loop. The logs of
            further drivers are read when the drivers end. If None, there is no limit.
    """

    reader: str | None = None
    position: LogPosition = field(default_factory=LogPosition)
    longest: int = LONGEST_LOG
    most_streams: int | None = None


class DriverLog:
    """The log of the drivers of one application, one attempt after another.

    Args:
        client: The client of the cluster.
        reference: The application.
        sink: Where the lines are shown.
        options: How the log is read.
        recorder: Receives what the job reports. None if the run is not recorded.

    Attributes:
        report: What the job of the current attempt has reported, as far as the log was read.
        executors: The executors of the current attempt that the log shows, as far as it was read.
        ended_pod: The driver pod, as it was when the rest of its log was read. None if it was not read then.
    """

    def __init__(
        self,
        client: KubeClient,
        reference: ApplicationReference,
        sink: Sink,
        options: DriverLogOptions,
        recorder: RunRecorder | None = None,
    ) -> None:
        self._client = client
        self._reference = reference
        self._sink = sink
        self._warn = warn_about(reference, sink)
        self._options = options
        self._recorder = recorder
        self.report, self.executors = JobReport(), ExecutorLog()
        self.ended_pod: JsonObject | None = None
        self._reader = options.reader
        self._position = options.position
        self._resumed = bool(self._position.timestamp)
        self._noted = ""
        self._tail = LastLines()
        self._cause = RootCause()
        self._levels = LineLevels()
        self._lines = 0
        self._attempt = -1
        self._task: asyncio.Task[None] | None = None
        self._is_queued = False  # the rest of the log is read when fewer other logs are read
        self._from_start = False  # the log was read from its first line
        self._complete = False  # the log was read to its end or to its limit

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The last informative lines of the driver's log that were read."""
        return self._tail.lines

    @property
    def cause(self) -> str | None:
        """The cause of a failure that the log names, as far as it was read."""
        return self._cause.located_sentence

    @property
    def refusal(self) -> str | None:
        """The latest executor that the API rejected according to the log, as far as it was read."""
        return self._cause.refusal

    @property
    def is_whole(self) -> bool:
        """Whether the log was read from its first line to its end."""
        return self._from_start and self._position.whole

    def resume(self, resource: Mapping[str, Any]) -> None:
        """Continue at the position that an earlier reader saved on the application."""
        if not self._resumed:
            self._resumed = True
            noted = _position_of(resource, self._reader)
            self._position.pod, self._position.timestamp, self._position.count = noted.pod, noted.timestamp, noted.count

    async def begin_attempt(self, attempt: int) -> None:
        """Stop reading the log of the previous attempt, unless `attempt` is already being read."""
        if attempt == self._attempt:
            return
        self._attempt = attempt
        await self.close()
        self._task, self._complete, self._from_start, self._lines, self._is_queued = None, False, False, 0, False
        self._tail, self._cause, self._levels, self.report = LastLines(), RootCause(), LineLevels(), JobReport()
        self.executors = ExecutorLog()
        self.ended_pod = None

    def start(self) -> None:
        """Follow the log of the current driver, unless it is already being followed."""
        if self._task is None:
            self._task = side_task.start(self._follow(), "the driver's log", self._warn)

    async def finish(self, seen: Progress) -> None:
        """Read the rest of the log of a driver that has ended, and report the part that cannot be read.

        Args:
            seen: The progress of the application, whose driver has ended.
        """
        if self._task is None or (self._task.done() and not self._complete):
            self._is_queued = True
            self._task = side_task.start(self._read_rest(seen), "the rest of the driver's log", self._warn)
        loop, read = asyncio.get_running_loop(), -1
        last, deadline = loop.time() + _QUEUE_SECONDS, loop.time() + _REST_SECONDS
        while not self._task.done() and read < self._lines and loop.time() < deadline:
            was_queued = self._is_queued
            read = -1 if was_queued else self._lines
            await asyncio.wait([self._task], timeout=_PAUSE_SECONDS)
            if was_queued:
                deadline = min(last, loop.time() + _REST_SECONDS)
        if self._is_queued and not self._task.done():
            self._show_remark(logging.WARNING, "other logs were read for too long; the log of this driver is not shown")
        if not self._task.done():
            await self._leave_deleted_driver(seen)

    async def close(self) -> None:
        """Stop reading."""
        await side_task.stop(self._task)

    async def _leave_deleted_driver(self, seen: Progress) -> None:
        """Stop waiting for a driver pod that was deleted before its log was found."""
        with suppress(KubeError):
            if await read_driver_pod(self._client, self._reference) is None:
                await self.close()
                self._complete = True
                self._warn_of_gap(seen)

    async def _follow(self) -> None:
        with self._count_stream() as is_free:
            if not is_free:
                limit = f"{self._options.most_streams} driver logs are already being streamed"
                self._show_remark(logging.INFO, f"{limit}; the log of this driver is shown when it ends")
                return
            options, position = self._options, self._position
            lines = follow_driver_log(self._client, self._reference, longest=options.longest, position=position)
            await self._show(lines)

    async def _read_rest(self, seen: Progress) -> None:
        """Read the log if the driver pod still exists."""
        try:
            pod = await read_driver_pod(self._client, self._reference, seen.driver_name)
        except KubeError as error:
            self._show_remark(logging.WARNING, f"could not read the driver's log: {error}")
            return
        if pod is None:
            self._warn_of_gap(seen)
            return
        self.ended_pod = pod if has_ended(pod) else None
        async with _rests.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_CONCURRENT_RESTS)):
            self._is_queued = False
            longest, position = self._options.longest, self._position
            await self._show(follow_pod_log(self._client, self._reference, pod, longest=longest, position=position))

    async def _show(self, lines: AsyncGenerator[str, None]) -> None:
        position = self._position
        self._from_start = not position.timestamp
        if position.since is not None:
            self._show_remark(logging.INFO, f"the driver's log, continued from {_format_clock(position.since)} UTC")
        saving = side_task.start(self._save_position_regularly(position), "the position in its log", self._warn)
        try:
            async with aclosing(lines) as stream:
                async for line in stream:
                    self._lines += 1
                    if not line.startswith(_REMARK):
                        self._tail.add(line)
                        self._cause.add(line)
                        self.executors.add(line, position.since)
                    self._show_line(line)
            self._complete, self.executors.is_whole = True, self.is_whole
        except KubeError as error:
            self._show_remark(logging.WARNING, f"could not read the driver's log: {error}")
            self._complete = True  # a second request would fail as well
        except asyncio.CancelledError:
            saving.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_SAVE_SECONDS):
                    await self._save_position(position)
            raise
        finally:
            await side_task.stop(saving)

    def _show_line(self, line: str) -> None:
        message = parse_line(line)
        if message is None:
            self._sink.show_driver_line(line, self._levels.classify(line))
            return
        self.report |= message
        self._sink.show_driver_line(message.describe(), logging.WARNING if message.failed else logging.INFO)
        if self._recorder is not None:
            self._recorder.note_report(self.report)

    def _warn_of_gap(self, seen: Progress) -> None:
        if not had_driver(seen):
            return
        begin, end = find_driver_period(seen)
        shown = self._position.since
        if shown is not None and end is not None and shown.replace(microsecond=0) >= end.replace(microsecond=0):
            return  # the status has whole seconds; the last line shown is from the second of the end
        begin = shown or begin
        since = f" after {_format_clock(begin)}" if begin else ""
        until = f" until its end at {_format_clock(end)}" if end else ""
        zone = " UTC" if begin or end else ""
        # The position is saved at intervals: a reader that was killed has shown more lines than it saved.
        above = (
            ". The log of an earlier try, or the lines above, may contain some of the missing lines"
            if shown and not self._lines
            else ""
        )
        gap = f"the driver's log{since}{until}{zone} is not available: the driver pod was deleted{above}"
        self._show_remark(logging.WARNING, gap)

    def _show_remark(self, level: int, sentence: str) -> None:
        self._sink.show_remark(level, sentence)

    async def _save_position_regularly(self, position: LogPosition) -> None:
        pause = _FIRST_SAVE_SECONDS
        while True:
            await asyncio.sleep(pause)
            if position.timestamp:
                pause = _SAVE_SECONDS
            await self._save_position(position)

    async def _save_position(self, position: LogPosition) -> None:
        """Save on the application how far its log was shown, for a reader that continues."""
        note = f"{self._reader} {position.to_text()}"
        if self._reader is None or not position.timestamp or note == self._noted:
            return
        try:
            await annotate(self._client, self._reference, {ANNOTATION_LOG_POSITION: note})
            self._noted = note
        except KubeError as error:  # some lines may be shown twice; nothing else depends on the position
            logger.debug("could not save the position in the log of %s: %s", self._reference, error)

    @contextmanager
    def _count_stream(self) -> Iterator[bool]:
        """Count a stream while it is open. The value is False if the limit is reached."""
        loop, most = asyncio.get_running_loop(), self._options.most_streams
        if most is not None and _streams.get(loop, 0) >= most:
            yield False
            return
        _streams[loop] = _streams.get(loop, 0) + 1
        try:
            yield True
        finally:
            _streams[loop] -= 1


def _position_of(resource: Mapping[str, Any], reader: str | None) -> LogPosition:
    note = (resource["metadata"].get("annotations") or {}).get(ANNOTATION_LOG_POSITION, "")
    noted_reader, _, text = note.partition(" ")
    return LogPosition.from_text(text) if reader is not None and noted_reader == reader else LogPosition()


def _format_clock(time: datetime) -> str:
    return f"{time.astimezone(UTC):%H:%M:%S}"
