"""Errors and notes of a command, each one sentence on stderr, and the exit codes."""

import sys
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from enum import IntEnum
from typing import TextIO

from ...kube.errors import Forbidden, KubeError
from .program_name import PROGRAM, get_program_name
from .streams import discard, escape_controls, paint


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
