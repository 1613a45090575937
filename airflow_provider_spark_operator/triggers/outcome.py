"""Describe the end of waiting for an application as the event that its task receives."""

from typing import Any

from ..follow.watching.wait import Conclusion
from ..links.link_target import build_link_target
from .event import ApplicationEvent, EventKind


def build_event(conclusion: Conclusion) -> ApplicationEvent:
    """Return the event for an application that has ended or reached a state."""
    reference, verdict, resource = conclusion.reference, conclusion.verdict, conclusion.resource
    target = build_link_target(resource, reference, spark_id=verdict.application_id)
    reached: dict[str, Any] = {
        "application_id": verdict.application_id,
        "attempts": verdict.attempts,
        "seconds_per_state": verdict.seconds_per_state,
        "state": conclusion.reached,
        "sentence": f"{reference} has reached {conclusion.reached}",
    }
    has_ended = conclusion.reached is None
    return ApplicationEvent(
        kind=EventKind.ENDED if has_ended else EventKind.REACHED,
        namespace=reference.namespace,
        name=reference.name,
        uid=reference.uid,
        api_version=reference.resource.api_version,
        created=resource["metadata"].get("creationTimestamp"),
        driver_pod=target.driver_pod,
        own_ui=target.own_ui,
        **(conclusion.to_values() if has_ended else reached),
    )
