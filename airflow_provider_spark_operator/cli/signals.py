"""Ending a running command by a signal, with everything it has started."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from airflow_provider_spark_operator.cli.exit_codes import ExitCode


def run_until_signal(
    main: Callable[[], Coroutine[Any, Any, ExitCode]], *, after_sigterm: ExitCode = ExitCode.SUCCESS
) -> ExitCode:
    """Run `main` in an event loop; SIGTERM, SIGINT and SIGHUP cancel it and let it clean up.

    SIGHUP, which the closing of a terminal sends, stays ignored where `nohup` has had it ignored.

    Args:
        main: makes what is run.
        after_sigterm: for a service, being told to end is success; a job that is told so has not been done.

    Returns:
        What `main` returns; INTERRUPTED after SIGINT and SIGHUP.
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
        # Only the first one cancels: a second would break off the cleaning up.
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
