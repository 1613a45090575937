"""Find the level of each line of a driver's log, and choose the lines of Spark to show."""

import logging
import re
from typing import Final

# The level is near the start of a line, which may have 64 KiB.
_LOOKED_AT: Final = 400
_WORDS: Final = "TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL"
_LEVELS: Final = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.ERROR,
    "CRITICAL": logging.ERROR,
}
_LEVEL: Final = re.compile(
    # Spark's own layout, an ISO 8601 date or a time, with a thread in brackets or a logger between hyphens.
    rf"(?:\d\d/\d\d/\d\d [\d:]{{8}}|\[?(?:\d{{4}}-\d\d-\d\d[T ])?[\d:]{{8}}(?![\d:])\S*)"
    rf"(?: +\[[^\]]*\]| - \S+ -)? +\[?({_WORDS})\b"
    # Python's logging, and lines with only a level.
    rf"|\[?({_WORDS})\]?(?::|\s)"
)
_JSON_LEVEL: Final = re.compile(rf'"level": ?"({_WORDS})"', re.IGNORECASE)
_RAISED: Final = re.compile(r"Traceback \(most recent call last\):|Exception in thread |Driver stacktrace:")
_CONTINUED: Final = re.compile(
    r"\s|Caused by: |The executor with id |The API gave |: |[a-zA-Z_][\w.$]*(?:Exception|Error|Interrupt|Exit)\b"
)

# The default layout of Spark's log, its structured layout, and the line that Spark prints before its first log line.
# Other layouts are those of programs, too.
_SPARK: Final = re.compile(
    rf'(?:\d\d/\d\d/\d\d [\d:]{{8}} |\{{"ts":"[^"]*","level":")({_WORDS})\b|Using Spark\'s default log4j profile: '
)
# A hidden line continues in the frames of a Java stack trace. If it ends with a colon or a brace, it also continues in
# indented lines, braces and exceptions.
_FRAME: Final = re.compile(r"\s+at [\w$.<>/@-]+\(|\s+\.\.\. \d+ more|Caused by: ")
_BLOCK: Final = re.compile(r"\s|$|[{}]|Caused by: |[a-zA-Z_][\w.$]*(?:Exception|Error)\b")


class SparkLineFilter:
    """Chooses the lines of a driver's log to show: all lines but those of Spark below a level.

    Every line that is not certainly one of Spark's is output of the program, and is shown.

    Args:
        lowest: The lowest level of Spark's lines to show, a constant of `logging`.
    """

    def __init__(self, lowest: int) -> None:
        self._lowest = lowest
        self._continuation: re.Pattern[str] | None = None

    def shows(self, line: str) -> bool:
        """Return whether to show the next line of the log."""
        found = _SPARK.match(line[:_LOOKED_AT])
        if found is not None:
            is_shown = _LEVELS[found[1] or "INFO"] >= self._lowest
            opens_block = line.rstrip().endswith((":", "{"))
            self._continuation = None if is_shown else _BLOCK if opens_block else _FRAME
            return is_shown
        if self._continuation is None or not self._continuation.match(line[:_LOOKED_AT]):
            self._continuation = None
            return True
        self._continuation = _BLOCK
        return False


class LineLevels:
    """Classifies the lines of a log, one after another. The lines of a stack trace have the level of its first line."""

    def __init__(self) -> None:
        self._block = logging.INFO

    def classify(self, line: str) -> int:
        """Return the level of the next line, a constant of `logging`: DEBUG, INFO, WARNING or ERROR."""
        line = line[:_LOOKED_AT]
        word = _find_level_word(line)
        if word is not None:
            self._block = _LEVELS[word.upper()]
        elif _RAISED.match(line):
            self._block = logging.ERROR
        elif self._block < logging.WARNING or (line and not _CONTINUED.match(line)):
            self._block = logging.INFO
        return self._block


def _find_level_word(line: str) -> str | None:
    if line.startswith("{"):
        found = _JSON_LEVEL.search(line)
        return found[1] if found else None
    found = _LEVEL.match(line)
    return (found[1] or found[2]) if found else None
