"""Wait until an application ends or reaches a state, and show what happens to it."""

import asyncio
import dataclasses
import logging
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Phase, Progress, find_last_stop
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.pods import read_deletion_deadline
from ...core.states.states import ApplicationState
from ...core.verdict.verdict import Outcome
from ...kube.backoff import Backoff
from ...kube.errors import KubeError
from ...kube.resources import ResourceType
from ..access.errors import ApplicationDeleted
from ..access.outage_tolerance import retry
from ..access.reference import ApplicationReference
from ..access.versions import log_substitution
from ..ending.end import Ending, is_deleted, judge, judge_with_driver, judge_with_pods
from ..ending.evidence import Evidence, gather_evidence
from ..ending.executor_ends import ExecutorEnd, read_executor_ends
from ..narration.narrator import Narration, Narrator
from .watch import WatchHub

_DRIVER_STOPPED = frozenset({Phase.STOPPING, Phase.ENDED})
# The time for the rest of the driver's log after the task has timed out.
_LAST_LOG_SECONDS = 10.0


@dataclass(frozen=True)
class Conclusion:
    """How an application ended, and what the cluster still knew about the end.

    Attributes:
        ending: How the application ended, judged with the status of the driver pod.
        evidence: What was read about the end of the driver.
        executors: The failed executors of the last attempt.
    """

    ending: Ending
    evidence: Evidence
    executors: tuple[ExecutorEnd, ...] = ()

    @property
    def reference(self) -> ApplicationReference:
        """The application."""
        return self.evidence.reference


@dataclass(frozen=True)
class ReachedState:
    """A state that the caller waits for.

    Attributes:
        reference: The application.
        progress: The progress of the application.
        state: The state.
        resource: The content of the application.
    """

    reference: ApplicationReference
    progress: Progress
    state: str
    resource: Mapping[str, Any]


@dataclass(frozen=True)
class _Change:
    """The content of an application after a change. `ending` is None while the application runs."""

    resource: Mapping[str, Any]
    progress: Progress
    ending: Ending | None


@dataclass(frozen=True)
class _AttemptEnd:
    """The result of the reads at the end of one attempt."""

    attempt: int
    evidence: Evidence
    executors: tuple[ExecutorEnd, ...]


def compute_seconds_until(deadline: str | None) -> float | None:
    """Return the seconds until a deadline (ISO 8601 with its offset), at least 0; None without a deadline."""
    if deadline is None:
        return None
    return max(0.0, (datetime.fromisoformat(deadline) - datetime.now(UTC)).total_seconds())


async def wait_for_appearance(
    hub: WatchHub, wanted: ResourceType, name: str, namespace: str, poke_interval: float, log: logging.Logger
) -> tuple[ApplicationReference, JsonObject]:
    """Wait until a resource with the given name exists, without a time limit, and return it.

    Args:
        hub: The hub of the cluster.
        wanted: The kind in the requested version. If the cluster does not serve this version, another version is read.
        name: The name of the resource.
        namespace: The namespace of the resource.
        poke_interval: Seconds between two reads.
        log: Where to log that the resource does not exist, or that another version is read.

    Raises:
        KindNotServed: The cluster serves no suitable version.
        KubeError: The API rejected the request, or could not be reached for longer than the hub tolerates.
    """
    is_first = True
    while True:
        resource = await hub.choose_version(wanted, f"{wanted.kind} {namespace}/{name}")
        if is_first:
            log_substitution(wanted, resource, log)
        found = await hub.read(resource, name, namespace)
        if found is not None:
            return ApplicationReference.of(found, resource), found
        if is_first:
            log.info("%s %s/%s does not exist yet", resource.kind, namespace, name)
        is_first = False
        await asyncio.sleep(poke_interval)


async def wait_for_end(hub: WatchHub, reference: ApplicationReference, narration: Narration) -> Conclusion:
    """Wait until the application ends, without a time limit.

    Args:
        hub: The hub of the cluster.
        reference: The application.
        narration: What is shown while waiting, and where.

    Raises:
        ApplicationDeleted: The application was deleted before it ended.
        KubeError: The API rejected the request, or could not be reached for longer than the hub tolerates.
    """
    async with Narrator(hub.client, reference, narration) as narrator:
        try:
            return await _follow_to_end(hub, reference, narrator)
        except ApplicationDeleted as error:
            if error.last is not None:  # the last lines of the driver may not have arrived yet
                await narrator.finish(read_progress(error.last))
            raise


async def _follow_to_end(hub: WatchHub, reference: ApplicationReference, narrator: Narrator) -> Conclusion:
    known: _AttemptEnd | None = None  # of the latest attempt that has ended
    async with aclosing(_follow(hub, reference, narrator)) as changes:
        async for change in changes:
            ending = change.ending
            seen = ending.progress if ending is not None else change.progress
            # The operator may delete the driver and its log soon after the end, so both are read at once.
            has_stopped = seen.phase in _DRIVER_STOPPED and not seen.has_unread_end
            if has_stopped and (known is None or known.attempt != seen.attempt):
                known = await _end_attempt(hub, narrator, reference, seen)
            if ending is not None and known is not None:
                return _conclude(ending, known.evidence, known.executors)
    raise ApplicationDeleted(reference)


async def read_end(hub: WatchHub, reference: ApplicationReference, narration: Narration) -> Conclusion | None:
    """Read how the application ended. Return None if it still runs, or if another application has its name.

    The driver's log is shown from the position where an earlier reader stopped.

    Args:
        hub: The hub of the cluster.
        reference: The application.
        narration: What is shown, and where. Its situation is set if the application still runs.

    Raises:
        KubeError: The application could not be read.
    """
    resource = await hub.client.get(reference.resource, reference.name, reference.namespace)
    if resource["metadata"]["uid"] != reference.uid or is_deleted(resource):
        return None
    seen = read_progress(resource)
    async with Narrator(hub.client, reference, narration) as narrator:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_LOG_SECONDS):
                await narrator.show_log(seen, resource)
        ending = await judge_with_pods(hub.client, reference, resource)
        if ending is None:
            await narrator.record_obstacle(seen, resource)
            return None
        return _conclude(ending, await _gather(hub, narrator, reference, seen, with_events=True))


async def wait_for_state(
    hub: WatchHub, reference: ApplicationReference, expected: Collection[str], narration: Narration
) -> ReachedState | Conclusion:
    """Wait until the application is, or has been, in one of the states `expected`, or has ended.

    Args:
        hub: The hub of the cluster.
        reference: The application.
        expected: The states. A short state is found in the history of the application.
        narration: What is shown while waiting, and where.

    Raises:
        ApplicationDeleted: The application was deleted before.
        KubeError: The API rejected the request, or could not be reached for longer than the hub tolerates.
    """
    async with (
        Narrator(hub.client, reference, narration) as narrator,
        aclosing(_follow(hub, reference, narrator, expected)) as changes,
    ):
        async for change in changes:
            ending = change.ending
            seen = ending.progress if ending is not None else change.progress
            reached = _find_reached(seen, expected)
            if reached:
                return ReachedState(reference, seen, reached, change.resource)
            if ending is not None:
                return _conclude(ending, await gather_evidence(hub.client, reference, seen))
    raise ApplicationDeleted(reference)


async def _follow(
    hub: WatchHub, reference: ApplicationReference, narrator: Narrator, expected: Collection[str] = ()
) -> AsyncGenerator[_Change, None]:
    """Show each change of the application and yield it with its ending. All functions that wait use this loop.

    A content that has reached one of the states `expected` is yielded without an ending.

    Raises:
        ApplicationDeleted: The application was deleted before it ended.
        KubeError: The API rejected the request, or could not be reached for longer than the hub tolerates.
    """
    async with aclosing(hub.follow(reference, narrator.show_remark)) as contents:
        async for resource in contents:
            seen = read_progress(resource)
            await narrator.show(seen, resource)
            if _find_reached(seen, expected):
                yield _Change(resource, seen, None)
                continue
            yield _Change(resource, seen, await _find_ending(hub, narrator, reference, resource))


async def _find_ending(
    hub: WatchHub, narrator: Narrator, reference: ApplicationReference, resource: Mapping[str, Any]
) -> Ending | None:
    """Judge the application. If its operator reports the end while a driver runs, wait for the driver to end.

    Raises:
        ApplicationDeleted: The application was deleted before it ended.
        KubeError: The API rejected the request, or could not be reached for longer than the hub tolerates.
    """
    if is_deleted(resource):
        raise ApplicationDeleted(reference, resource)
    ending = judge(resource)
    if ending is not None or not read_progress(resource).has_unread_end:
        return ending
    backoff, was_alive = Backoff(first=1.0, longest=30.0), False
    while True:
        attempt = partial(judge_with_pods, hub.client, reference, resource, was_alive=was_alive)
        ending = await retry(attempt, str(reference), narrator.show_remark)
        if ending is not None and (ending.verdict.outcome is Outcome.SUCCEEDED or not was_alive):
            return ending
        if not was_alive:
            state = read_progress(resource).state
            remark = (
                f"{reference}: the operator reports {state}, but a driver pod exists; waiting for the driver to end"
            )
            narrator.show_remark(logging.WARNING, remark)
            narrator.follow_driver()
        # Read after the driver pods: the deletion of the application removes both, and the pods last.
        present = await hub.read(reference.resource, reference.name, reference.namespace)
        if present is None or present["metadata"]["uid"] != reference.uid:
            raise ApplicationDeleted(reference, resource)
        if read_deletion_deadline(present) is not None:
            raise ApplicationDeleted(reference, present)
        if ending is not None or not read_progress(present).has_unread_end:
            return ending or judge(present)
        resource, was_alive = present, True
        await asyncio.sleep(backoff.next())


async def _end_attempt(
    hub: WatchHub, narrator: Narrator, reference: ApplicationReference, seen: Progress
) -> _AttemptEnd:
    """Show the rest of the driver's log, and read what the cluster still knows about the end of an attempt."""
    await _outlast_outage(hub, reference)
    stop = find_last_stop(seen.history)
    failed = stop is None or stop.meaning != ApplicationState.SUCCEEDED
    # The executors of a failed driver end with the driver, so they are read while its last lines arrive.
    reading = asyncio.create_task(read_executor_ends(hub.client, reference)) if failed else None
    try:
        await narrator.finish(seen)
        evidence = await _gather(hub, narrator, reference, seen, with_events=failed)
    finally:
        executors = await reading if reading is not None else ()
    if failed:
        narrator.show_failure(evidence.events, executors)
    return _AttemptEnd(seen.attempt, evidence, executors)


async def _outlast_outage(hub: WatchHub, reference: ApplicationReference) -> None:
    """Wait until the API server answers: an open watch may report an end while other requests are rejected."""
    with suppress(KubeError):  # without an answer, the end is reported without evidence
        await hub.read(reference.resource, reference.name, reference.namespace)


async def _gather(
    hub: WatchHub, narrator: Narrator, reference: ApplicationReference, seen: Progress, *, with_events: bool
) -> Evidence:
    found = await gather_evidence(hub.client, reference, seen, with_events=with_events)
    # A stream that began in the middle, or stopped at its limit, may have missed the cause.
    first, second = (narrator.cause, found.cause) if narrator.has_whole_log else (found.cause, narrator.cause)
    found = dataclasses.replace(found, cause=first or second)
    if not found.log_lines and narrator.last_lines:
        return dataclasses.replace(found, log_lines=narrator.last_lines, log_problem=None)
    if found.log_lines and not narrator.last_lines:
        narrator.show_last_lines(found.log_lines)
    return found


def _conclude(ending: Ending, evidence: Evidence, executors: tuple[ExecutorEnd, ...] = ()) -> Conclusion:
    judged = judge_with_driver(
        ending, evidence.driver_status, driver_deleted=evidence.driver_deleted, warnings=evidence.events
    )
    return Conclusion(judged, evidence, executors)


def _find_reached(seen: Progress, expected: Collection[str]) -> str | None:
    """Return the latest of the states `expected` in which the application is or has been.

    If the operator did not read the end from a driver, the driver pods decide which state the application has reached.
    """
    words = [entry.state for entry in seen.history]
    if not seen.driver_read or not words:
        words.append(seen.state)
    if seen.has_unread_end:
        words = []
    return next((word for word in reversed(words) if word in expected), None)
