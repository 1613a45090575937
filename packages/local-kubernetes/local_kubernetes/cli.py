"""The entry point of the command `local-kubernetes`. It handles SIGINT before it imports the command."""

import os
import signal
from collections.abc import Sequence
from typing import NoReturn

# The value of ExitCode.INTERRUPTED. Importing the enumeration would delay the handler.
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Command-line arguments without the program's name. If None, those of the process. In that case,
            SIGINT ends the process without a traceback, also while it imports its modules.

    Returns:
        An `ExitCode`. Usage errors end the process with exit code 2.
    """
    # An exception is not enough: during imports, some callbacks lose a KeyboardInterrupt.
    if arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)
    # This import takes a third of a second. The handler of SIGINT must be set before it.
    from .command import run_command  # noqa: PLC0415

    return run_command(arguments)


def _exit(_number: int, _frame: object) -> NoReturn:
    os._exit(_INTERRUPTED)
