"""The logs of pods, as the API server's `log` subresource asks for them."""

from collections.abc import AsyncIterator

from ...api.kinds.status import build_bad_request
from ...api.server.podlogs import LogOptions
from ..node.states import Waiting
from .pod import PodWorker


def read_log(worker: PodWorker | None, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
    """Return the wanted part of a container's log.

    Args:
        worker: The worker of the pod; None if the node does not run the pod.
        pod: The pod's name.
        container: The container's name.
        options: The wanted part of the log.

    Raises:
        ApiStatusError: 400 with the message of a kubelet, if the log does not exist (yet).
    """
    found = worker.find_container(container) if worker else None
    if found is None:
        raise build_bad_request(f"container {container} is not valid for pod {pod}")
    log = found.previous_log if options.previous else found.log
    if log is not None:
        return log.read(options)
    if options.previous:
        raise build_bad_request(f'previous terminated container "{container}" in pod "{pod}" not found')
    if isinstance(found.record.state, Waiting):
        raise build_bad_request(
            f'container "{container}" in pod "{pod}" is waiting to start: {found.record.state.reason}'
        )
    return _read_nothing()


async def _read_nothing() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for piece in nothing:
        yield piece
