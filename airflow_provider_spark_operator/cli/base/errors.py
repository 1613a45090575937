"""The standard streams of a command: results, errors and notes, each one sentence on stderr, and the exit codes."""

import errno
import io
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from enum import IntEnum
from pathlib import PurePath
from typing import Any, Final, TextIO

from ...kube.errors import Forbidden, KubeError

_COLOURS: Final = ("red", "green", "yellow", "blue", "magenta", "cyan")
_STYLES: Final = {
    "bold": 1,
    "dim": 2,
    **{colour: code for code, colour in enumerate(_COLOURS, 31)},
    **{f"bright_{colour}": code for code, colour in enumerate(_COLOURS, 91)},
}
PROGRAM = "spark-operator"
_PLUGIN = "kubectl-spark"


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


def get_program_name() -> str:
    """Return `kubectl spark` if kubectl started the program as its plugin, else `spark-operator`."""
    return _PLUGIN.replace("-", " ") if PurePath(sys.argv[0]).name == _PLUGIN else PROGRAM


def format_command(verb: str, name: str, namespace: str) -> str:
    """Return the command with a verb and an application, marked as code."""
    return f"`{get_program_name()} {verb} {name} -n {namespace}`"


class ExitCode(IntEnum):
    """How a command ended. The numbers are public API."""

    SUCCESS = 0
    APPLICATION_FAILED = 1
    CHECK_FAILED = 1
    """`reconcile --check` found resources that other controllers manage, or `diff` found a difference."""
    INVALID = 2
    """The input or the usage is invalid."""
    API_FAILED = 3
    """The API was unreachable, rejected the request or denied permission."""
    TIMED_OUT = 4
    INFRASTRUCTURE_FAILED = 5
    """The cluster could not schedule or run the application, or the local cluster could not run."""
    BUDGET_EXCEEDED = 6
    """The application exceeded `--max-core-hours` or `--max-cost`, and was deleted."""
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.SUCCESS: (
        "success\n"
        "`status` reported the state of the application, also if it failed\n"
        "`local status` ran, also if no cluster runs\n"
        "`reconcile` or `local up` ended after SIGTERM\n"
        "`forward` ended after Ctrl+C"
    ),
    ExitCode.APPLICATION_FAILED: (
        "the program of the application failed\n"
        "the program succeeded, but reported that a check failed\n"
        "the application succeeded before the state of `wait --for`\n"
        "`diff` found a difference\n"
        "`reconcile --check` found resources of another controller"
    ),
    ExitCode.INVALID: "invalid input or usage",
    ExitCode.API_FAILED: (
        "the Kubernetes API is unreachable, rejects the request, or does not permit it (also in a check of `doctor`)\n"
        "the object does not exist"
    ),
    ExitCode.TIMED_OUT: "timed out",
    ExitCode.INFRASTRUCTURE_FAILED: (
        "the cluster could not run the application to its end, or the application was deleted\n"
        "the local cluster could not run\n"
        "a check of `doctor` failed\n"
        "the output could not be written\n"
        "an internal error"
    ),
    ExitCode.BUDGET_EXCEEDED: "the application exceeded `--max-core-hours` or `--max-cost`, and was deleted",
    ExitCode.INTERRUPTED: "interrupted (SIGINT, SIGTERM or SIGHUP)",
}
"""The meaning of each code, one line for each case, for `spark-operator help exit-codes`."""


class CommandError(Exception):
    """An error that ends a command. Its text is the message for the user, without the name of the program."""

    def __init__(self, message: str, exit_code: ExitCode) -> None:
        super().__init__(message)
        self.exit_code = exit_code


_IS_QUIET: ContextVar[bool] = ContextVar("_IS_QUIET", default=False)


def hide_notes() -> None:
    """Print no further notes in this command, for `--quiet`. See `run_command`."""
    _IS_QUIET.set(True)


def print_error(message: str, stream: TextIO | None = None) -> None:
    """Print an error, each line after the name of the program. On a terminal, its label is red without NO_COLOR.

    Control characters are escaped, because messages quote files and the cluster.
    """
    stream = stream or sys.stderr
    label = paint("error:", "red", stream)
    for line in message.splitlines() or [""]:
        _print(f"{get_program_name()}: {label} {escape_controls(line)}", stream)


def report_failures(errors: Sequence[KubeError], audience: str = "cli") -> ExitCode:
    """Print failed requests, and `advise_permissions`.

    Args:
        errors: The errors.
        audience: Who needs the permissions, as `roles --for` names it.

    Returns:
        API_FAILED, or SUCCESS without errors.
    """
    for error in errors:
        print_error(str(error))
    advise_permissions(errors, audience)
    return ExitCode.API_FAILED if errors else ExitCode.SUCCESS


def advise_permissions(errors: Iterable[Exception], audience: str = "cli") -> None:
    """If a request lacked a permission, name the commands that print and check all permissions.

    Args:
        errors: The errors.
        audience: See `report_failures`.
    """
    if any(isinstance(error, Forbidden) and error.advice for error in errors):
        check = "" if audience == "controller" else f", and `{PROGRAM} doctor` checks them"
        print_note(f"`{PROGRAM} roles --for {audience}` prints all permissions that are needed{check}")


def print_note(message: str, stream: TextIO | None = None, *, label: str = "", style: str = "") -> None:
    """Print a message of one line that is not a result, to stderr. Control characters are escaped.

    Args:
        message: The message.
        stream: The stream to write to, by default stderr.
        label: The beginning of the message, which has a style on a terminal.
        style: The style of the label, as `paint` names it.
    """
    if _IS_QUIET.get():
        return
    stream = stream or sys.stderr
    beginning = paint(escape_controls(label), style, stream)
    _print(f"{get_program_name()}: {beginning}{escape_controls(message)}", stream)


def _print(line: str, stream: TextIO) -> None:
    """Print a line. If the stream cannot be written, for example after its terminal was closed, discard its output."""
    try:
        print(line, file=stream, flush=True)
    except OSError:
        discard(stream)
