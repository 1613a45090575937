"""Read why executors failed, and the last lines of their logs."""

import logging
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import EXECUTOR_CONTAINER
from ...core.kubernetes.pods import HEAP_FULL, ContainerStatus, describe_exit, get_status, list_containers
from ...core.log.driver_log import LastLines
from ...kube.client import KubeClient
from ...kube.errors import KubeError
from ..access.pods import Observe, list_executor_pods
from ..access.reference import ApplicationReference

logger = logging.getLogger(__name__)

# Executors usually fail for the same cause, so the logs of the first ones are sufficient.
_READ = 3
_REQUESTED_LINES = 200
_REQUESTED_BYTES = 1024 * 1024
# A driver that succeeds stops its executors with SIGTERM.
_STOPPED = frozenset({0, 143})


@dataclass(frozen=True)
class ExecutorEnd:
    """How one executor ended.

    Attributes:
        pod: The name of its pod.
        how: The exit code and the reason, for example `exit code 137 (OOMKilled)`.
        out_of_memory: Whether the executor ended because it ran out of memory.
        log_lines: The last lines of its log. Empty if the log could not be read or was not requested.
    """

    pod: str
    how: str
    out_of_memory: bool
    log_lines: tuple[str, ...] = ()


async def read_executor_ends(
    client: KubeClient, reference: ApplicationReference, observe: Observe
) -> tuple[ExecutorEnd, ...]:
    """Read how the executors of the current driver failed. Executors that ran out of memory come first.

    By default Spark deletes the pods of executors that have ended, so the result is often empty. The logs of the first
    few executors are read. Never raises, because it serves to explain another failure.

    Args:
        client: The client of the cluster.
        reference: The application.
        observe: Receives all pods of the application.
    """
    try:
        pods = await list_executor_pods(client, reference, observe)
    except KubeError as error:
        logger.debug("no executors: %s", error)
        return ()
    failed = [(pod, container) for pod in pods if (container := _find_failed_container(pod)) is not None]
    failed.sort(key=lambda one: (not _is_out_of_memory(one[1]), one[0]["metadata"]["name"]))
    ends = []
    for number, (pod, container) in enumerate(failed):
        lines = await _read_last_lines(client, pod, container.name) if number < _READ else ()
        ends.append(ExecutorEnd(pod["metadata"]["name"], describe_exit(container), _is_out_of_memory(container), lines))
    return tuple(ends)


def _is_out_of_memory(container: ContainerStatus) -> bool:
    has_full_heap = container.name == EXECUTOR_CONTAINER and container.exit_code == HEAP_FULL
    return has_full_heap or container.reason == "OOMKilled"


def _find_failed_container(pod: Mapping[str, Any]) -> ContainerStatus | None:
    ended = (one for one in list_containers(get_status(pod)) if one.exit_code is not None)
    return next((one for one in ended if one.exit_code not in _STOPPED), None)


async def _read_last_lines(client: KubeClient, pod: JsonObject, container: str) -> tuple[str, ...]:
    last = LastLines()
    metadata = pod["metadata"]
    stream = client.logs(
        metadata["namespace"],
        metadata["name"],
        container=container,
        tail_lines=_REQUESTED_LINES,
        limit_bytes=_REQUESTED_BYTES,
    )
    try:
        async with aclosing(stream) as lines:
            async for line in lines:
                last.add(line)
    except KubeError as error:
        logger.debug("no log of %s: %s", metadata["name"], error)
    return last.lines
