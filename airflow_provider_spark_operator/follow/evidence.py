"""What the cluster still knows about a failure, and the one sentence that it makes."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from airflow_provider_spark_operator.core.dialects.dialect import known_states
from airflow_provider_spark_operator.core.dialects.progress import Progress, had_driver, kept_lines
from airflow_provider_spark_operator.core.driver_log import LastLines, clean_line
from airflow_provider_spark_operator.core.pods import (
    Container,
    containers,
    deletion_began,
    status_of,
    was_deleted_before_end,
)
from airflow_provider_spark_operator.core.reasons import OUT_OF_MEMORY
from airflow_provider_spark_operator.core.root_cause import RootCause
from airflow_provider_spark_operator.core.times import read_time
from airflow_provider_spark_operator.core.verdict import FailureKind, Verdict
from airflow_provider_spark_operator.follow.pods import get_driver_container, read_driver_pod
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.kube.resources import EVENTS
from airflow_provider_spark_operator.kube.transport import JsonObject

logger = logging.getLogger(__name__)

_EVENTS = 5
# How a container ends that is stopped from outside: by SIGTERM, or by SIGKILL when its grace period is over.
_STOPPED = frozenset({143, 137})
# How long before its end a driver was stopped at most, if nobody recorded when it started.
_LONGEST_STOP = timedelta(minutes=2)
# Events have whole seconds.
_CLOCK = timedelta(seconds=1)
# After an error Spark logs long stack traces and its shutdown: ask for many more lines than are kept.
_REQUESTED_LINES = 2000
# The API cuts at the end what exceeds its limit, and the end is what matters.
_REQUESTED_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Evidence:
    """What is known about the end of an application's driver.

    Attributes:
        reference: The application.
        cause: The cause that the driver's log names, see `RootCause`; None if it names none.
        log_lines: The last lines of the driver's log that tell something, see `LastLines`.
        events: The latest warnings about application and driver, `<reason>: <message>`, oldest first.
        container_reason: Why the driver's container ended or waits (`OOMKilled`, `ImagePullBackOff`).
        exit_code: Of the driver's container; None if it has none.
        log_problem: Why there is no log; None if there is one.
        driver_status: The status of the driver's pod; None if the pod is gone.
        driver_deleted: The driver pod was deleted while the driver ran.
    """

    reference: ApplicationReference
    cause: str | None = None
    log_lines: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    container_reason: str | None = None
    exit_code: int | None = None
    log_problem: str | None = None
    driver_status: Mapping[str, object] | None = None
    driver_deleted: bool = False


async def gather_evidence(
    client: KubeClient,
    reference: ApplicationReference,
    progress: Progress | None = None,
    *,
    with_events: bool = True,
) -> Evidence:
    """Collect what is still there; never raises, since it serves to explain another failure.

    Args:
        client: For the cluster.
        reference: The application.
        progress: As last seen: tells of the driver when its pod is gone.
        with_events: Whether warnings are of interest: an API server looks through all events of the namespace for them.
    """
    try:
        pod = await read_driver_pod(client, reference)
        existed = progress is None or had_driver(progress)
        problem = "the driver pod is gone" if pod is None and existed else None
    except KubeError as error:
        pod, problem = None, str(error)
    status = status_of(pod) if pod is not None else (progress.driver_status if progress else None)
    container = _find_driver_container(status or {}, get_driver_container(pod) if pod is not None else None)
    uids = [reference.uid, *([pod["metadata"]["uid"]] if pod is not None else [])]
    # What was missing before the container started did not keep it from starting.
    since = container.started if container else None
    # A task waits for this: one answer need not wait for the other.
    (cause, lines, unread), events, deleted = await asyncio.gather(
        _read_last_lines(client, reference.namespace, pod),
        read_warnings(client, reference, *uids, since=since) if with_events else _skip_events(),
        _was_deleted(client, reference, pod, progress),
    )
    if not lines and progress is not None and (kept := kept_lines(progress)):
        lines, problem, unread = kept, None, None
    return Evidence(
        reference,
        cause=cause,
        log_lines=lines,
        events=events,
        container_reason=(container.reason or None) if container else None,
        exit_code=container.exit_code if container else None,
        log_problem=problem or unread,
        driver_status=status_of(pod) if pod is not None else None,
        driver_deleted=deleted,
    )


def describe_failure(verdict: Verdict, evidence: Evidence) -> str:
    """Describe a failure for a person: the application, its state, the cause, and the last lines of the log."""
    said = verdict.sentence.rstrip(".")
    begins_with_state = said.split(maxsplit=1)[0].rstrip(":") in known_states()
    sentence = f"{evidence.reference} failed{' in state' if begins_with_state else ':'} {said}"
    if evidence.exit_code and "exit code" not in said:
        reason = f" ({evidence.container_reason})" if evidence.container_reason else ""
        sentence += f"; the driver's container ended with exit code {evidence.exit_code}{reason}"
    # A driver that was stopped from outside logs what that breaks, which is not the cause.
    if evidence.cause and verdict.failure_kind is FailureKind.APPLICATION:
        sentence += f"; cause: {evidence.cause}"
    if evidence.log_lines:
        return _format_section(f"{sentence}\nLast lines of the driver's log:", evidence.log_lines)
    if evidence.events:
        return _format_section(f"{sentence}\nLast events:", evidence.events)
    return f"{sentence}; no log: {evidence.log_problem}" if evidence.log_problem else sentence


def _format_section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])


async def _read_last_lines(
    client: KubeClient, namespace: str, pod: JsonObject | None
) -> tuple[str | None, tuple[str, ...], str | None]:
    """Read the cause in the driver's log and the last lines; also return why they could not be read."""
    if pod is None:
        return None, (), None
    last, cause = LastLines(), RootCause()
    try:
        stream = client.logs(
            namespace,
            pod["metadata"]["name"],
            container=get_driver_container(pod),
            tail_lines=_REQUESTED_LINES,
            limit_bytes=_REQUESTED_BYTES,
        )
        async with aclosing(stream) as lines:
            async for line in lines:
                last.add(line)
                cause.add(line)
    except KubeError as error:
        return None, (), str(error)
    return cause.sentence, last.lines, None


async def _skip_events() -> tuple[str, ...]:
    return ()


async def read_warnings(
    client: KubeClient, reference: ApplicationReference, *uids: str, since: datetime | None = None
) -> tuple[str, ...]:
    """Read the latest warnings of Kubernetes about objects, `<reason>: <message>`, oldest first.

    Args:
        client: The client for the cluster. Without permission to list Events there are none.
        reference: The application, whose namespace has the Events.
        *uids: The objects.
        since: Leave out earlier warnings.
    """
    answers = await asyncio.gather(
        *(_list_events(client, reference, f"involvedObject.uid={uid},type=Warning") for uid in uids)
    )
    found = sorted((event for answer in answers for event in answer), key=_time_of)
    times = [read_time(_time_of(event)) for event in found]
    late = [event for event, time in zip(found, times, strict=True) if since is None or time is None or time >= since]
    return tuple(clean_line(f"{event.get('reason')}: {event.get('message')}") for event in late[-_EVENTS:])


async def _was_deleted(
    client: KubeClient, reference: ApplicationReference, pod: JsonObject | None, progress: Progress | None
) -> bool:
    """Whether the driver pod was deleted while the driver ran, as the pod or the kubelet's Events say."""
    status = status_of(pod) if pod is not None else ((progress and progress.driver_status) or {})
    container = _find_driver_container(status, get_driver_container(pod) if pod is not None else None)
    if container is None or container.exit_code not in _STOPPED or container.reason == OUT_OF_MEMORY:
        return False
    if status.get("reason"):  # the node says itself why it stopped the pod
        return False
    if pod is not None and deletion_began(pod) is not None:
        return was_deleted_before_end(pod)
    name = pod["metadata"]["name"] if pod is not None else (progress.driver_name if progress else None)
    end = container.finished or (progress.since if progress else None)
    if name is None or end is None:
        return False
    begin = container.started or end - _LONGEST_STOP
    events = await _list_events(client, reference, f"involvedObject.name={name},reason=Killing")
    return any(_is_stop(event, begin, end) for event in events)


def _is_stop(event: JsonObject, begin: datetime, end: datetime) -> bool:
    """Return whether the kubelet reports that it stopped the pod. An earlier pod of the name ended before `begin`."""
    time = read_time(_time_of(event))
    stopped = str(event.get("message", "")).startswith("Stopping ")
    return stopped and time is not None and begin <= time <= end + _CLOCK


async def _list_events(client: KubeClient, reference: ApplicationReference, selector: str) -> list[JsonObject]:
    try:
        return (await client.list(EVENTS, reference.namespace, field_selector=selector)).items
    except KubeError as error:  # the permission to list Events is often not given, and nothing depends on it
        logger.debug("no events: %s", error)
        return []


def _time_of(event: Mapping[str, Any]) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp") or "")


def _find_driver_container(status: Mapping[str, object], name: str | None) -> Container | None:
    """Find the container of the driver in the status of a pod; without its name, the container that failed."""
    present = containers(status)
    named = [container for container in present if container.name == name]
    failed = [container for container in present if container.exit_code]
    return next(iter(named or failed or present), None)
