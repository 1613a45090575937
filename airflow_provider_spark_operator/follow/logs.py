"""The driver's log as it is written, across lost connections."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
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
    """Where in the log we are: the time of the last line had, and its number among the lines of that time."""

    stamp: str = ""
    count: int = 0
    _stream: tuple[str, int] = ("", 0)
    _resuming: bool = False

    @property
    def since(self) -> datetime | None:
        """The time to ask the API from. It looks at whole seconds, and sends that second's lines again."""
        try:
            return datetime.fromisoformat(self.stamp)
        except ValueError:  # no line yet, or one without a time
            return None

    def begin(self) -> None:
        """A new stream begins, with lines that we may have had."""
        self._stream, self._resuming = ("", 0), bool(self.stamp)

    def advance(self, stamp: str) -> bool:
        """Take the stream's next line, of time `stamp`; whether it is new.

        After the first new one all are: a clock that is set back must not swallow lines.
        """
        number = self._stream[1] + 1 if stamp == self._stream[0] else 1
        self._stream = (stamp, number)
        if self._resuming and self._stream <= (self.stamp, self.count):
            return False
        self._resuming = False
        self.stamp, self.count = self._stream
        return True


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
        # One more look after the end: the stream may have been cut before the last lines.
        ended = has_ended(pod)
        latest = await _latest(client, reference, pod)
        if ended or latest is None or latest["metadata"]["name"] != name:
            return
        pod = latest
        await asyncio.sleep(0 if has_ended(pod) else backoff.next())


async def _latest(client: KubeClient, reference: ApplicationReference, known: JsonObject) -> JsonObject | None:
    try:
        return await driver_pod(client, reference)
    except _PASSING:  # an outage, which the log outlasts
        return known


async def _wait_for_driver(client: KubeClient, reference: ApplicationReference) -> JsonObject:
    backoff = Backoff(first=0.5, longest=5.0)
    while True:
        with suppress(*_PASSING):
            pod = await driver_pod(client, reference)
            if pod is not None:
                return pod
        await asyncio.sleep(backoff.next())


async def _read(
    client: KubeClient, reference: ApplicationReference, pod: str, container: str | None, position: _Position
) -> AsyncGenerator[str, None]:
    """The lines after `position`, which moves along."""
    position.begin()
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
            if position.advance(stamp):
                yield text
