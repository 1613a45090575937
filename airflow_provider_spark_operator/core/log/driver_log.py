"""The lines of a driver's log: their levels, the last ones for the message of a status, and hidden secrets."""

import logging
import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from ..kubernetes.problems import cut_middle

LOG_LINES: Final = 10
LOG_BYTES: Final = 4096
_LINE_LENGTH: Final = 400
_LONGEST_INDENTATION: Final = 40
_TAB: Final = 4
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
# Lines in Spark's layout, many of which report the shutdown after an error, and the frames of a stack trace.
REPORT_MARKER: Final = "spark-task "
"""The begin of a line with a part of the report of the job, the same as in `spark_task.py`, which does I/O."""
_TITLE: Final = "\nLast lines of the driver's log:\n"
_INDENT: Final = "  "
# A history that is not trimmed keeps the lines of every attempt.
LONGEST: Final = 2048
HIDDEN: Final = "(redacted)"
"""Replaces a secret."""
NAMES_OF_SECRETS: Final = "secret|passw(?:or)?d|passphrase|token|credential|(?:access|api|account|private)[._-]?key"
"""Matches a part of the names of secrets: the words of Spark's `spark.redaction.regex`, and a few more."""
# A driver can print any line: a match starts only where a name starts, and the quantifiers do not give back what they
# have matched.
_SECRET: Final = re.compile(
    rf"""(?ix)
    (?<![\w.-])(?=[\w.-]*?(?:{NAMES_OF_SECRETS}))
    ([\w.-]++["']?+\s*+[:=]\s*+)
    (?:"[^"]*"|'[^']*'|(?:bearer\s+)?[^\s,;&"']+)
    """
)
_AUTHORIZATION: Final = re.compile(r"(?i)(\b(?:bearer|basic)\s+)[\w.+/=~-]{8,}")
_USER_INFO: Final = re.compile(r"(://)[^\s/@]+@")
REFUSED: Final = "Spark could not create executors: "
"""The beginning of the sentence about a rejected executor."""
_REJECTED: Final = re.compile(
    r"KubernetesClientException: Failure executing: POST at: \S+/pods\. Message: "
    r'(?:pods "[^"]*" is forbidden: )?(.+?)\.?(?: Received status: |$)'
)
_REGISTERED: Final = ": Registered executor "
# Spark ends the driver. Before Spark 4, rejected executors do not count: such a driver waits indefinitely.
_LIMIT: Final = ": Max number of executor failures ("
# Spark writes this line when an interface listens, with the chosen port, also if the configured port is 0.
_STARTED = re.compile(r"Successfully started service 'SparkUI' on port ([0-9]{1,5})\b")
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
_ROUTINE: Final = re.compile(
    rf"\d\d/\d\d/\d\d [\d:]{{8}} (?:(?:INFO|DEBUG) |{HARMLESS})|at [\w$.<>/@-]+\([^)]*\)|\.\.\. \d+ more$"
    rf"|Using Spark's default log4j profile: |{REPEATING}|{REPORT_MARKER}\{{"
)
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


class LastLines:
    """The last lines of a log that is read line by line. Memory use does not grow with the log.

    Blank lines are left out. Routine lines are left out unless there are no other lines. Routine are Spark's lines of
    level INFO and DEBUG and the warnings of every driver. The frames of Java's stack traces and the report of the job
    are routine too.
    """

    def __init__(self) -> None:
        self._significant: deque[str] = deque(maxlen=LOG_LINES)
        self._routine: deque[str] = deque(maxlen=LOG_LINES)

    def add(self, line: str) -> None:
        """Add the next line."""
        shown = clean_line(line)
        if shown:
            kept = self._routine if _ROUTINE.match(shown) else self._significant
            kept.append(_clip(_read_indentation(line) + shown))

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines: at most 10, each of at most 400 characters, at most 4 KiB in total."""
        kept: list[str] = []
        size = 0
        for line in reversed(self._significant or self._routine):
            size += len(line.encode())
            if size > LOG_BYTES:
                break
            kept.append(line)
        return tuple(reversed(kept))


def strip_controls(line: str) -> str:
    """Return `line` without the control characters and escape sequences of a terminal, except tabs."""
    return _CONTROL.sub("", line)


def clean_line(line: str, *, longest: int = _LINE_LENGTH) -> str:
    """Return a line of a log as one line of at most `longest` characters, without control characters.

    The end of a longer line is left out: after the name of a secret, its value must not be shown in part.
    """
    return _clip(_clean(line), longest=longest)


def clean_sentence(text: str, *, longest: int = _LINE_LENGTH) -> str:
    """Return a sentence as one line of at most `longest` characters, without control characters.

    The middle of a longer sentence is left out: it begins with its subject, and ends with the cause or with advice.
    """
    return cut_middle(_clean(text), longest)


def _clean(text: str) -> str:
    text = " ".join(strip_controls(text).split())
    return text if text.isprintable() else "".join(character for character in text if character.isprintable())


def _clip(text: str, *, longest: int = _LINE_LENGTH) -> str:
    """Return `text`, shortened to `longest` characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _read_indentation(line: str) -> str:
    """Return the spaces before the text of a line: the frames of a Python traceback need them."""
    plain = strip_controls(line).expandtabs(_TAB)
    return " " * min(len(plain) - len(plain.lstrip()), _LONGEST_INDENTATION)


def append_lines(sentence: str, lines: Iterable[str]) -> str:
    """Return `sentence` followed by the last 2 KiB of `lines`, without secrets."""
    kept: list[str] = []
    size = 0
    for line in reversed([redact(line) for line in lines]):
        size += len(line.encode())
        if size > LONGEST:
            break
        kept.insert(0, _INDENT + line)
    return f"{sentence}{_TITLE}{chr(10).join(kept)}" if kept else sentence


def split_lines(message: str) -> tuple[str, tuple[str, ...]]:
    """Return the sentence and the log lines of a message that `append_lines` may have built."""
    sentence, title, rest = message.partition(_TITLE)
    return (sentence, tuple(line.removeprefix(_INDENT) for line in rest.splitlines())) if title else (message, ())


def redact(line: str) -> str:
    """Return `line` without the values of settings with names of secrets, and without credentials in URLs."""
    for pattern, shown in ((_SECRET, rf"\1{HIDDEN}"), (_AUTHORIZATION, rf"\1{HIDDEN}"), (_USER_INFO, rf"\1{HIDDEN}@")):
        line = pattern.sub(shown, line)
    return line


class ExecutorRefusals:
    """Finds the latest rejected executor in a log that is read line by line.

    Attributes:
        latest: The sentence about the executor that the API rejected last. None if none was, or if one has started
            since.
        ended_driver: Whether Spark ended the driver after these rejections.
    """

    def __init__(self) -> None:
        self.latest: str | None = None
        self.ended_driver = False

    def add(self, line: str) -> None:
        """Add the next line."""
        if rejected := _REJECTED.search(line):
            self.latest = f"{REFUSED}{rejected[1]}"
        elif _REGISTERED in line:
            self.latest = None
        elif _LIMIT in line and self.latest is not None:
            self.ended_driver = True


def find_ui_url(line: str, host: str) -> str | None:
    """Return the URL of the Spark UI if a line of a log reports its start, else None.

    Args:
        line: The line.
        host: The host of the process.
    """
    found = _STARTED.search(line)
    return f"http://{host}:{found[1]}" if found else None


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
