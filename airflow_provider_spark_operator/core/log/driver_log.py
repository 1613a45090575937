"""The last lines of a driver's log: select them, hide secrets, and store them in the message of a status."""

import re
from collections import deque
from collections.abc import Iterable
from typing import Final

from ..kubernetes.problems import cut_middle
from .line_levels import HARMLESS, REPEATING

LOG_LINES: Final = 10
LOG_BYTES: Final = 4096
_LINE_LENGTH: Final = 400
_LONGEST_INDENTATION: Final = 40
_TAB: Final = 4
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
REPORT_MARKER: Final = "spark-task "
"""The begin of a line with a part of the report of the job, the same as in `spark_task.py`, which does I/O."""
# Lines in Spark's layout, many of which report the shutdown after an error, and the frames of a stack trace.
_ROUTINE: Final = re.compile(
    rf"\d\d/\d\d/\d\d [\d:]{{8}} (?:(?:INFO|DEBUG) |{HARMLESS})|at [\w$.<>/@-]+\([^)]*\)|\.\.\. \d+ more$"
    rf"|Using Spark's default log4j profile: |{REPEATING}|{REPORT_MARKER}\{{"
)

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
# Spark writes this line when an interface listens, with the chosen port, also if the configured port is 0.
_STARTED = re.compile(r"Successfully started service 'SparkUI' on port ([0-9]{1,5})\b")


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


def find_ui_url(line: str, host: str) -> str | None:
    """Return the URL of the Spark UI if a line of a log reports its start, else None.

    Args:
        line: The line.
        host: The host of the process.
    """
    found = _STARTED.search(line)
    return f"http://{host}:{found[1]}" if found else None
