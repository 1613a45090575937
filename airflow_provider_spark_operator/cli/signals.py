"""Ending a running command by a signal, with everything it has started."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from airflow_provider_spark_operator.cli.exit_codes import ExitCode

_ENDINGS = {signal.SIGTERM: ExitCode.SUCCESS, signal.SIGINT: ExitCode.INTERRUPTED}


def run_until_signalled(main: Callable[[], Coroutine[Any, Any, ExitCode]]) -> ExitCode:
    """Run `main` in an event loop; SIGTERM and SIGINT cancel it and let it clean up.

    Returns:
        What `main` returns; SUCCESS after SIGTERM, INTERRUPTED after SIGINT.
    """
    return asyncio.run(_guarded(main))


async def _guarded(main: Callable[[], Coroutine[Any, Any, ExitCode]]) -> ExitCode:
    task = asyncio.create_task(main())
    received: list[signal.Signals] = []

    def stop(which: signal.Signals) -> None:
        # Only the first one cancels: a second would break off the cleaning up.
        if not received:
            task.cancel()
        received.append(which)

    loop = asyncio.get_running_loop()
    for which in _ENDINGS:
        loop.add_signal_handler(which, stop, which)
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        return _ENDINGS[received[0]]
    finally:
        for which in _ENDINGS:
            loop.remove_signal_handler(which)
