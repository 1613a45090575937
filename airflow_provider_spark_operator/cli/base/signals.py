"""Run a command until a signal ends it.

`local_kubernetes.command` has its own version, because `reconcile` must work without that package.
"""

import asyncio
import faulthandler
import io
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final

from .errors import ExitCode

GRACE_SECONDS: Final = 20.0
"""The time limit for the cleanup. Kubernetes kills a pod 30 seconds after SIGTERM."""


def run_until_signal(
    main: Callable[[], Coroutine[Any, Any, ExitCode]],
    *,
    after_sigterm: ExitCode = ExitCode.SUCCESS,
    grace_seconds: float | None = None,
) -> ExitCode:
    """Run a coroutine in an event loop; SIGTERM, SIGINT and SIGHUP cancel it, and it cleans up.

    SIGHUP, which a terminal sends when it is closed, stays ignored if the process was started by `nohup`.

    Args:
        main: Creates the coroutine.
        after_sigterm: The exit code after SIGTERM. For a service, which SIGTERM ends as intended, it is SUCCESS; for a
            job, whose work is unfinished, INTERRUPTED.
        grace_seconds: The time limit for the cleanup after a signal. Afterwards, the process ends with exit code 1 and
            prints what each thread was doing. None for no limit.

    Returns:
        The result of the coroutine, or INTERRUPTED after SIGINT or SIGHUP.
    """
    endings = {signal.SIGTERM: after_sigterm, signal.SIGINT: ExitCode.INTERRUPTED}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        endings[signal.SIGHUP] = ExitCode.INTERRUPTED
    try:
        return asyncio.run(_run_until_signal(main, endings, grace_seconds))
    finally:
        faulthandler.cancel_dump_traceback_later()


async def _run_until_signal(
    main: Callable[[], Coroutine[Any, Any, ExitCode]],
    endings: Mapping[signal.Signals, ExitCode],
    grace_seconds: float | None,
) -> ExitCode:
    task = asyncio.create_task(main())
    received: list[signal.Signals] = []

    def stop(number: int, _frame: object) -> None:
        # Only the first signal cancels: a second one would interrupt the cleanup.
        if not received:
            if grace_seconds is not None:
                _exit_after(grace_seconds)
            loop.call_soon_threadsafe(task.cancel)
        received.append(signal.Signals(number))

    loop = asyncio.get_running_loop()
    # A handler of the event loop would not run while a computation blocks the loop.
    previous = {which: signal.signal(which, stop) for which in endings}
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        return endings[received[0]]
    finally:
        for which, handler in previous.items():
            signal.signal(which, handler)


def _exit_after(seconds: float) -> None:
    """End the process after some time, whatever its threads do then."""
    if sys.__stderr__ is not None:
        with suppress(io.UnsupportedOperation):  # standard error is no file
            faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__)
