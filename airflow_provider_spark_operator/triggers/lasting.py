"""Work that goes on where Airflow breaks off the one who waits for it.

Airflow cancels a trigger's `on_kill` after a second: it repeats the cancellation each time round its loop.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

# A task that nobody refers to may be collected while it runs.
_tasks: set[asyncio.Task[None]] = set()


async def finish(work: Coroutine[Any, Any, None]) -> None:
    """Wait for `work`, which goes on to its end even if this wait is cancelled."""
    task = asyncio.create_task(work)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    await asyncio.shield(task)
