"""Show an application on a terminal: the driver's log on stdout, everything else on stderr."""

import asyncio
import errno
import logging
import os
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Final, TextIO

from ...core.dialects.progress import StateEntry
from ...core.kubernetes.names import ROLE_DRIVER
from ...core.kubernetes.pods import ContainerStatus
from ...core.kubernetes.times import format_duration
from ...core.log.driver_log import find_ui_url
from ...core.log.line_levels import SparkLineFilter
from ...follow.access.pods import ExecutorCount, describe_block
from ...follow.ending.executor_ends import ExecutorEnd
from ..base.errors import print_note
from ..base.streams import OutputError, is_unicode, paint
from ..base.styles import style_level, style_state

# A container with this reason starts and ends repeatedly. Spark replaces an executor that does not start.
_RESTARTED = "CrashLoopBackOff"
_LOOPBACK = "127.0.0.1"
_ABOVE_ALL = logging.CRITICAL
_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII_FRAMES: Final = "|/-\\"
_PAUSE_SECONDS: Final = 0.1
_ERASE: Final = "\r\033[K"


class ProgressLine:
    """A line that is drawn repeatedly, and erased before other output.

    Args:
        stream: The stream of the terminal.

    Attributes:
        state: The state to show.
    """

    def __init__(self, stream: TextIO) -> None:
        self.state = "waiting"
        self._stream = stream
        self._is_drawn = False
        self._frames = cycle(_FRAMES if is_unicode(stream) else _ASCII_FRAMES)

    def draw(self, elapsed: timedelta) -> None:
        """Draw the line.

        Args:
            elapsed: The time since the command began to wait.
        """
        line = f"{next(self._frames)} {self.state}, {format_duration(elapsed)}"
        self._write(f"{_ERASE}{line[: shutil.get_terminal_size().columns - 1]}")
        self._is_drawn = True

    def erase(self) -> None:
        """Erase the line, if it is drawn. Call this method before other output."""
        if self._is_drawn:
            self._is_drawn = False
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        try:
            print(text, end="", file=self._stream, flush=True)
        except OSError:  # the terminal was closed: the signal ends the command
            return


class Terminal:
    """The sink that writes to a terminal.

    Args:
        is_shared: Whether the cluster exists without the command, so that a user can fix a pod that cannot be
            started. Such a pod is then shown.
        shows_log: Whether to print the driver's log.
        shows_routine: Whether to print Spark's own lines below level WARNING as well.
        shows_spark: Whether to print any of Spark's own lines.
        is_local: Whether the driver is a process of this machine. Then the address of the Spark UI is printed, and
            more warnings are routine.
        mark: The beginning of the lines of the driver's log to print, without it. Empty to print other lines, too.
        progress: The line that shows the state. None if there is no such line.
        since: The time from which states are printed. None for all states.

    Attributes:
        obstacle: The sentence about the first pod that cannot be started, unless the cluster is shared.
        hidden: The number of lines of the driver's log that were not printed because Spark wrote them.
    """

    def __init__(
        self,
        *,
        is_shared: bool = False,
        shows_log: bool = True,
        shows_routine: bool = True,
        shows_spark: bool = True,
        is_local: bool = False,
        mark: str = "",
        progress: ProgressLine | None = None,
        since: datetime | None = None,
    ) -> None:
        self._since = since
        self._progress = progress
        self._is_shared = is_shared
        self.obstacle: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.hidden = 0
        self._is_local = is_local
        self._shows_routine = shows_routine
        self._mark = mark
        self._filter = SparkLineFilter(logging.WARNING if shows_spark else _ABOVE_ALL, is_local=is_local)
        self._shows_log = shows_log  # becomes False when a write fails

    def show_state(self, entry: StateEntry, executors: ExecutorCount | None) -> None:
        """Print the time and the state, and the executors of an application that runs."""
        if self._progress is not None:
            self._progress.state = entry.state
        if self._since is not None and entry.time is not None and entry.time < self._since:
            return
        message = f": {entry.message}" if entry.message else ""
        self._print_note(message, label=f"{_format_clock(entry.time)} {entry.state}", style=style_state(entry.state))
        if executors is not None:
            self.show_executors(executors)

    def show_executors(self, executors: ExecutorCount) -> None:
        """Print the time and the number of executors."""
        if executors.present:
            self._print_note(f"{_format_clock(None)} {executors}")

    def show_obstacle(self, sentence: str) -> None:
        """Print the sentence."""
        self._print_note("", label=sentence, style="yellow")

    def show_blocked_pod(self, role: str, name: str, container: ContainerStatus) -> None:
        """Set the obstacle, unless Spark itself replaces the pod. In a shared cluster, print executors instead."""
        is_driver = role == ROLE_DRIVER
        if self._is_shared:
            if not is_driver:  # a driver is shown as an obstacle
                self._print_note(f"executor {name} cannot be started: {describe_block(container)}")
            return
        if self.obstacle.done() or (not is_driver and container.reason == _RESTARTED):
            return
        subject = "the driver" if is_driver else f"executor pod {name}"
        self.obstacle.set_result(f"{subject} cannot be started: {describe_block(container)}")

    def show_driver_line(self, line: str, level: int) -> None:
        """Print the line to stdout, until a write fails."""
        if self._is_local and (url := find_ui_url(line, _LOOPBACK)):
            self._print_note(f"Spark UI: {url}")
        if not self._shows_log or not line.startswith(self._mark):
            return
        is_routine = not self._mark and not self._filter.shows(line)
        line = line.removeprefix(self._mark)
        if is_routine and not self._shows_routine:
            self.hidden += 1
            return
        self._erase_progress()
        try:
            print(paint(line, style_level(level) or "dim" * is_routine, sys.stdout), flush=True)
        except OutputError as error:
            # The application continues. `run_command` reports the error at the end, unless the reader closed the pipe.
            self._shows_log = False
            if error.errno != errno.EPIPE:
                self._print_note(f"stopped printing the driver's log: {error}")

    def report_hidden(self) -> None:
        """Print the number of lines that were not printed, unless it is 0."""
        self._erase_progress()
        report_hidden(self.hidden, self._filter.routine_warnings, "WARNING", "--verbose")

    def show_failure(self, events: Iterable[str], executors: Iterable[ExecutorEnd]) -> None:
        """Print the warning events of the cluster, and the last lines of the executors that failed."""
        for event in events:
            self._print_note(f"event: {event}")
        for executor in executors:
            self._print_note(f"executor {executor.pod} ended with {executor.how}")
            for line in executor.log_lines:
                self._print_note(f"{executor.pod} | {line}")

    def show_remark(self, level: int, sentence: str) -> None:
        """Print a remark of level WARNING or above."""
        if level >= logging.WARNING:
            self._print_note("", label=sentence, style=style_level(level))

    def _print_note(self, message: str, *, label: str = "", style: str = "") -> None:
        self._erase_progress()
        print_note(message, label=label, style=style)

    def _erase_progress(self) -> None:
        if self._progress is not None:
            self._progress.erase()


def report_hidden(count: int, warnings: int, level: str, option: str) -> None:
    """Print how many lines of a log were hidden, unless the number is 0.

    Args:
        count: The number of lines.
        warnings: How many of them are routine warnings of that level.
        level: The name of the lowest level of the lines that were shown.
        option: The option that shows all lines.
    """
    if count:
        parts = ((count - warnings, "log line", f" of Spark below level {level}"), (warnings, "routine warning", ""))
        hidden = " and ".join(f"{number} {noun}{'s' * (number > 1)}{rest}" for number, noun, rest in parts if number)
        print_note(f"hidden: {hidden}; {option} shows {'it' if count == 1 else 'them'}")


def _format_clock(time: datetime | None) -> str:
    return f"{(time or datetime.now(UTC)).astimezone():%H:%M:%S}"


@asynccontextmanager
async def show_progress(stream: TextIO | None) -> AsyncGenerator[ProgressLine | None, None]:
    """Draw a line while the context is open. Yield the line, or None if there is none.

    Args:
        stream: The stream. The line is drawn only on a terminal that can erase it. None for no line.
    """
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    line = ProgressLine(stream)
    animation = asyncio.create_task(_animate(line))
    try:
        yield line
    finally:
        animation.cancel()
        await asyncio.gather(animation, return_exceptions=True)
        line.erase()


async def _animate(line: ProgressLine) -> None:
    start = time.monotonic()
    while True:
        line.draw(timedelta(seconds=time.monotonic() - start))
        await asyncio.sleep(_PAUSE_SECONDS)
