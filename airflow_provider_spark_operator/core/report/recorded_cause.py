"""The cause of a failure in the last lines of a log, as a status records them."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..log.root_cause import RootCause

# The lines of this level are not recorded. After a warning, they show that the program continued.
_OMITTED: Final = "00/01/01 00:00:00 INFO Driver: end of the log"
_FRAME: Final = re.compile(r'File "[^"]*", line \d+')
_HEAD: Final = "Traceback (most recent call last):"
# The source lines of modules in a zip file, such as PySpark's, are not shown: the exception can follow a frame.
_EXCEPTION: Final = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)(?:: |$)")
_MARKER: Final = re.compile(r"[\^~ ]+$")
_JAVA_FRAME: Final = re.compile(r"(?:at [\w$.<>/@-]+\(|\.\.\. \d+ more)")


def find_recorded_cause(lines: Iterable[str]) -> str | None:
    """Return the cause that the last lines of a driver's log name; None if they name none.

    Args:
        lines: The lines without their indentation, oldest first.
    """
    cause = RootCause()
    for line in _indent(lines):
        cause.add(line)
    cause.add(_OMITTED)
    return cause.located_sentence


def _indent(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines with the indentation of stack traces, by which they differ from messages.

    If the lines begin within a traceback, its head is added.
    """
    is_after_frame, has_head = False, False
    for line in lines:
        is_frame = _FRAME.match(line) is not None
        if is_frame and not has_head:
            yield _HEAD
            yield '  File "<log>", line 0, in <module>'  # the log of a failed driver ends with the error that ended it
        has_head = has_head or is_frame or line == _HEAD
        if is_frame:
            yield f"  {line}"
        elif (is_after_frame and not _EXCEPTION.match(line)) or _MARKER.match(line):
            yield f"    {line}"
        elif _JAVA_FRAME.match(line):
            yield f"\t{line}"
        else:
            yield line
        is_after_frame = is_frame
