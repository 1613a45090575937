"""The handlers of SIGINT before, during and after a verb. This module imports nothing that takes time."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

# The value of ExitCode.INTERRUPTED. Importing the enumeration would delay the handler.
_INTERRUPTED = 130


def exit_on_interrupt() -> None:
    """End the process at the next SIGINT, unless its parent made it ignore SIGINT.

    An exception is not enough: during imports, some callbacks lose a KeyboardInterrupt or turn it into another error.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)


@contextmanager
def raise_on_interrupt() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt in the context, so that a running verb cleans up."""
    if signal.getsignal(signal.SIGINT) is not _exit:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _exit)


def _exit(_number: int, _frame: object) -> NoReturn:
    if sys.__stderr__ is not None:
        with suppress(OSError):
            os.write(sys.__stderr__.fileno(), b"spark-operator: error: interrupted\n")
    os._exit(_INTERRUPTED)
