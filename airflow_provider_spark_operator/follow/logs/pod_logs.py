"""Stream the log of a driver or an executor, up to a size."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.lifecycle.driver_end import get_driver_container
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ..access.pods import get_executor_container, list_executor_pods, read_driver_pod
from ..access.reference import ApplicationReference, PodMissing
from ..access.requests import read_present
from .logs import follow_pod_log, limit_log


async def stream_driver_log(
    client: KubeClient, reference: ApplicationReference, *, follow: bool, tail_lines: int | None, longest: int
) -> AsyncGenerator[str, None]:
    """Yield the lines of the log of the current driver.

    Args:
        client: The client of the cluster.
        reference: The application.
        follow: Whether to wait for the driver, and to continue until the driver has ended.
        tail_lines: Number of lines from the end of the log to return. If None, the whole log. Ignored with `follow`.
        longest: The limit in bytes. If the log is longer, a final line says so.

    Raises:
        PodMissing: There is no driver pod, and none is expected.
        KubeError: The API rejected a request or could not be reached.
    """
    pod = await _find_driver(client, reference, wait=follow)
    if follow:
        lines = follow_pod_log(client, reference, pod, longest=longest)
    else:
        lines = _read(client, pod, get_driver_container(pod), tail_lines=tail_lines, longest=longest)
    async with aclosing(lines) as stream:
        async for line in stream:
            yield line


async def stream_executor_log(
    client: KubeClient,
    reference: ApplicationReference,
    executor: str,
    *,
    follow: bool,
    tail_lines: int | None,
    longest: int,
) -> AsyncGenerator[str, None]:
    """Yield the lines of the log of one executor.

    Args:
        client: The client of the cluster.
        reference: The application.
        executor: The name of the executor pod.
        follow: Whether to continue until the executor has ended.
        tail_lines: Number of lines from the end of the log to return. If None, the whole log.
        longest: The limit in bytes. If the log is longer, a final line says so.

    Raises:
        PodMissing: The current driver has no executor pod of this name.
        KubeError: The API rejected a request or could not be reached.
    """
    pods = {pod["metadata"]["name"]: pod for pod in await list_executor_pods(client, reference)}
    if executor not in pods:
        noun = "executor pod" if len(pods) == 1 else "executor pods"
        raise PodMissing(reference, f"has no executor pod {executor}; the application has {len(pods)} {noun}")
    pod = pods[executor]
    lines = _read(client, pod, get_executor_container(pod), follow=follow, tail_lines=tail_lines, longest=longest)
    async with aclosing(lines) as stream:
        async for line in stream:
            yield line


async def _find_driver(client: KubeClient, reference: ApplicationReference, *, wait: bool) -> JsonObject:
    """Return the driver pod of the current attempt.

    Raises:
        PodMissing: There is no driver pod, and none is expected.
        KubeError: The API rejected a request or could not be reached.
    """
    backoff = Backoff(first=0.5, longest=5.0)
    while True:
        # Read before the pods: an application that has ended gets no other driver.
        present = await read_present(client, reference)
        pod = await read_driver_pod(client, reference)
        if pod is not None:
            return pod
        if present is None:
            raise PodMissing(reference, "has no driver pod; the application was deleted")
        seen = read_progress(present)
        if not wait or seen.phase is Phase.ENDED:
            raise PodMissing(reference, f"has no driver pod; the application is in state {seen.state}")
        await asyncio.sleep(backoff.next())


def _read(
    client: KubeClient,
    pod: JsonObject,
    container: str | None,
    *,
    follow: bool = False,
    tail_lines: int | None,
    longest: int,
) -> AsyncGenerator[str, None]:
    metadata = pod["metadata"]
    lines = client.logs(
        metadata["namespace"], metadata["name"], container=container, follow=follow, tail_lines=tail_lines
    )
    return limit_log(lines, pod, longest)
