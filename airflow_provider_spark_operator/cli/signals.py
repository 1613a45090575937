"""Run a command until a signal ends it.

`local_kubernetes.command` has its own version, because `reconcile` must work without that package.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from airflow_provider_spark_operator.cli.exit_codes import ExitCode


def run_until_signal(
    main: Callable[[], Coroutine[Any, Any, ExitCode]], *, after_sigterm: ExitCode = ExitCode.SUCCESS
) -> ExitCode:
    """Run a coroutine in an event loop; SIGTERM, SIGINT and SIGHUP cancel it, and it cleans up.

    SIGHUP, which a terminal sends when it is closed, stays ignored if the process was started by `nohup`.

    Args:
        main: Creates the coroutine.
        after_sigterm: The exit code after SIGTERM. For a service, which SIGTERM ends as intended, it is SUCCESS; for a
            job, whose work is unfinished, INTERRUPTED.

    Returns:
        The result of the coroutine, or INTERRUPTED after SIGINT or SIGHUP.
    """
    endings = {signal.SIGTERM: after_sigterm, signal.SIGINT: ExitCode.INTERRUPTED}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        endings[signal.SIGHUP] = ExitCode.INTERRUPTED
    return asyncio.run(_run_until_signal(main, endings))


async def _run_until_signal(
    main: Callable[[], Coroutine[Any, Any, ExitCode]], endings: Mapping[signal.Signals, ExitCode]
) -> ExitCode:
    task = asyncio.create_task(main())
    received: list[signal.Signals] = []

    def stop(which: signal.Signals) -> None:
        # Only the first signal cancels: a second one would interrupt the cleanup.
        if not received:
            task.cancel()
        received.append(which)

    loop = asyncio.get_running_loop()
    for which in endings:
        loop.add_signal_handler(which, stop, which)
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        return endings[received[0]]
    finally:
        for which in endings:
            loop.remove_signal_handler(which)
