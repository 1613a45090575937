"""Find the level of each line of a driver's log, and choose the lines of Spark to show."""

import logging
import re
from collections.abc import Mapping
from typing import Final, TypeAlias

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
REPEATING: Final = r'\{"ts": "[^"]*", "level": "\w+", "logger": "(?:DataFrame|SQL)QueryContextLogger"'
"""The lines of JSON, of many thousand characters, with which PySpark repeats the message of an exception."""
_REPEATING: Final = re.compile(REPEATING)
HARMLESS: Final = "WARN (?:NativeCodeLoader: Unable|SparkEnv: I/O encryption enabled without)"
"""The warnings with which almost every driver begins."""
# Warnings that no program on the local cluster can prevent. A busy machine causes those about a blocked thread.
_LOCAL: Final = re.compile(rf"\S+ \S+ (?:{HARMLESS}|WARN BlockedThreadChecker: )")
_EVERYWHERE: Final = re.compile(rf"\S+ \S+ {HARMLESS}")

# The lines that Spark writes together with a hidden line. Each part of a message has the patterns of what can follow,
# with the part that it is. Only these lines cannot be output of the program.
_Following: TypeAlias = tuple[tuple[re.Pattern[str], str], ...]
_FRAME: Final = (re.compile(r"\tat [\w$.<>/@-]+\("), "frame")
_BLANK: Final = re.compile(r"\s*$")
_FOLLOWING: Final[Mapping[str, _Following]] = {
    "message": (_FRAME,),
    "warning": (_FRAME, (re.compile(r"(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)\b"), "frame")),
    "frame": (
        _FRAME,
        (re.compile(r"\t\.\.\. \d+ (?:more|common frames omitted)$"), "frame"),
        (re.compile(r"Caused by: [\w$.]+(?:Exception|Error)\b"), "frame"),
    ),
    "progress": ((re.compile(r"  "), "progress"), (re.compile(r"\}$"), "end")),
    "traceback": (
        (re.compile(r"  "), "traceback"),
        (re.compile(r"[a-zA-Z_][\w.]*(?:Exception|Error|Exit|Interrupt)\b"), "raised"),
    ),
    "raised": (_FRAME, (re.compile(r" SQLSTATE: \w{5}\b"), "message"), (re.compile(r"$"), "message")),
    "schema": ((re.compile(r"\{$|  "), "schema"), (re.compile(r"\}$"), "end of schema")),
    "end of schema": ((re.compile(r"and corresponding Parquet message type:$"), "begin of type"),),
    "begin of type": ((re.compile(r"message \S+ \{$"), "type"),),
    "type": ((re.compile(r"  "), "type"), (re.compile(r"\}$"), "blank")),
    "blank": ((_BLANK, "last blank"),),
    "last blank": ((_BLANK, "end"),),
    "end": (),
    "": (),  # the line was shown
}
_OPENERS: Final[Mapping[str, str]] = {
    "Streaming query made progress: {": "progress",
    "Traceback (most recent call last):": "traceback",
    "Initialized Parquet WriteSupport with Catalyst schema:": "schema",
}


class SparkLineFilter:
    """Chooses the lines of a driver's log to show: all lines but those of Spark below a level.

    Lines that only repeat the message of an exception are hidden with the lines of level INFO. So are the warnings with
    which almost every driver begins.

    A line that is not certainly one of Spark's is output of the program, and is shown. Lines in Spark's layout are
    certain, and so are Java stack frames directly after a hidden line, with their causes. The same applies to an
    exception directly after a hidden warning. If a hidden line announces a Python traceback, the progress of a
    streaming query or a Parquet schema, its lines are certain, too.

    Args:
        lowest: The lowest level of Spark's lines to show, a constant of `logging`.
        is_local: Whether to hide the warnings that drivers on a busy local cluster write as well.

    Attributes:
        routine_warnings: The number of warnings that were hidden although they have the lowest level.
    """

    def __init__(self, lowest: int, *, is_local: bool = False) -> None:
        self._lowest = lowest
        self._routine = _LOCAL if is_local else _EVERYWHERE
        self.routine_warnings = 0
        self._hidden = ""  # what the latest line was, if it was hidden

    def shows(self, line: str) -> bool:
        """Return whether to show the next line of the log."""
        found = _SPARK.match(line[:_LOOKED_AT])
        if found is not None:
            level = _LEVELS[found[1] or "INFO"]
            is_routine = logging.INFO < self._lowest <= level and self._routine.match(line) is not None
            self.routine_warnings += is_routine
            is_shown = level >= self._lowest and not is_routine
            opened = (part for opener, part in _OPENERS.items() if line.rstrip().endswith(opener))
            kind = "message" if level < logging.WARNING or _EVERYWHERE.match(line) else "warning"
            self._hidden = "" if is_shown else next(opened, kind)
            return is_shown
        if self._lowest > logging.INFO and _REPEATING.match(line[:_LOOKED_AT]):
            self._hidden = ""
            return False
        following = (part for pattern, part in _FOLLOWING[self._hidden] if pattern.match(line[:_LOOKED_AT]))
        self._hidden = next(following, "")
        return not self._hidden


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
