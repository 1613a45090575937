"""Stream the driver's log while it is written, across lost connections."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import datetime

from ...core.kubernetes.json_object import JsonObject
from ...core.lifecycle.driver_end import get_driver_container
from ...core.parameters.arguments import LONGEST_LOG
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import TRANSIENT, BadRequest, LogUnavailable, NotFound
from ...kube.resources import PODS
from ..access.pods import get_executor_container, has_ended, read_driver_pod
from ..access.reference import ApplicationReference

_PASSING = (*TRANSIENT, BadRequest)


@dataclass(frozen=True)
class LogStart:
    """Where a reader starts in a log.

    Attributes:
        since: Start at this time. None for the beginning.
        tail_lines: Start this number of lines before the end. None for all lines.
    """

    since: datetime | None = None
    tail_lines: int | None = None


FROM_BEGINNING = LogStart()


@dataclass(frozen=True)
class _Source:
    """A container whose log is followed.

    Attributes:
        name: The name of the pod.
        container: The name of the container.
        role: The role of the pod, for messages.
        reread: Reads the pod again. Returns None if it no longer exists.
    """

    name: str
    container: str | None
    role: str
    reread: Callable[[JsonObject], Awaitable[JsonObject | None]]


@dataclass
class LogPosition:
    """The position of a reader in a driver's log: the time of the last line, and its number in that time.

    Attributes:
        timestamp: The time that the kubelet writes before the line. Empty before the first line.
        count: The number of the line among the lines of that time, from 1.
        pod: The uid of the driver pod. The log of another driver pod starts at its beginning.
        whole: Whether the log of `pod` was read to its end.
    """

    timestamp: str = ""
    count: int = 0
    pod: str = ""
    whole: bool = False
    _stream: tuple[str, int] = ("", 0)
    _resuming: bool = False

    @property
    def since(self) -> datetime | None:
        """The time from which to request the log. The API compares whole seconds and repeats lines."""
        try:
            return datetime.fromisoformat(self.timestamp)
        except ValueError:  # no line yet, or a line without a time
            return None

    def to_text(self) -> str:
        """Return the position as text that `from_text` parses, for a reader in another process."""
        return f"{self.pod} {self.timestamp} {self.count}"

    @classmethod
    def from_text(cls, text: str) -> "LogPosition":
        """Parse the text of `to_text`. Invalid text yields the beginning of the log."""
        pod, _, rest = text.partition(" ")
        timestamp, _, count = rest.partition(" ")
        return cls(timestamp, int(count), pod) if pod and timestamp and count.isdecimal() else cls()

    def enter(self, pod: str) -> str | None:
        """Start to read the log of this pod.

        Returns:
            The line to show if the log of the previous pod was not read to its end, else None.
        """
        if self.pod == pod:
            return None
        gap = None
        if self.timestamp and not self.whole:
            time = _format_clock(self.timestamp)
            gap = f"… lines of the previous driver after {time} UTC may be missing: its pod was deleted"
        self.pod, self.timestamp, self.count, self.whole = pod, "", 0, False
        return gap

    def begin_stream(self) -> None:
        """Start a stream that may repeat lines before this position."""
        self._stream, self._resuming = ("", 0), bool(self.timestamp)

    def describe_gap(self, timestamp: str) -> str | None:
        """Return the line to show if lines are missing between this position and the first line of the stream.

        The stream starts with the second of this position. It does not contain the line at this position if the node
        has removed that part of the log.

        Args:
            timestamp: The time of the first line of the stream.
        """
        if not self._resuming or self._stream[1] or timestamp <= self.timestamp:
            return None
        begin, end = _format_clock(self.timestamp), _format_clock(timestamp)
        return f"… lines between {begin} and {end} UTC are missing: the log was rotated"

    def describe_missing_rest(self, cause: str, role: str = "driver") -> str:
        """Return the line that replaces the rest of a log that can no longer be read."""
        if not self.timestamp:
            return f"… the {role}'s log could not be read: {cause}"
        return f"… lines after {_format_clock(self.timestamp)} UTC are missing: {cause}"

    def advance(self, timestamp: str) -> bool:
        """Move to the next line of the stream, with the time `timestamp`, and return whether the line is new.

        All lines after the first new line are new, even if the clock of the node was set back.
        """
        number = self._stream[1] + 1 if timestamp == self._stream[0] else 1
        self._stream = (timestamp, number)
        if self._resuming and self._stream <= (self.timestamp, self.count):
            return False
        self._resuming = False
        self.timestamp, self.count = self._stream
        return True


async def follow_driver_log(
    client: KubeClient,
    reference: ApplicationReference,
    *,
    longest: int = LONGEST_LOG,
    position: LogPosition | None = None,
) -> AsyncGenerator[str, None]:
    """Yield the lines of the current attempt's driver log, from its beginning until the driver has ended.

    Waits for the driver as long as it does not exist. To stop earlier, leave the iteration through
    `contextlib.aclosing`. A lost connection is resumed at the line where it was interrupted.

    Args:
        client: The client of the cluster.
        reference: The application.
        longest: The limit in bytes. If the log is longer, a final line says so.
        position: The position of an earlier reader of the same log, which is updated. If None, the position is the
            beginning of the log.

    Raises:
        KubeError: The permission to read the log or to list the driver pods is missing.
    """
    pod = await _wait_for_driver(client, reference)
    async with aclosing(follow_pod_log(client, reference, pod, longest=longest, position=position)) as lines:
        async for line in lines:
            yield line


async def follow_pod_log(
    client: KubeClient,
    reference: ApplicationReference,
    pod: JsonObject,
    *,
    longest: int = LONGEST_LOG,
    position: LogPosition | None = None,
    start: LogStart = FROM_BEGINNING,
) -> AsyncGenerator[str, None]:
    """Yield the lines of the log of one driver pod, until the driver has ended.

    If the pod is deleted before its log was read to the end, the last line reports which lines are missing.

    Args:
        client: The client of the cluster.
        reference: The application.
        pod: The driver pod.
        longest: The limit in bytes. If the log is longer, a final line says so.
        position: The position of an earlier reader of the same log, which is updated. If None, the position is the
            beginning of the log.
        start: Where to start if `position` is the beginning.

    Raises:
        KubeError: The permission to read the log or to list the driver pods is missing.
    """

    async def reread(known: JsonObject) -> JsonObject | None:
        return await _reread_driver(client, reference, known)

    source = _Source(pod["metadata"]["name"], get_driver_container(pod), "driver", reread)
    lines = _follow_pod(client, source, pod, position or LogPosition(), start)
    async with aclosing(limit_log(lines, pod, longest)) as limited:
        async for line in limited:
            yield line


async def follow_executor_log(
    client: KubeClient, pod: JsonObject, *, longest: int = LONGEST_LOG, start: LogStart = FROM_BEGINNING
) -> AsyncGenerator[str, None]:
    """Yield the lines of the log of one executor pod, until the executor has ended.

    Args:
        client: The client of the cluster.
        pod: The executor pod.
        longest: The limit in bytes. If the log is longer, a final line says so.
        start: Where to start.

    Raises:
        KubeError: The permission to read the log or the pod is missing.
    """

    async def reread(known: JsonObject) -> JsonObject | None:
        return await _reread_pod(client, known)

    source = _Source(pod["metadata"]["name"], get_executor_container(pod), "executor", reread)
    async with aclosing(limit_log(_follow_pod(client, source, pod, LogPosition(), start), pod, longest)) as limited:
        async for line in limited:
            yield line


async def limit_log(lines: AsyncGenerator[str, None], pod: JsonObject, longest: int) -> AsyncGenerator[str, None]:
    """Yield the lines of a log up to a size. If the log is longer, a final line says so.

    Args:
        lines: The lines, which are closed at the end.
        pod: The pod of the log, for the last line.
        longest: The limit in bytes.
    """
    metadata, size = pod["metadata"], 0
    async with aclosing(lines):
        async for line in lines:
            size += len(line) + 1
            if size > longest:
                command = f"kubectl logs -n {metadata['namespace']} {metadata['name']}"
                yield f"… the rest of the log is not shown. Run `{command}` to see all of it"
                return
            yield line


async def _follow_pod(
    client: KubeClient, source: _Source, pod: JsonObject, position: LogPosition, start: LogStart
) -> AsyncGenerator[str, None]:
    backoff = Backoff(first=0.5, longest=10.0)
    gap = position.enter(pod["metadata"]["uid"])
    if gap is not None:
        yield gap
    latest: JsonObject | None = pod
    while latest is not None and latest["metadata"]["name"] == source.name:
        # The log is read once more after the end: the stream may have been interrupted before the last lines.
        ended, unavailable = has_ended(latest, source.container), ""
        try:
            async with aclosing(_read_new_lines(client, pod, source.container, position, start)) as lines:
                async for line in lines:
                    backoff.reset()
                    yield line
            position.whole = True  # the stream ended because the container ended
        except NotFound:
            break
        except LogUnavailable as error:
            unavailable = error.message
            position.whole = position.whole and ended  # the log may have been read before
        except _PASSING:
            position.whole = False  # not started yet, or interrupted
        latest = None if ended and position.whole else await source.reread(latest)
        if ended and latest is not None and latest["metadata"]["name"] == source.name:
            if unavailable and not position.whole:
                yield position.describe_missing_rest(unavailable, source.role)
            return
        await asyncio.sleep(0 if latest is None or has_ended(latest, source.container) else backoff.next())
    if not position.whole:
        yield position.describe_missing_rest(f"the {source.role} pod was deleted", source.role)


async def _reread_driver(client: KubeClient, reference: ApplicationReference, known: JsonObject) -> JsonObject | None:
    try:
        return await read_driver_pod(client, reference)
    except _PASSING:  # the log resumes after the outage
        return known


async def _reread_pod(client: KubeClient, known: JsonObject) -> JsonObject | None:
    metadata = known["metadata"]
    try:
        latest = await client.get(PODS, metadata["name"], metadata["namespace"])
    except NotFound:
        return None
    except _PASSING:
        return known
    return latest if latest["metadata"]["uid"] == metadata["uid"] else None


async def _wait_for_driver(client: KubeClient, reference: ApplicationReference) -> JsonObject:
    backoff = Backoff(first=0.5, longest=5.0)
    while True:
        with suppress(*_PASSING):
            pod = await read_driver_pod(client, reference)
            if pod is not None:
                return pod
        await asyncio.sleep(backoff.next())


async def _read_new_lines(
    client: KubeClient, pod: JsonObject, container: str | None, position: LogPosition, start: LogStart
) -> AsyncGenerator[str, None]:
    """Yield the lines after `position`, which is updated. Without a position, begin at `start`."""
    position.begin_stream()
    is_first = not position.timestamp
    stream = client.logs(
        pod["metadata"]["namespace"],
        pod["metadata"]["name"],
        container=container,
        follow=True,
        timestamps=True,
        since_time=start.since if is_first else position.since,
        tail_lines=start.tail_lines if is_first else None,
    )
    async with aclosing(stream) as lines:
        async for line in lines:
            timestamp, _, text = line.partition(" ")
            gap = position.describe_gap(timestamp)
            if gap is not None:
                yield gap
            if position.advance(timestamp):
                yield text


def _format_clock(timestamp: str) -> str:
    return timestamp.partition("T")[2][:8]
