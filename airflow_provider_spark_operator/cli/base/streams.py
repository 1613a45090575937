"""The standard streams of a command, even if they are closed, full, or cannot encode a character."""

import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any, Final, TextIO

_COLOURS: Final = ("red", "green", "yellow", "blue", "magenta", "cyan")
_STYLES: Final = {
    "bold": 1,
    "dim": 2,
    **{colour: code for code, colour in enumerate(_COLOURS, 31)},
    **{f"bright_{colour}": code for code, colour in enumerate(_COLOURS, 91)},
}


class OutputError(OSError):
    """Results could not be written to standard output."""

    def __str__(self) -> str:
        reason = "it is closed" if self.errno == errno.EBADF else self.strerror
        return f"could not write to standard output: {reason}"


class _Results(io.FileIO):
    """Standard output, with its own type of error."""

    problem: OutputError | None = None

    def write(self, content: Any, /) -> int:
        """Write bytes. Keep the first error, because a buffer above may drop the bytes and continue."""
        try:
            return super().write(content)
        except OSError as error:
            failure = OutputError(error.errno, error.strerror)
            self.problem = self.problem or failure
            raise failure from error


def prepare_streams() -> None:
    """Replace standard streams that are closed, and escape characters that the encoding of a stream lacks.

    Without this, a file that the program opens could get the descriptor of a closed stream.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # `open` returns the lowest free descriptor. Standard output cannot be written then, so that lost results
            # are an error.
            os.open(os.devnull, os.O_RDONLY if descriptor < 2 else os.O_RDWR)
            os.set_inheritable(descriptor, True)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = _open_results("utf-8", is_terminal=False)
    elif sys.__stdout__ is not None and sys.stdout is sys.__stdout__:
        sys.stdout = _open_results(sys.stdout.encoding, is_terminal=sys.stdout.isatty())


def _open_results(encoding: str, *, is_terminal: bool) -> TextIO:
    results = _Results(1, "w", closefd=False)
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    buffer = io.BufferedWriter(results)
    return io.TextIOWrapper(buffer, encoding, "backslashreplace", line_buffering=is_terminal or is_unbuffered)


def finish_results() -> OutputError | None:
    """Flush the results. Return the first error of all writes."""
    with suppress(OutputError):
        sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    problem = raw.problem if isinstance(raw, _Results) else None
    if problem is not None:
        discard(sys.stdout)  # otherwise the interpreter flushes again at its exit
    return problem


def discard(stream: TextIO) -> None:
    """Redirect a stream, and the content of its buffer, to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    stream.flush()


def is_unicode(stream: TextIO) -> bool:
    """Return whether a stream can encode every character."""
    return (stream.encoding or "").lower().startswith("utf")


def escape_controls(text: str) -> str:
    """Return a text on one line with the codes of its control characters in place of these."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def is_coloured(stream: TextIO) -> bool:
    """Return whether a stream is a terminal with colours or FORCE_COLOR is set, and NO_COLOR is not."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def paint(text: str, style: str, stream: TextIO) -> str:
    """Return a text for a stream, in a style if the stream has colours.

    Args:
        text: The text.
        style: `bold`, `dim`, a colour of ANSI, for example `red` or `bright_red`, or empty for no style.
        stream: The stream to which the text is written.
    """
    if not style or not text or not is_coloured(stream):
        return text
    return f"\033[{_STYLES[style]}m{text}\033[0m"
