"""Wait until a task submits its application again, after the cluster had no room for it."""

import asyncio
import logging
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

from ..core.states.capacity_wait import CapacityWait
from ..follow.watching.wait import compute_seconds_until
from .event import ApplicationEvent

logger = logging.getLogger(__name__)


async def wait_for_capacity(event: ApplicationEvent, wait: CapacityWait, deadline: str | None) -> ApplicationEvent:
    """Return the event when the task must process it. If it must submit the application again, that is later.

    The log shows what happens next.

    Args:
        event: The end of the application.
        wait: How long the task may wait for capacity.
        deadline: ISO 8601 time at which the task times out. None if it does not time out.
    """
    if not event.lacks_capacity:
        return event
    logger.warning("%s", event.sentence)
    now = datetime.now(UTC)
    following = wait.add_failure(now)
    if following is None:
        limit = timedelta(seconds=wait.seconds)
        logger.warning("the cluster had no room for longer than %s (capacity_wait); this failure uses a retry", limit)
        return event
    logger.info("%s", following.describe(now))
    delay, latest = following.delay.total_seconds(), compute_seconds_until(deadline)
    await asyncio.sleep(delay if latest is None else min(delay, latest))
    return replace(event, capacity_wait=asdict(following))
