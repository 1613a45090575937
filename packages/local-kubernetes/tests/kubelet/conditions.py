"""Waits for conditions, with a deadline."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

DEADLINE_SECONDS = 60


async def wait_until(condition: Callable[[], object]) -> None:
    """Wait until `condition` is true; raise TimeoutError after a deadline."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition():  # noqa: ASYNC110  other processes set no event here
            await asyncio.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()
