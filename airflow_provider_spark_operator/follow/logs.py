"""The driver's log as it is written, across lost connections."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime

from airflow_provider_spark_operator.follow.pods import driver_container, driver_pod, has_ended
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import (
    BadRequest,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from airflow_provider_spark_operator.kube.transport import JsonObject

# Enough for a long job at INFO; what writes more is looked up where the cluster keeps its logs.
LONGEST_LOG = 64 * 1024 * 1024
_PASSING = (Unreachable, ServerError, TooManyRequests, BadRequest)


@dataclass
class _Position:
    """Where in the log we are: the time of the last line, and how many lines at that time we have had."""

    stamp: str = ""
    count: int = 0

    def is_new(self, stamp: str, seen: dict[str, int]) -> bool:
        """Whether the next line, of time `stamp`, has not been had; `seen` counts the lines of this stream."""
        seen[stamp] = seen.get(stamp, 0) + 1
        if stamp < self.stamp or (stamp == self.stamp and seen[stamp] <= self.count):
            return False
        self.count = self.count + 1 if stamp == self.stamp else 1
        self.stamp = stamp
        return True

    @property
    def since(self) -> datetime | None:
        """The time to ask the API from: it looks at whole seconds and sends the lines of that second again."""
        return datetime.fromisoformat(self.stamp[:19] + "+00:00") if self.stamp else None


async def follow_driver_log(
    client: KubeClient, reference: ApplicationReference, *, longest: int = LONGEST_LOG
) -> AsyncGenerator[str, None]:
    """The lines of the current attempt's driver log, from its beginning until the driver has ended.

    Waits for the driver as long as there is none: who knows that none will come leaves, through
    `contextlib.aclosing`. A lost connection is resumed at the line where it was cut.

    Args:
        client: For the cluster.
        reference: The application.
        longest: In bytes, after which the log is left with a line that says so.

    Raises:
        KubeError: The log may not be read, or the driver's pods not be listed.
    """
    pod = await _wait_for_driver(client, reference)
    name = pod["metadata"]["name"]
    container = driver_container(pod)
    position, backoff, size = _Position(), Backoff(first=0.5, longest=10.0), 0
    while True:
        try:
            async with aclosing(_read(client, reference, name, container, position)) as lines:
                async for line in lines:
                    backoff.reset()
                    size += len(line) + 1
                    if size > longest:
                        yield f"… the log goes on: `kubectl logs -n {reference.namespace} {name}` shows all of it"
                        return
                    yield line
        except NotFound:
            return
        except _PASSING:
            pass  # not started yet, or interrupted; whether it has ended is seen next
        latest = await driver_pod(client, reference)
        if latest is None or latest["metadata"]["name"] != name:
            return
        # One more look after the end: the stream may have been cut before the last lines.
        if has_ended(pod):
            return
        pod = latest
        await asyncio.sleep(0 if has_ended(pod) else backoff.next())


async def _wait_for_driver(client: KubeClient, reference: ApplicationReference) -> JsonObject:
    backoff = Backoff(first=0.5, longest=5.0)
    while True:
        pod = await driver_pod(client, reference)
        if pod is not None:
            return pod
        await asyncio.sleep(backoff.next())


async def _read(
    client: KubeClient, reference: ApplicationReference, pod: str, container: str | None, position: _Position
) -> AsyncGenerator[str, None]:
    """The lines after `position`, which moves along."""
    seen: dict[str, int] = {}
    stream = client.logs(
        reference.namespace,
        pod,
        container=container,
        follow=True,
        timestamps=True,
        since_time=position.since,
    )
    async with aclosing(stream) as lines:
        async for line in lines:
            stamp, _, text = line.partition(" ")
            if position.is_new(stamp, seen):
                yield text
