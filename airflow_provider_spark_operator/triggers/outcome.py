"""Describe the end of waiting for an application as the event that its task receives."""

from ..follow.watching.wait import Conclusion, ReachedState
from ..hooks.verdict import build_verdict, compute_seconds_per_state
from ..links.link_target import build_link_target
from .event import ApplicationEvent, EventKind


def describe_end(conclusion: Conclusion) -> ApplicationEvent:
    """Return the event for an application that has ended."""
    verdict = build_verdict(conclusion)
    reference = verdict.reference
    target = build_link_target(verdict.resource, reference, spark_id=verdict.application_id)
    return ApplicationEvent(
        kind=EventKind.ENDED,
        namespace=reference.namespace,
        name=reference.name,
        uid=reference.uid,
        api_version=reference.resource.api_version,
        state=verdict.state,
        outcome=verdict.outcome,
        failure_kind=verdict.failure_kind,
        reason=verdict.reason,
        sentence=verdict.sentence,
        application_id=verdict.application_id,
        attempts=verdict.attempts,
        log_lines=verdict.log_lines,
        seconds_per_state=verdict.seconds_per_state,
        retry_worthy=verdict.retry_worthy,
        out_of_memory=verdict.out_of_memory,
        driver_message=verdict.driver_message,
        had_driver=verdict.had_driver,
        created=verdict.resource["metadata"].get("creationTimestamp"),
        driver_pod=target.driver_pod,
        own_ui=target.own_ui,
    )


def describe_state(reached: ReachedState) -> ApplicationEvent:
    """Return the event for an application that has reached a state."""
    reference, seen = reached.reference, reached.progress
    target = build_link_target(reached.resource, reference, spark_id=seen.application_id)
    return ApplicationEvent(
        kind=EventKind.REACHED,
        namespace=reference.namespace,
        name=reference.name,
        uid=reference.uid,
        api_version=reference.resource.api_version,
        state=reached.state,
        sentence=f"{reference} has reached {reached.state}",
        application_id=seen.application_id,
        attempts=seen.attempt + 1,
        seconds_per_state=compute_seconds_per_state(seen),
        created=reached.resource["metadata"].get("creationTimestamp"),
        driver_pod=target.driver_pod,
        own_ui=target.own_ui,
    )
