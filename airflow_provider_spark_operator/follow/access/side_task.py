"""Work that runs next to a wait. An unexpected error ends the work with a warning, and the wait continues."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any


def start(work: Coroutine[Any, Any, None], purpose: str, warn: Callable[[str], None]) -> asyncio.Task[None]:
    """Start work that must not fail a wait.

    Args:
        work: The work.
        purpose: What is missing after an unexpected error, for the warning.
        warn: Shows a warning, which begins with a verb.
    """

    def report(task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            kind = type(error).__name__
            warn(f"is followed without {purpose}: unexpected {kind}: {error}. Report this error to the maintainers")

    task = asyncio.create_task(work)
    task.add_done_callback(report)
    return task


async def stop(task: asyncio.Task[None] | None) -> None:
    """Cancel work, and wait until it has ended."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def run_beside(work: Coroutine[Any, Any, None], purpose: str, warn: Callable[[str], None]) -> AsyncIterator[None]:
    """Run work during the block; see `start`."""
    task = start(work, purpose, warn)
    try:
        yield
    finally:
        await stop(task)
