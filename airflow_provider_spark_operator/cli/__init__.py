"""The command line `spark-operator`, one module per verb. A verb's module is imported when the verb is used."""

from collections.abc import Sequence

from .base.interrupts import exit_on_interrupt

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Report a failure as one sentence on stderr.

    Args:
        argv: The arguments after the name of the program; by default those of the process. With the default, SIGINT
            ends the process without a traceback, even while it imports its modules.

    Returns:
        An `ExitCode`.
    """
    if argv is None:
        exit_on_interrupt()
    # This import takes a third of a second. The handler of SIGINT must be set before it.
    from .program.command import run_command  # noqa: PLC0415

    return run_command(argv)
