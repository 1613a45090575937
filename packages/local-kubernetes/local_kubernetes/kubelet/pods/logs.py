"""The logs of pods, as the API server's `log` subresource asks for them."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

from ...api.kinds.status import build_bad_request
from ..containers.container_log import LogQuery
from ..node.states import Waiting
from .pod import PodWorker


def read_log(
    worker: PodWorker | None,
    pod: str,
    container: str,
    query: LogQuery,
    *,
    previous: bool,
) -> AsyncIterator[bytes]:
    """Return the wanted part of a container's log.

    Args:
        worker: The worker of the pod; None if the node does not run the pod.
        pod: The pod's name.
        container: The container's name.
        query: The wanted part of the log.
        previous: Whether to read the log of the run before the current or last one.

    Raises:
        ApiStatusError: 400 with the message of a kubelet, if the log does not exist (yet).
    """
    found = worker.find_container(container) if worker else None
    if found is None:
        raise build_bad_request(f"container {container} is not valid for pod {pod}")
    log = found.previous_log if previous else found.log
    if log is not None:
        return log.read(query)
    if previous:
        raise build_bad_request(f'previous terminated container "{container}" in pod "{pod}" not found')
    if isinstance(found.record.state, Waiting):
        raise build_bad_request(
            f'container "{container}" in pod "{pod}" is waiting to start: {found.record.state.reason}'
        )
    return _read_nothing()


def log_start(now: datetime, since_time: datetime | None, since_seconds: int | None) -> datetime | None:
    """Return the time of the first requested line, from an absolute time or a number of seconds."""
    if since_seconds is not None:
        beginning = datetime.min.replace(tzinfo=now.tzinfo)
        return now - timedelta(seconds=min(since_seconds, int((now - beginning).total_seconds())))
    return since_time


async def _read_nothing() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for piece in nothing:
        yield piece
