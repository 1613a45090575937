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
class LogPosition:
    """Where in a driver's log we are: the time of the last line had, and its number among the lines of that time.

    Attributes:
        stamp: As the kubelet writes it before the line; empty before the first.
        count: From 1.
        pod: The uid of the driver's pod; another driver's log begins anew.
    """

    stamp: str = ""
    count: int = 0
    pod: str = ""
    _stream: tuple[str, int] = ("", 0)
    _resuming: bool = False

    @property
    def since(self) -> datetime | None:
        """The time to ask the API from. It looks at whole seconds, and sends that second's lines again."""
        try:
            return datetime.fromisoformat(self.stamp)
        except ValueError:  # no line yet, or one without a time
            return None

    def to_text(self) -> str:
        """The position in words that `from_text` reads, for one who goes on elsewhere."""
        return f"{self.pod} {self.stamp} {self.count}"

    @classmethod
    def from_text(cls, text: str) -> "LogPosition":
        """The position that `to_text` wrote; the beginning where it was not that."""
        pod, _, rest = text.partition(" ")
        stamp, _, count = rest.partition(" ")
        return cls(stamp, int(count), pod) if pod and stamp and count.isdecimal() else cls()

    def enter(self, pod: str) -> None:
        """The log of this pod is read; what is known of another's does not count."""
        if self.pod != pod:
            self.pod, self.stamp, self.count = pod, "", 0

    def begin(self) -> None:
        """A new stream begins, with lines that we may have had."""
        self._stream, self._resuming = ("", 0), bool(self.stamp)

    def gap(self, stamp: str) -> str | None:
        """What to say if lines are missing between the last one had and the stream's first, of time `stamp`.

        The stream begins with the second of our last line, so with that line, unless it is no longer kept.
        """
        if not self._resuming or self._stream[1] or stamp <= self.stamp:
            return None
        return (
            f"… lines between {_clock(self.stamp)} and {_clock(stamp)} UTC are missing: the log was rotated meanwhile"
        )

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
    client: KubeClient,
    reference: ApplicationReference,
    *,
    longest: int = LONGEST_LOG,
    position: LogPosition | None = None,
) -> AsyncGenerator[str, None]:
    """The lines of the current attempt's driver log, from its beginning until the driver has ended.

    Waits for the driver as long as there is none: who knows that none will come leaves, through
    `contextlib.aclosing`. A lost connection is resumed at the line where it was cut.

    Args:
        client: For the cluster.
        reference: The application.
        longest: In bytes, after which the log is left with a line that says so.
        position: Where an earlier reader of the same log was; moves along. None for the beginning.

    Raises:
        KubeError: The log may not be read, or the driver's pods not be listed.
    """
    pod = await _wait_for_driver(client, reference)
    name = pod["metadata"]["name"]
    container = driver_container(pod)
    position, backoff, size = position or LogPosition(), Backoff(first=0.5, longest=10.0), 0
    position.enter(pod["metadata"]["uid"])
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
    client: KubeClient, reference: ApplicationReference, pod: str, container: str | None, position: LogPosition
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
            gap = position.gap(stamp)
            if gap is not None:
                yield gap
            if position.advance(stamp):
                yield text


def _clock(stamp: str) -> str:
    return stamp.partition("T")[2][:8]
