"""Stream the logs of the drivers and executors of one attempt, or of all attempts that follow."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TypeAlias

from ...core.dialects.dialect import dialect_of, read_progress
from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_ROLE, ROLE_DRIVER
from ...core.lifecycle.driver_end import get_driver_container
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import TRANSIENT, NotFound
from ...kube.resources import PODS
from ..access.pods import get_executor_container, has_ended, list_executor_pods, list_executors_of, read_driver_pod
from ..access.reference import ApplicationReference
from ..access.requests import read_present
from .logs import LogStart, follow_executor_log, follow_pod_log

Choose: TypeAlias = Callable[[JsonObject], bool]
# Lines that wait to be shown. A pod that writes faster waits.
_BUFFERED_LINES = 1000


@dataclass(frozen=True)
class PodLine:
    """One line of the log of a pod.

    Attributes:
        pod: The name of the pod.
        text: The line.
    """

    pod: str
    text: str


async def read_driver_of_attempt(
    client: KubeClient, reference: ApplicationReference, resource: JsonObject, attempt: int
) -> JsonObject | None:
    """Read the driver pod of one attempt. Return None if it no longer exists, or if its name is unknown.

    Args:
        client: The client of the cluster.
        reference: The application.
        resource: The content of the application.
        attempt: The number of the attempt, from 0.

    Raises:
        KubeError: The API rejected a request or could not be reached.
    """
    if attempt >= read_progress(resource).attempt:
        return await read_driver_pod(client, reference)
    name = find_driver_name(resource, attempt)
    if name is None:
        return None
    with suppress(NotFound):
        pod = await client.get(PODS, name, reference.namespace)
        owners = pod["metadata"].get("ownerReferences") or ()
        return pod if any(owner.get("uid") == reference.uid for owner in owners) else None
    return None


def find_driver_name(resource: JsonObject, attempt: int) -> str | None:
    """Return the name of the driver pod of one attempt, from 0; None if it is unknown."""
    dialect = dialect_of(resource.get("apiVersion"))
    identifier = dialect.read_application_id(resource, attempt)
    return dialect.read_driver_pod_name(resource, identifier) if identifier else None


async def read_executors_of_driver(
    client: KubeClient, reference: ApplicationReference, driver: JsonObject
) -> list[JsonObject]:
    """List the executor pods of a driver, sorted by name.

    Raises:
        KubeError: The pods could not be listed.
    """
    pods = await list_executors_of(client, reference, driver)
    return sorted(pods, key=_get_name)


async def read_logs(client: KubeClient, pods: Sequence[JsonObject], start: LogStart) -> AsyncGenerator[PodLine, None]:
    """Yield the lines that the pods have written so far, one pod after the other.

    Raises:
        KubeError: A log could not be read.
    """
    for pod in pods:
        metadata = pod["metadata"]
        is_driver = metadata.get("labels", {}).get(LABEL_ROLE) == ROLE_DRIVER
        container = get_driver_container(pod) if is_driver else get_executor_container(pod)
        stream = client.logs(
            metadata["namespace"],
            metadata["name"],
            container=container,
            since_time=start.since,
            tail_lines=start.tail_lines,
        )
        async with aclosing(stream) as lines:
            async for line in lines:
                yield PodLine(metadata["name"], line)


async def follow_drivers(
    client: KubeClient, reference: ApplicationReference, start: LogStart, on_driver: Callable[[str], None]
) -> AsyncGenerator[PodLine, None]:
    """Yield the lines of the current driver, then of the drivers of further attempts, until the application ends.

    Args:
        client: The client of the cluster.
        reference: The application.
        start: Where to start in the log of the first driver.
        on_driver: Called with the name of each driver pod before its lines.

    Raises:
        KubeError: The API rejected a request or could not be reached.
    """
    known, backoff = "", Backoff(first=0.5, longest=5.0)
    while True:
        # Read before the pod: an application that has ended gets no other driver.
        present = await read_present(client, reference)
        pod = await read_driver_pod(client, reference)
        if pod is not None and pod["metadata"]["uid"] != known:
            known = pod["metadata"]["uid"]
            on_driver(_get_name(pod))
            async with aclosing(follow_pod_log(client, reference, pod, longest=sys.maxsize, start=start)) as lines:
                async for line in lines:
                    yield PodLine(_get_name(pod), line)
            start = LogStart(start.since)
            backoff.reset()
        elif present is None or read_progress(present).phase is Phase.ENDED:
            return
        else:
            await asyncio.sleep(backoff.next())


async def follow_executors(
    client: KubeClient, reference: ApplicationReference, choose: Choose, start: LogStart
) -> AsyncGenerator[PodLine, None]:
    """Yield the lines of executors, also of those that start later, until the driver ends.

    Args:
        client: The client of the cluster.
        reference: The application.
        choose: Returns whether the log of an executor pod is followed.
        start: Where to start in the log of each executor.

    Raises:
        KubeError: The API rejected a request or could not be reached.
    """
    streams = _ExecutorStreams(client, reference, choose, start)
    discovery = asyncio.create_task(streams.run())
    try:
        while (line := await streams.lines.get()) is not None:
            yield line
        await discovery
    finally:
        discovery.cancel()
        while not streams.lines.empty():  # a stream may wait for free space
            streams.lines.get_nowait()
        await asyncio.gather(discovery, return_exceptions=True)


async def merge_lines(*streams: AsyncGenerator[PodLine, None]) -> AsyncGenerator[PodLine, None]:
    """Yield the lines of several streams as they arrive, until all streams have ended.

    Raises:
        KubeError: One of the streams failed. The others are closed.
    """
    queue: asyncio.Queue[PodLine | None] = asyncio.Queue(_BUFFERED_LINES)

    async def forward(stream: AsyncGenerator[PodLine, None]) -> None:
        async with aclosing(stream) as lines:
            async for line in lines:
                await queue.put(line)

    tasks = [asyncio.create_task(forward(stream)) for stream in streams]

    async def wait() -> None:
        try:
            await asyncio.gather(*tasks)
        finally:
            await queue.put(None)

    end = asyncio.create_task(wait())
    try:
        while (line := await queue.get()) is not None:
            yield line
        await end
    finally:
        for task in (*tasks, end):
            task.cancel()
        while not queue.empty():  # `wait` may wait for free space
            queue.get_nowait()
        await asyncio.gather(*tasks, end, return_exceptions=True)


class _ExecutorStreams:
    """The streams of the logs of executors.

    Attributes:
        lines: The lines of all streams, then None.
    """

    def __init__(self, client: KubeClient, reference: ApplicationReference, choose: Choose, start: LogStart) -> None:
        self._client = client
        self._reference = reference
        self._choose = choose
        self._start = start
        self._streams: dict[str, asyncio.Task[None]] = {}
        self.lines: asyncio.Queue[PodLine | None] = asyncio.Queue(_BUFFERED_LINES)

    async def run(self) -> None:
        """Stream until the driver has ended.

        Raises:
            KubeError: The API rejected a request.
        """
        backoff = Backoff(first=0.5, longest=5.0)
        try:
            is_last = await self._discover()
            while not is_last:
                await asyncio.sleep(backoff.next())
                is_last = await self._discover()
            await asyncio.gather(*self._streams.values())
        finally:
            for stream in self._streams.values():
                stream.cancel()
            await asyncio.gather(*self._streams.values(), return_exceptions=True)
            await self.lines.put(None)

    async def _discover(self) -> bool:
        """Stream the logs of new executors. Return whether the driver has ended."""
        with suppress(*TRANSIENT):
            has_driver_ended = await _has_driver_ended(self._client, self._reference)
            for pod in await list_executor_pods(self._client, self._reference):
                uid = pod["metadata"]["uid"]
                if self._choose(pod) and uid not in self._streams:
                    self._streams[uid] = asyncio.create_task(self._stream(pod))
            return has_driver_ended
        return False

    async def _stream(self, pod: JsonObject) -> None:
        log = follow_executor_log(self._client, pod, longest=sys.maxsize, start=self._start)
        async with aclosing(log) as lines:
            async for line in lines:
                await self.lines.put(PodLine(_get_name(pod), line))


async def _has_driver_ended(client: KubeClient, reference: ApplicationReference) -> bool:
    present = await read_present(client, reference)
    pod = await read_driver_pod(client, reference)
    if pod is not None:
        return has_ended(pod)
    return present is None or read_progress(present).phase is Phase.ENDED


def _get_name(pod: JsonObject) -> str:
    return str(pod["metadata"]["name"])
