"""Describe the end of waiting for an application as the event that its task receives."""

from dataclasses import replace

from ..follow.watching.wait import Conclusion
from ..links.link_target import build_link_target
from .event import ApplicationEvent, EventKind


def build_event(conclusion: Conclusion) -> ApplicationEvent:
    """Return the event for an application that has ended or reached a state."""
    reference, verdict, resource = conclusion.reference, conclusion.verdict, conclusion.resource
    target = build_link_target(resource, reference, spark_id=verdict.application_id)
    event = ApplicationEvent(
        kind=EventKind.REACHED,
        namespace=reference.namespace,
        name=reference.name,
        uid=reference.uid,
        api_version=reference.resource.api_version,
        state=conclusion.reached,
        sentence=f"{reference} has reached {conclusion.reached}",
        application_id=verdict.application_id,
        attempts=verdict.attempts,
        seconds_per_state=verdict.seconds_per_state,
        created=resource["metadata"].get("creationTimestamp"),
        driver_pod=target.driver_pod,
        own_ui=target.own_ui,
    )
    if conclusion.reached is not None:
        return event
    return replace(event, kind=EventKind.ENDED, **conclusion.to_values())
