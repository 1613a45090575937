"""The last lines of a failed driver's log as part of its status: written into a message, and found there again."""

import re
from collections.abc import Iterable
from typing import Final

_TITLE: Final = "\nLast lines of the driver's log:\n"
_INDENT: Final = "  "
# A history that is not trimmed keeps the lines of every attempt.
LONGEST: Final = 2048
_HIDDEN: Final = "(redacted)"
# The words are those of Spark's own default, spark.redaction.regex, and a few more.
_SECRET: Final = re.compile(
    r"""(?ix)
    ([\w.-]*(?:secret|passw(?:or)?d|token|credential|access[._-]?key|api[._-]?key)[\w.-]*["']?\s*[:=]\s*)
    (?:"[^"]*"|'[^']*'|(?:bearer\s+)?[^\s,;&"']+)
    """
)
_AUTHORIZATION: Final = re.compile(r"(?i)(\b(?:bearer|basic)\s+)[\w.+/=~-]{8,}")
_USER_INFO: Final = re.compile(r"(://)[^\s/@]+@")


def with_lines(sentence: str, lines: Iterable[str]) -> str:
    """The message that consists of a sentence and the last of `lines`, at most 2 KiB of them, without secrets."""
    kept: list[str] = []
    size = 0
    for line in reversed([redacted(line) for line in lines]):
        size += len(line.encode())
        if size > LONGEST:
            break
        kept.insert(0, _INDENT + line)
    return f"{sentence}{_TITLE}{chr(10).join(kept)}" if kept else sentence


def split_lines(message: str) -> tuple[str, tuple[str, ...]]:
    """The sentence of a message that `with_lines` may have made, and the lines."""
    sentence, title, rest = message.partition(_TITLE)
    return (sentence, tuple(line.removeprefix(_INDENT) for line in rest.splitlines())) if title else (message, ())


def redacted(line: str) -> str:
    """`line` without the values of what is named like a secret, and without user names and passwords in URLs."""
    for pattern, shown in (
        (_SECRET, rf"\1{_HIDDEN}"),
        (_AUTHORIZATION, rf"\1{_HIDDEN}"),
        (_USER_INFO, rf"\1{_HIDDEN}@"),
    ):
        line = pattern.sub(shown, line)
    return line
