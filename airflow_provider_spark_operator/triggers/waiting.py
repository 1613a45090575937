"""Wait for an application and make of it the event that its task gets: the part that needs the cluster."""

import asyncio
import dataclasses
import logging
from collections.abc import Collection, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

from airflow_provider_spark_operator.core.dialects.dialect import dialect_of, progress
from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress, had_driver, last_stop
from airflow_provider_spark_operator.core.names import DRIVER_CONTAINER
from airflow_provider_spark_operator.core.pods import containers
from airflow_provider_spark_operator.core.reasons import OUT_OF_MEMORY
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.verdict import Outcome
from airflow_provider_spark_operator.follow.await_end import Ending, is_deleted, judge, judge_abandoned, judge_again
from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
from airflow_provider_spark_operator.follow.evidence import Evidence, failure_sentence, gather_evidence
from airflow_provider_spark_operator.follow.executor_ends import ExecutorEnd, executor_ends
from airflow_provider_spark_operator.follow.logs import LogPosition
from airflow_provider_spark_operator.follow.patience import retry
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.watch import WatchHub
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
from airflow_provider_spark_operator.triggers.narration import Narrator, seconds_per_state
from airflow_provider_spark_operator.triggers.obstacle_watch import Standing

_OVER = frozenset({Phase.STOPPING, Phase.ENDED})
# What is left of the driver's log when the task's time is over gets this time.
_LAST_LOG_SECONDS = 10.0


async def wait_for_end(
    hub: WatchHub,
    reference: ApplicationReference,
    log: logging.Logger,
    *,
    with_driver_log: bool,
    reader: str | None = None,
    position: LogPosition | None = None,
    standing: Standing | None = None,
) -> ApplicationEvent:
    """Follow the application to its end, and tell the log about it on the way.

    Args:
        hub: Of the cluster.
        reference: The application.
        log: The task's.
        with_driver_log: Whether the driver's log belongs into it.
        reader: See `Narrator`.
        position: As there.
        standing: As there.

    Raises:
        ApplicationDeleted: It was deleted before its end.
        KubeError: It cannot be followed any longer.
    """
    telling = Narrator(
        hub.client,
        reference,
        log,
        with_driver_log=with_driver_log,
        reader=reader,
        position=position,
        standing=standing,
    )
    async with telling as narrator:
        known: _AttemptEnd | None = None  # of the latest attempt that has ended
        seen: Progress | None = None
        try:
            async with aclosing(hub.follow(reference)) as contents:
                async for resource in contents:
                    seen = progress(resource)
                    await narrator.tell(seen, resource)
                    ending = await _ending(hub, narrator, reference, resource, log)
                    seen = ending.progress if ending is not None else seen
                    # The operator deletes the driver and its log right after the end: now or never.
                    if seen.phase in _OVER and (known is None or known.attempt != seen.attempt):
                        known = await _attempt_end(hub, narrator, reference, seen)
                    if ending is not None and known is not None:
                        return _event(ending, known.evidence, known.executors)
        except ApplicationDeleted:
            if seen is not None:  # the driver's last lines may still be on their way
                await narrator.finish(seen)
            raise
    raise ApplicationDeleted(reference)


async def ending_by_now(
    hub: WatchHub,
    reference: ApplicationReference,
    log: logging.Logger,
    *,
    with_driver_log: bool,
    reader: str | None = None,
    position: LogPosition | None = None,
    standing: Standing | None = None,
) -> ApplicationEvent | None:
    """How the application has ended; None if it still runs, or if another application has its name.

    The driver's log is shown from where an earlier reader stopped.

    Args:
        hub: The hub of the cluster.
        reference: The application.
        log: The task's log.
        with_driver_log: Whether to show the driver's log.
        reader: See `Narrator`.
        position: As there.
        standing: As there. It is set if the application still runs.

    Raises:
        KubeError: The application could not be read.
    """
    resource = await hub.client.get(reference.resource, reference.name, reference.namespace)
    if resource["metadata"]["uid"] != reference.uid or is_deleted(resource):
        return None
    telling = Narrator(
        hub.client,
        reference,
        log,
        with_driver_log=with_driver_log,
        reader=reader,
        position=position,
        standing=standing,
    )
    seen = progress(resource)
    async with telling as narrator:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_LOG_SECONDS):
                await narrator.read_log_of(seen, resource)
        ending = judge(resource) or await judge_abandoned(hub.client, reference, resource)
        if ending is None:
            await narrator.find_obstacle(seen, resource)
            return None
        return _event(ending, await _evidence(hub, narrator, reference, seen, with_events=True))


async def wait_for_state(
    hub: WatchHub, reference: ApplicationReference, expected: Collection[str], log: logging.Logger
) -> ApplicationEvent:
    """Follow the application until it is, or has been, in one of the states `expected`, or has ended.

    Args:
        hub: Of the cluster.
        reference: The application.
        expected: State words. A state that was passed through quickly counts, as the history has it.
        log: The task's.

    Raises:
        ApplicationDeleted: It was deleted before.
        KubeError: It cannot be followed any longer.
    """
    async with (
        Narrator(hub.client, reference, log, with_driver_log=False) as narrator,
        aclosing(hub.follow(reference)) as contents,
    ):
        async for resource in contents:
            seen = progress(resource)
            await narrator.tell(seen, resource)
            reached = [word for word in _states(seen) if word in expected]
            if reached:
                return _reached(reference, seen, reached[-1])
            ending = await _ending(hub, narrator, reference, resource, log)
            if ending is not None and ending.verdict.outcome is Outcome.SUCCEEDED and seen.driver_abandoned:
                success = dialect_of(resource.get("apiVersion")).success
                if success in expected:
                    return _reached(reference, seen, success)
            if ending is not None:
                return _event(ending, await gather_evidence(hub.client, reference, seen))
    raise ApplicationDeleted(reference)


async def _ending(
    hub: WatchHub,
    narrator: Narrator,
    reference: ApplicationReference,
    resource: Mapping[str, Any],
    log: logging.Logger,
) -> Ending | None:
    """How the application has ended; a driver that its operator has given up is followed to its own end.

    Raises:
        ApplicationDeleted: It was deleted before its end.
        KubeError: The driver cannot be followed any longer.
    """
    if is_deleted(resource):
        raise ApplicationDeleted(reference, resource)
    ending = judge(resource)
    if ending is not None or not progress(resource).driver_abandoned:
        return ending
    log.warning("%s: its operator has given up, but a driver pod exists: its end decides", reference)
    narrator.follow_driver()
    backoff, was_alive = Backoff(first=1.0, longest=30.0), False
    while True:
        look = partial(judge_abandoned, hub.client, reference, resource, was_alive=was_alive)
        ending = await retry(look, str(reference), log)
        # Read after the driver pod: a deletion of the application removes both, and the pod last.
        present = await hub.read(reference.resource, reference.name, reference.namespace)
        if ending is not None and ending.verdict.outcome is Outcome.SUCCEEDED:
            return ending
        if present is None or present["metadata"]["uid"] != reference.uid or is_deleted(present):
            raise ApplicationDeleted(reference, present or resource)
        if ending is not None or not progress(present).driver_abandoned:
            return ending or judge(present)
        resource, was_alive = present, True
        await asyncio.sleep(backoff.next())


async def _outlast_outage(hub: WatchHub, reference: ApplicationReference) -> None:
    """Wait until the API server answers: an open watch may report an end while other requests are rejected."""
    with suppress(KubeError):  # after such an outage the end is reported without evidence
        await hub.read(reference.resource, reference.name, reference.namespace)


@dataclasses.dataclass(frozen=True)
class _AttemptEnd:
    """What was seen at the end of one attempt."""

    attempt: int
    evidence: Evidence
    executors: tuple[ExecutorEnd, ...]


async def _attempt_end(
    hub: WatchHub, narrator: Narrator, reference: ApplicationReference, seen: Progress
) -> _AttemptEnd:
    await _outlast_outage(hub, reference)
    stop = last_stop(seen.history)
    failed = stop is None or stop.meaning != ApplicationState.SUCCEEDED
    # A driver that has failed takes its executors along: they are looked at while its last lines arrive.
    looking = asyncio.create_task(executor_ends(hub.client, reference)) if failed else None
    try:
        await narrator.finish(seen)
        evidence = await _evidence(hub, narrator, reference, seen, with_events=failed)
    finally:
        executors = await looking if looking is not None else ()
    if failed:
        narrator.tell_failure(evidence.events, executors)
    return _AttemptEnd(seen.attempt, evidence, executors)


async def _evidence(
    hub: WatchHub, narrator: Narrator, reference: ApplicationReference, seen: Progress, *, with_events: bool
) -> Evidence:
    found = await gather_evidence(hub.client, reference, seen, with_events=with_events)
    # A stream that began in the middle, or stopped at its limit, may have missed the cause.
    first, second = (narrator.cause, found.cause) if narrator.whole_log else (found.cause, narrator.cause)
    found = dataclasses.replace(found, cause=first or second)
    if not found.log_lines and narrator.last_lines:
        return dataclasses.replace(found, log_lines=narrator.last_lines, log_problem=None)
    if found.log_lines and not narrator.last_lines:
        narrator.tell_last_lines(found.log_lines)
    return found


def _event(ending: Ending, evidence: Evidence, executors: Collection[ExecutorEnd] = ()) -> ApplicationEvent:
    reference = evidence.reference
    ending = judge_again(ending, evidence.driver_status, driver_deleted=evidence.driver_deleted)
    verdict, seen = ending.verdict, ending.progress
    failed = verdict.outcome is Outcome.FAILED
    starved = ["driver"] if verdict.reason == OUT_OF_MEMORY else []
    starved += ["executor"] if failed and any(one.out_of_memory for one in executors) else []
    return ApplicationEvent(
        kind=EventKind.ENDED,
        namespace=reference.namespace,
        name=reference.name,
        uid=reference.uid,
        api_version=reference.resource.api_version,
        state=_decisive_state(seen),
        outcome=verdict.outcome.value,
        failure_kind=verdict.failure_kind.value if verdict.failure_kind else None,
        reason=verdict.reason,
        sentence=failure_sentence(verdict, evidence) if failed else f"{reference}: {verdict.sentence}",
        application_id=seen.application_id,
        attempts=seen.attempt + 1,
        log_lines=evidence.log_lines,
        seconds_per_state=seconds_per_state(seen),
        retry_worthy=verdict.retry_worthy,
        out_of_memory=tuple(starved),
        driver_message=_message(evidence),
        had_driver=had_driver(seen) or not failed,
    )


def _message(evidence: Evidence) -> str | None:
    present = containers(evidence.driver_status or {})
    named = [container for container in present if container.name == DRIVER_CONTAINER] or present
    return next((one.message for one in named if one.exit_code == 0 and one.message), None)


def _reached(reference: ApplicationReference, seen: Progress, state: str) -> ApplicationEvent:
    return ApplicationEvent(
        kind=EventKind.REACHED,
        namespace=reference.namespace,
        name=reference.name,
        uid=reference.uid,
        api_version=reference.resource.api_version,
        state=state,
        sentence=f"{reference} has reached {state}",
        application_id=seen.application_id,
        attempts=seen.attempt + 1,
        seconds_per_state=seconds_per_state(seen),
    )


def _states(seen: Progress) -> list[str]:
    return [*(entry.state for entry in seen.history), seen.state]


def _decisive_state(seen: Progress) -> str:
    # ResourceReleased does not say how it went; the state before it does.
    stop = last_stop(seen.history)
    return stop.state if stop else seen.state
