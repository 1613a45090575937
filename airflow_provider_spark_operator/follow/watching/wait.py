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
from ...core.verdict.verdict import Outcome, Verdict, judge_progress
from ...kube.backoff import Backoff
from ...kube.resources import ResourceType
from ..access.outage_tolerance import retry
from ..access.reference import ApplicationDeleted, ApplicationReference
from ..access.versions import log_substitution
from ..ending.end import find_final_progress_with_pods, is_deleted, judge_end, select_final
from ..ending.evidence import Evidence, describe_failure, gather_evidence
from ..ending.executor_ends import ExecutorEnd, read_executor_ends
from ..narration.narrator import Narration, Narrator
from ..submission.cancel import CancelOutcome, cancel
from ..submission.stamp import TaskStamp
from .watch import WatchHub

_DRIVER_STOPPED = frozenset({Phase.STOPPING, Phase.ENDED})
# The time for the rest of the driver's log after the task has timed out.
_LAST_LOG_SECONDS = 10.0


@dataclass(frozen=True)
class Conclusion:
    """The end of a wait: the application has ended, or has reached a state that the caller waits for.

    Attributes:
        verdict: The judgement on the application.
        evidence: What was read about the end of the driver. Empty if the application has reached a state.
        resource: The content of the application.
        reached: The state that the application has reached. None if the caller waits for the end.
    """

    verdict: Verdict
    evidence: Evidence
    resource: Mapping[str, Any]
    reached: str | None = None

    @property
    def reference(self) -> ApplicationReference:
        """The application."""
        return self.evidence.reference

    def to_values(self) -> dict[str, Any]:
        """Return the facts about the end as plain values, by the attributes of `ApplicationVerdict`."""
        verdict, evidence = self.verdict, self.evidence
        failed = verdict.outcome is Outcome.FAILED
        return vars(verdict) | {
            "outcome": verdict.outcome.value,
            "failure_kind": verdict.failure_kind.value if verdict.failure_kind else None,
            "sentence": describe_failure(verdict, evidence) if failed else f"{self.reference}: {verdict.sentence}",
            "driver_message": evidence.driver_message,
            "report": evidence.report.to_json() or None,
        }


@dataclass(frozen=True)
class _Change:
    """The content of an application after a change. Its progress includes what the driver pods show about its end."""

    resource: Mapping[str, Any]
    seen: Progress
    has_ended: bool = False


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
            return await _record(narrator, await _follow_to_end(hub, reference, narrator))
        except ApplicationDeleted as error:
            if error.last is not None:  # the last lines of the driver may not have arrived yet
                await narrator.finish(read_progress(error.last))
            raise


async def _follow_to_end(hub: WatchHub, reference: ApplicationReference, narrator: Narrator) -> Conclusion:
    known: _AttemptEnd | None = None  # of the latest attempt that has ended
    async with aclosing(_follow(hub, reference, narrator)) as changes:
        async for change in changes:
            seen = change.seen
            # The operator may delete the driver and its log soon after the end, so both are read at once.
            has_stopped = seen.phase in _DRIVER_STOPPED and not seen.has_unread_end
            if has_stopped and (known is None or known.attempt != seen.attempt):
                known = await _end_attempt(hub, narrator, reference, seen)
            if change.has_ended and known is not None:
                return Conclusion(judge_end(seen, known.evidence, known.executors), known.evidence, change.resource)
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
        final = await find_final_progress_with_pods(hub.client, reference, resource)
        if final is None:
            await narrator.record_obstacle(seen, resource)
            return None
        evidence = await _gather(hub, narrator, reference, seen, with_events=True)
        await _read_executors(hub, narrator, reference, with_logs=False)
        return await _record(narrator, Conclusion(judge_end(final, evidence), evidence, resource))


async def cancel_or_read_end(
    hub: WatchHub, reference: ApplicationReference, stamp: TaskStamp | None, narration: Narration
) -> Conclusion | CancelOutcome:
    """Delete an application that has exceeded its budget. If it ended before, return its end instead.

    Args:
        hub: The hub of the cluster.
        reference: The application.
        stamp: The try that must own the application. If None, the owner is not checked.
        narration: What is shown, and where.

    Raises:
        KubeError: The API rejected a request or could not be reached.
    """
    outcome = await cancel(hub.client, reference, stamp)
    ended = await read_end(hub, reference, narration) if outcome is CancelOutcome.ENDED else None
    return ended or outcome


async def _record(narrator: Narrator, conclusion: Conclusion) -> Conclusion:
    if narrator.recorder is not None:
        await narrator.recorder.conclude(conclusion.verdict, conclusion.evidence, conclusion.resource)
    return conclusion


async def wait_for_state(
    hub: WatchHub, reference: ApplicationReference, expected: Collection[str], narration: Narration
) -> Conclusion:
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
            seen = change.seen
            reached = _find_reached(seen, expected)
            if reached:
                return Conclusion(judge_progress(seen), Evidence(reference), change.resource, reached)
            if change.has_ended:
                evidence = await gather_evidence(hub.client, reference, seen)
                return Conclusion(judge_end(seen, evidence), evidence, change.resource)
    raise ApplicationDeleted(reference)


async def _follow(
    hub: WatchHub, reference: ApplicationReference, narrator: Narrator, expected: Collection[str] = ()
) -> AsyncGenerator[_Change, None]:
    """Show each change of the application and yield it. All functions that wait use this loop.

    The driver pods are not read for a content that has reached one of the states `expected`.

    Raises:
        ApplicationDeleted: The application was deleted before it ended.
        KubeError: The API rejected the request, or could not be reached for longer than the hub tolerates.
    """
    async with aclosing(hub.follow(reference, narrator.show_remark)) as contents:
        async for resource in contents:
            seen = read_progress(resource)
            await narrator.show(seen, resource)
            if _find_reached(seen, expected):
                yield _Change(resource, seen)
                continue
            change = _Change(resource, seen)
            yield await _find_end(hub, narrator, reference, change) or change


async def _find_end(
    hub: WatchHub, narrator: Narrator, reference: ApplicationReference, change: _Change
) -> _Change | None:
    """Return the end of the application; None while it runs.

    If its operator reports the end while a driver runs, wait for the driver to end.

    Raises:
        ApplicationDeleted: The application was deleted before it ended.
        KubeError: The API rejected the request, or could not be reached for longer than the hub tolerates.
    """
    resource = change.resource
    if is_deleted(resource):
        raise ApplicationDeleted(reference, resource)
    if not change.seen.has_unread_end:
        return _find_reported_end(change)
    backoff, was_alive = Backoff(first=1.0, longest=30.0), False
    while True:
        attempt = partial(find_final_progress_with_pods, hub.client, reference, resource, was_alive=was_alive)
        seen = await retry(attempt, str(reference), narrator.show_remark)
        end = _Change(resource, seen, has_ended=True) if seen is not None else None
        if seen is not None and (judge_progress(seen).outcome is Outcome.SUCCEEDED or not was_alive):
            return end
        if not was_alive:
            remark = f"the operator reports {change.seen.state}, but a driver pod exists; waiting for the driver to end"
            narrator.show_remark(logging.WARNING, f"{reference}: {remark}")
            narrator.follow_driver()
        # Read after the driver pods: the deletion of the application removes both, and the pods last.
        present = await hub.read(reference.resource, reference.name, reference.namespace)
        if present is None or present["metadata"]["uid"] != reference.uid:
            raise ApplicationDeleted(reference, resource)
        if read_deletion_deadline(present) is not None:
            raise ApplicationDeleted(reference, present)
        change = _Change(present, read_progress(present))
        if end is not None or not change.seen.has_unread_end:
            return end or _find_reported_end(change)
        resource, was_alive = present, True
        await asyncio.sleep(backoff.next())


def _find_reported_end(change: _Change) -> _Change | None:
    """Return the end of the application according to its status; None while it runs."""
    return dataclasses.replace(change, has_ended=True) if select_final(change.seen) is not None else None


async def _end_attempt(
    hub: WatchHub, narrator: Narrator, reference: ApplicationReference, seen: Progress
) -> _AttemptEnd:
    """Show the rest of the driver's log, and read what the cluster still knows about the end of an attempt."""
    # An open watch may report an end while other requests are rejected.
    await hub.probe.run(partial(hub.read, reference.resource, reference.name, reference.namespace))
    stop = find_last_stop(seen.history)
    failed = stop is None or stop.apache_state != ApplicationState.SUCCEEDED
    # The executors of a failed driver end with the driver, so they are read while its last lines arrive.
    reading = asyncio.create_task(_read_executors(hub, narrator, reference, with_logs=failed))
    try:
        await narrator.finish(seen)
        evidence = await _gather(hub, narrator, reference, seen, with_events=failed)
    finally:
        executors = await reading
    if failed:
        narrator.show_failure(evidence.events, executors)
    return _AttemptEnd(seen.attempt, evidence, executors)


async def _read_executors(
    hub: WatchHub, narrator: Narrator, reference: ApplicationReference, *, with_logs: bool
) -> tuple[ExecutorEnd, ...]:
    """Read the executors for the record of the run and, after a failure, why they failed."""
    if with_logs:
        return await read_executor_ends(hub.client, reference, narrator.observe)
    if narrator.recorder is not None:
        await narrator.recorder.read_last_pods()
    return ()


async def _gather(
    hub: WatchHub, narrator: Narrator, reference: ApplicationReference, seen: Progress, *, with_events: bool
) -> Evidence:
    is_whole = narrator.has_whole_log
    found = await gather_evidence(
        hub.client, reference, seen, with_events=with_events, with_log=not is_whole, driver=narrator.ended_driver
    )
    # A stream that began in the middle, or stopped at its limit, may have missed the cause.
    first, second = (narrator.cause, found.cause) if is_whole else (found.cause, narrator.cause)
    found = dataclasses.replace(
        found, cause=first or second, refusal=found.refusal or narrator.refusal, report=narrator.report | found.report
    )
    if narrator.recorder is not None:
        narrator.recorder.note_executors(seen, narrator.executors | found.executors)
    if narrator.last_lines and (is_whole or not found.log_lines):
        return dataclasses.replace(found, log_lines=narrator.last_lines, log_problem=None)
    if found.log_lines and not narrator.last_lines:
        narrator.show_last_lines(found.log_lines)
    return found


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
