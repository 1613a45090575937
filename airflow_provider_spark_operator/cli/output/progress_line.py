"""The last line of a terminal while a command waits: the state of the application and the elapsed time."""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import cycle
from typing import Final, TextIO

from ...core.kubernetes.json_object import format_duration
from ..base.streams import is_unicode

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
