"""Print the lines of the logs of pods on stdout."""

import logging
import sys
from enum import StrEnum
from typing import Final

from ...core.log.line_levels import LineLevels, SparkLineFilter
from ...follow.logs.attempt_logs import PodLine
from ..base.errors import print_note
from ..base.streams import is_coloured, paint
from ..base.styles import style_level
from .terminal import report_hidden


class LogLevel(StrEnum):
    """The lowest level of Spark's lines that are printed."""

    ALL = "all"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @classmethod
    def _missing_(cls, value: object) -> "LogLevel | None":
        """Return the level for a word as Spark writes it, such as `WARN`."""
        words = {"warn": cls.WARNING, **{level.value: level for level in cls}}
        return words.get(str(value).lower())


_LEVELS: Final = {
    LogLevel.ALL: logging.NOTSET,
    LogLevel.INFO: logging.INFO,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}
_STYLES: Final = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_magenta")


class LogPrinter:
    """Prints lines, with a colour for each pod and for warnings and errors on a terminal.

    Args:
        with_pod: Whether each line begins with the name of its pod.
        is_live: Whether each line is written at once.
        level: The lowest level of Spark's lines to print. By default, WARNING on a terminal; elsewhere, all lines.

    Attributes:
        has_read: Whether there was a line.
    """

    def __init__(self, *, with_pod: bool, is_live: bool, level: LogLevel | None = None) -> None:
        self.has_read = False
        self._hidden = 0
        self._level = level or (LogLevel.WARNING if sys.stdout.isatty() else LogLevel.ALL)
        self._filters: dict[str, SparkLineFilter] = {}
        self._with_pod = with_pod
        self._is_live = is_live
        self._styles: dict[str, str] = {}
        self._drivers = 0
        self._levels: dict[str, LineLevels] = {}
        self._is_coloured = is_coloured(sys.stdout)

    def announce(self, driver: str) -> None:
        """Print the name of a driver that follows another one."""
        self._drivers += 1
        if self._drivers > 1:
            print_note(f"another attempt begins with driver {driver}")

    def print(self, line: PodLine) -> None:
        """Print a line, unless Spark wrote it below the level. Lines without a pod were recorded, and are printed."""
        self.has_read = True
        chosen = self._filters.setdefault(line.pod, SparkLineFilter(_LEVELS[self._level]))
        if line.pod and not chosen.shows(line.text):
            self._hidden += 1
            if self._is_live and self._hidden == 1:
                routine = " and routine warnings" if self._level is LogLevel.WARNING else ""
                below = f"below level {self._level.upper()}{routine}"
                print_note(f"hidden: log lines of Spark {below}; --level all shows them")
            return
        prefix = f"{line.pod} | " if self._with_pod else ""
        text = line.text
        if self._is_coloured:
            style = self._styles.setdefault(line.pod, _STYLES[len(self._styles) % len(_STYLES)])
            level = self._levels.setdefault(line.pod, LineLevels()).classify(text)
            prefix, text = paint(prefix, style, sys.stdout), paint(text, style_level(level), sys.stdout)
        print(f"{prefix}{text}", flush=self._is_live)

    def report_hidden(self) -> None:
        """Print how many lines were hidden, unless a note at the first one said so."""
        if not self._is_live:
            warnings = sum(each.routine_warnings for each in self._filters.values())
            report_hidden(self._hidden, warnings, self._level.upper(), "--level all")
