"""The end of a driver's log, as far as it says why the driver ended."""

import re
from collections import deque

LOG_LINES = 10
LOG_BYTES = 4096
_LINE_LENGTH = 400
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
# Lines in Spark's own layout, of which dozens report the shutdown after an error, and the frames of a stack trace.
_ROUTINE = re.compile(r"\d\d/\d\d/\d\d [\d:]{8} (INFO|DEBUG) |at [\w$.<>/@-]+\([^)]*\)|\.\.\. \d+ more$")


class LastLines:
    """Keeps the last lines of a log that is handed over line by line; a long log costs no memory.

    Spark's lines of level INFO and DEBUG and the frames of Java's stack traces are left out unless there is nothing
    else; so are blank lines.
    """

    def __init__(self) -> None:
        self._telling: deque[str] = deque(maxlen=LOG_LINES)
        self._routine: deque[str] = deque(maxlen=LOG_LINES)

    def add(self, line: str) -> None:
        """Take the next line."""
        shown = cleaned(line)
        if shown:
            (self._routine if _ROUTINE.match(shown) else self._telling).append(shown)

    @property
    def kept(self) -> tuple[str, ...]:
        """The lines, each at most 400 characters long: at most 10, together at most 4 KiB."""
        kept: list[str] = []
        size = 0
        for line in reversed(self._telling or self._routine):
            size += len(line.encode())
            if size > LOG_BYTES:
                break
            kept.append(line)
        return tuple(reversed(kept))


def without_controls(line: str) -> str:
    """Return `line` without the control characters and escape sequences of a terminal; tabs stay."""
    return _CONTROL.sub("", line)


def cleaned(line: str, *, longest: int = _LINE_LENGTH) -> str:
    """`line` as part of a sentence: on one line, and without what would steer the terminal of its reader."""
    text = " ".join(without_controls(line).split())
    if not text.isprintable():
        text = "".join(character for character in text if character.isprintable())
    return text if len(text) <= longest else text[: longest - 1] + "…"
