"""Collect what the cluster still knows about a failure, and describe the failure in one message."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime

from ...core.dialects.dialect import list_known_states
from ...core.dialects.progress import Progress, get_log_lines, had_driver
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.pods import find_deletion_start, get_status
from ...core.kubernetes.times import read_time
from ...core.lifecycle.driver_end import get_driver_container
from ...core.log.driver_log import LastLines, clean_sentence, redact
from ...core.log.root_cause import RootCause, explain_cause
from ...core.report.executor_log import ExecutorLog
from ...core.report.job_report import JobReport, parse_line, parse_message
from ...core.report.recorded_cause import find_recorded_cause
from ...core.states.states import ApplicationState
from ...core.verdict.driver_facts import find_container, may_be_stopped, read_event_time, was_deleted
from ...core.verdict.verdict import Verdict
from ...kube.client import KubeClient
from ...kube.errors import KubeError
from ...kube.resources import EVENTS, SPARK_APPLICATIONS
from ..access.events import list_stops
from ..access.pods import read_driver_pod
from ..access.reference import ApplicationReference

logger = logging.getLogger(__name__)

_EVENTS = 5
_STATES = frozenset(ApplicationState)
# After an error, Spark logs long stack traces and its shutdown. Therefore more lines are requested than are kept.
_REQUESTED_LINES = 2000
# If the log exceeds this limit, the API omits its end, which is the important part.
_REQUESTED_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Evidence:
    """The evidence about the end of an application's driver.

    Attributes:
        reference: The application.
        cause: The cause that the driver's log names, see `RootCause`. None if it names no cause.
        refusal: The latest executor that the API rejected according to the log, see `RootCause`. None if there is none.
        log_lines: The last informative lines of the driver's log, see `LastLines`.
        events: The latest warnings about the application and its driver, `<reason>: <message>`, oldest first.
        container_reason: Why the driver container ended or waits, for example `OOMKilled` or `ImagePullBackOff`.
        exit_code: The exit code of the driver container. None if it has not ended.
        driver_message: Termination message of the driver container after a success. None if there is none.
        log_problem: Why the log is not available. None if it is available.
        driver_status: The status of the driver pod. None if the pod does not exist.
        driver_deleted: Whether the driver pod was deleted while the driver ran.
        report: What the job has reported. The termination message counts more than the log.
        executors: The executors that the log shows.
    """

    reference: ApplicationReference
    cause: str | None = None
    refusal: str | None = None
    log_lines: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    container_reason: str | None = None
    exit_code: int | None = None
    driver_message: str | None = None
    log_problem: str | None = None
    driver_status: Mapping[str, object] | None = None
    driver_deleted: bool = False
    report: JobReport = field(default_factory=JobReport)
    executors: ExecutorLog = field(default_factory=ExecutorLog)

    def find_cause(self, verdict: Verdict) -> str:
        """Return the cause of a failure in the driver's log, with the line of the program; empty if there is none."""
        return redact(self.cause or "") if verdict.has_cause_in_log else ""


async def gather_evidence(
    client: KubeClient,
    reference: ApplicationReference,
    progress: Progress | None = None,
    *,
    with_events: bool = True,
    with_log: bool = True,
    driver: JsonObject | None = None,
) -> Evidence:
    """Collect the evidence that still exists. Never raises, because it serves to explain another failure.

    Args:
        client: The client of the cluster.
        reference: The application.
        progress: The last known progress, which describes the driver if its pod no longer exists.
        with_events: Whether to read warnings. To find them, the API server searches all Events of the namespace.
        with_log: Whether to read the end of the driver's log.
        driver: The driver pod, if the caller has read it after its end.
    """
    try:
        pod = driver or await read_driver_pod(client, reference, progress.driver_name if progress else None)
        existed = progress is None or had_driver(progress)
        problem = "the driver pod does not exist" if pod is None and existed else None
    except KubeError as error:
        pod, problem = None, str(error)
    status = get_status(pod) if pod is not None else (progress.driver_status if progress else None)
    container = find_container(status or {}, pod, progress)
    uids = [reference.uid, *([pod["metadata"]["uid"]] if pod is not None else [])]
    # Warnings from before the start of the container did not prevent it from starting.
    since, deleted_driver = (container.started if container else None), None
    if pod is None and progress is not None and progress.history:
        begin, deleted_driver = progress.history[0].time, progress.driver_name
        since = begin.replace(microsecond=0) if begin else None  # Events have whole seconds
    # The requests run at the same time, because a task waits for the result.
    (cause, lines, unread, report, executors), events, deleted = await asyncio.gather(
        read_log_end(client, reference.namespace, pod if with_log else None),
        read_warnings(client, reference, *uids, since=since, deleted_driver=deleted_driver)
        if with_events
        else _skip_events(),
        _was_deleted(client, reference, pod, progress),
    )
    named = cause.located_sentence
    if not lines and progress is not None and (kept := get_log_lines(progress)):
        lines, problem, unread = kept, None, None
        named = find_recorded_cause(kept)
    return Evidence(
        reference,
        cause=named,
        refusal=cause.refusal,
        log_lines=lines,
        events=events,
        container_reason=(container.reason or None) if container else None,
        exit_code=container.exit_code if container else None,
        driver_message=(container.message or None) if container and container.exit_code == 0 else None,
        log_problem=problem or unread,
        driver_status=get_status(pod) if pod is not None else None,
        driver_deleted=deleted,
        report=report | parse_message(container.message if container else ""),
        executors=executors,
    )


def describe_failure(verdict: Verdict, evidence: Evidence) -> str:
    """Describe a failure for the user: the application, its state, the cause, and the last lines of the log."""
    sentence = explain_failure(verdict, evidence)
    if evidence.log_lines:
        return _format_section(f"{sentence}\nLast lines of the driver's log:", evidence.log_lines)
    if evidence.events:
        return _format_section(f"{sentence}\nLast events:", evidence.events)
    return f"{sentence}; no log available: {evidence.log_problem}" if evidence.log_problem else sentence


def explain_failure(verdict: Verdict, evidence: Evidence) -> str:
    """Return one sentence about a failure, which every surface shows: the application, the cause, and what to do."""
    explanation = verdict.sentence.rstrip(".")
    state = "state " if explanation.split(maxsplit=1)[0].rstrip(":") in list_known_states() else ""
    if evidence.exit_code and "exit code" not in explanation:
        reason = f" ({evidence.container_reason})" if evidence.container_reason else ""
        explanation += f"; the driver container ended with exit code {evidence.exit_code}{reason}"
    if evidence.cause and verdict.has_cause_in_log:
        # The cause comes first, because Airflow's page of a log cuts long lines.
        return f"{evidence.reference} failed: {explain_cause(evidence.cause)}; {state}{explanation}"
    return f"{evidence.reference} failed{' in ' if state else ': '}{state}{explanation}"


def _format_section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])


async def read_log_end(
    client: KubeClient, namespace: str, pod: JsonObject | None
) -> tuple[RootCause, tuple[str, ...], str | None, JobReport, ExecutorLog]:
    """Read the driver's log: cause, last lines, why it could not be read, report of the job, and executors."""
    last, cause, report, executors = LastLines(), RootCause(), JobReport(), ExecutorLog()
    count, size = 0, 0
    if pod is None:
        return cause, (), None, report, executors
    try:
        stream = client.logs(
            namespace,
            pod["metadata"]["name"],
            container=get_driver_container(pod),
            tail_lines=_REQUESTED_LINES,
            limit_bytes=_REQUESTED_BYTES,
            timestamps=True,
        )
        async with aclosing(stream) as lines:
            async for stamped in lines:
                word, _, rest = stamped.partition(" ")
                time = read_time(word)
                line = stamped if time is None else rest
                last.add(line)
                cause.add(line)
                executors.add(line, time)
                report |= parse_line(line) or JobReport()
                count, size = count + 1, size + len(stamped)
    except KubeError as error:
        return RootCause(), (), str(error), report, ExecutorLog()
    executors.is_whole = count < _REQUESTED_LINES and size < _REQUESTED_BYTES // 4  # a character has up to 4 bytes
    return cause, last.lines, None, report, executors


async def _skip_events() -> tuple[str, ...]:
    return ()


async def read_warnings(
    client: KubeClient,
    reference: ApplicationReference,
    *uids: str,
    since: datetime | None = None,
    deleted_driver: str | None = None,
) -> tuple[str, ...]:
    """Read the latest Kubernetes warnings about objects, `<reason>: <message>`, oldest first.

    Warnings that only repeat a state of the application are omitted, because the states are shown anyway.

    Args:
        client: The client of the cluster. Without the permission to list Events, the result is empty.
        reference: The application. Its namespace contains the Events.
        *uids: The uids of the objects.
        since: Omit earlier warnings.
        deleted_driver: The name of a driver pod that no longer exists, so that its uid is unknown.
    """
    subjects = [f"involvedObject.uid={uid}" for uid in uids]
    if deleted_driver:
        subjects.append(f"involvedObject.kind=Pod,involvedObject.name={deleted_driver}")
    answers = await asyncio.gather(
        *(_list_events(client, reference, f"{subject},type=Warning") for subject in subjects)
    )
    found = sorted((event for answer in answers for event in answer if not _repeats_state(event)), key=read_event_time)
    times = [read_time(read_event_time(event)) for event in found]
    late = [event for event, time in zip(found, times, strict=True) if since is None or time is None or time >= since]
    return tuple(clean_sentence(f"{event.get('reason')}: {event.get('message')}") for event in late[-_EVENTS:])


def _repeats_state(event: JsonObject) -> bool:
    """Return whether the controller of this package wrote the Event when it wrote a state."""
    is_about_application = (event.get("involvedObject") or {}).get("kind") == SPARK_APPLICATIONS.kind
    return is_about_application and event.get("reason") in _STATES


async def _was_deleted(
    client: KubeClient, reference: ApplicationReference, pod: JsonObject | None, progress: Progress | None
) -> bool:
    """Return whether the driver pod was deleted while the driver ran, according to the pod or the kubelet's Events."""
    name = pod["metadata"]["name"] if pod is not None else (progress.driver_name if progress else None)
    if name is None or not may_be_stopped(pod, progress):
        return False
    is_known = pod is not None and find_deletion_start(pod) is not None
    return was_deleted(pod, progress, () if is_known else await list_stops(client, reference.namespace, name))


async def _list_events(client: KubeClient, reference: ApplicationReference, selector: str) -> list[JsonObject]:
    try:
        return (await client.list(EVENTS, reference.namespace, field_selector=selector)).items
    except KubeError as error:  # this permission is often missing, and Events are optional
        logger.debug("no events: %s", error)
        return []
