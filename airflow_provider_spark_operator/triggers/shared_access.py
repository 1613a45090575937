"""Read a connection once for many triggers that start together.

The supervisor of the triggerer answers one request in each round of its loop. A thousand watchers that each read their
connection would start minutes later.
"""

import asyncio
import time
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from ..hooks.connection import async_read_access
from ..kube.connection import ClusterAccess

# Longer than a burst of starts needs. A client whose connection has changed reads the connection itself.
_FRESH_SECONDS = 60.0


@dataclass(frozen=True)
class _Reading:
    task: asyncio.Task[ClusterAccess]
    began: float

    @property
    def is_usable(self) -> bool:
        if not self.task.done():
            return True
        failed = self.task.cancelled() or self.task.exception() is not None
        return not failed and time.monotonic() - self.began < _FRESH_SECONDS


_readings: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str | None, _Reading]] = WeakKeyDictionary()


async def share_access(conn_id: str | None) -> ClusterAccess:
    """Return the access to the cluster of a connection, which another trigger may have read up to a minute ago.

    Args:
        conn_id: The id of the connection; see `async_read_access`.

    Raises:
        AirflowException: The connection does not exist, or is not valid.
    """
    readings = _readings.setdefault(asyncio.get_running_loop(), {})
    reading = readings.get(conn_id)
    if reading is None or not reading.is_usable:
        reading = readings[conn_id] = _Reading(asyncio.create_task(async_read_access(conn_id)), time.monotonic())
    # The end of one trigger must not end the reading of the others.
    return await asyncio.shield(reading.task)
