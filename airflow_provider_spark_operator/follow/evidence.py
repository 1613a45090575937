"""What the cluster still knows about a failure, and the one sentence that it makes."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from airflow_provider_spark_operator.core.dialects.dialect import DIALECTS
from airflow_provider_spark_operator.core.dialects.progress import Progress
from airflow_provider_spark_operator.core.pods import Container, containers, status_of
from airflow_provider_spark_operator.core.verdict import Verdict
from airflow_provider_spark_operator.follow.last_lines import LastLines, cleaned
from airflow_provider_spark_operator.follow.pods import driver_container, driver_pod
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.kube.resources import EVENTS
from airflow_provider_spark_operator.kube.transport import JsonObject

logger = logging.getLogger(__name__)

_STATES = frozenset(state for dialect in DIALECTS for state in dialect.states)
_EVENTS = 5
# After an error Spark tells at length how it shuts down: ask for many more lines than are kept.
_REQUESTED_LINES = 200
# The API cuts at the end what exceeds its limit, and the end is what matters.
_REQUESTED_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Evidence:
    """What is known about the end of an application's driver.

    Attributes:
        reference: The application.
        log_lines: The last lines of the driver's log that tell something, see `LastLines`.
        events: The latest warnings about application and driver, `<reason>: <message>`, oldest first.
        container_reason: Why the driver's container ended or waits (`OOMKilled`, `ImagePullBackOff`).
        exit_code: Of the driver's container; None if it has none.
        log_problem: Why there is no log; None if there is one.
        driver_status: The status of the driver's pod; None if the pod is gone.
    """

    reference: ApplicationReference
    log_lines: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    container_reason: str | None = None
    exit_code: int | None = None
    log_problem: str | None = None
    driver_status: Mapping[str, object] | None = None


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
        pod = await driver_pod(client, reference)
        problem = None if pod else "the driver pod is gone"
    except KubeError as error:
        pod, problem = None, str(error)
    # A task waits for this: one answer need not wait for the other.
    (lines, unread), events = await asyncio.gather(
        _last_lines(client, reference.namespace, pod), _warnings(client, reference, pod) if with_events else _nothing()
    )
    status = status_of(pod) if pod is not None else (progress.driver_status if progress else None)
    container = _driver_state(status or {}, driver_container(pod) if pod is not None else None)
    return Evidence(
        reference,
        log_lines=lines,
        events=events,
        container_reason=(container.reason or None) if container else None,
        exit_code=container.exit_code if container else None,
        log_problem=problem or unread,
        driver_status=status_of(pod) if pod is not None else None,
    )


def failure_sentence(verdict: Verdict, evidence: Evidence) -> str:
    """One sentence for a person: which application, the state it failed in, why, and the last log lines."""
    said = verdict.sentence.rstrip(".")
    begins_with_state = said.split(maxsplit=1)[0].rstrip(":") in _STATES
    sentence = f"{evidence.reference} failed{' in state' if begins_with_state else ':'} {said}"
    if evidence.exit_code and "exit code" not in said:
        reason = f" ({evidence.container_reason})" if evidence.container_reason else ""
        sentence += f"; the driver's container ended with exit code {evidence.exit_code}{reason}"
    if evidence.log_lines:
        quoted = " | ".join(f'"{line}"' for line in evidence.log_lines)
        return f"{sentence}; last log lines: {quoted}"
    if evidence.events:
        return f"{sentence}; last events: {' | '.join(evidence.events)}"
    return f"{sentence}; no log: {evidence.log_problem}" if evidence.log_problem else sentence


async def _last_lines(client: KubeClient, namespace: str, pod: JsonObject | None) -> tuple[tuple[str, ...], str | None]:
    """The last lines of the driver's log, and why they could not be read."""
    if pod is None:
        return (), None
    last = LastLines()
    try:
        stream = client.logs(
            namespace,
            pod["metadata"]["name"],
            container=driver_container(pod),
            tail_lines=_REQUESTED_LINES,
            limit_bytes=_REQUESTED_BYTES,
        )
        async with aclosing(stream) as lines:
            async for line in lines:
                last.add(line)
    except KubeError as error:
        return (), str(error)
    return last.kept, None


async def _nothing() -> tuple[str, ...]:
    return ()


async def _warnings(client: KubeClient, reference: ApplicationReference, pod: JsonObject | None) -> tuple[str, ...]:
    uids = [reference.uid] + ([pod["metadata"]["uid"]] if pod is not None else [])
    answers = await asyncio.gather(*(_events(client, reference, uid) for uid in uids))
    found = sorted((event for answer in answers for event in answer), key=_event_time)
    return tuple(cleaned(f"{event.get('reason')}: {event.get('message')}") for event in found[-_EVENTS:])


async def _events(client: KubeClient, reference: ApplicationReference, uid: str) -> list[JsonObject]:
    selector = f"involvedObject.uid={uid},type=Warning"
    try:
        return (await client.list(EVENTS, reference.namespace, field_selector=selector)).items
    except KubeError as error:  # the right to read events is often not given, and nothing hangs on it
        logger.debug("no events: %s", error)
        return []


def _event_time(event: Mapping[str, Any]) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp") or "")


def _driver_state(status: Mapping[str, object], name: str | None) -> Container | None:
    """The driver's container in a pod's status; without its name, the one that failed."""
    present = containers(status)
    named = [container for container in present if container.name == name]
    failed = [container for container in present if container.exit_code]
    return next(iter(named or failed or present), None)
