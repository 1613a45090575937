"""Work that goes on where Airflow breaks off the one who waits for it.

Airflow cancels a trigger's `on_kill` after a second: it repeats the cancellation each time round its loop.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

# A task that nobody refers to may be collected while it runs.
_tasks: set[asyncio.Task[None]] = set()


async def finish(work: Coroutine[Any, Any, None], subject: str, log: logging.Logger) -> None:
    """Wait for `work`, which goes on to its end even if this wait is cancelled.

    Args:
        work: What to do.
        subject: What it does, for messages.
        log: The task's; Airflow closes it once this wait is cancelled.
    """
    task = asyncio.create_task(work)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            log.warning("%s goes on in the triggerer; the triggerer's own log shows the outcome", subject)
        raise
