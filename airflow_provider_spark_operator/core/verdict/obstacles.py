"""Describe what keeps an application and its pods from running."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ..dialects.dialect import dialect_of
from ..dialects.progress import Phase, Progress
from ..kubernetes import pods
from ..kubernetes.ownership import LeaseReference, Tenure, find_owner
from ..kubernetes.times import read_time
from ..states.reasons import SUSPENDED, UNSCHEDULABLE
from .advice import advise_on_missing_object
from .driver_facts import read_event_time, read_name
from .holds import format_wait
from .verdict import describe_driver_obstacle

UNRECONCILED: Final = timedelta(seconds=60)
"""The age from which an application without a status is unusual: a running operator writes one within seconds."""


@dataclass(frozen=True)
class MissingStatus:
    """Why a resource has had no status for a minute.

    Attributes:
        name: The cause in two words.
        cause: The cause as a clause.
        advice: What to do, as a sentence without its full stop.
        since: When the resource was created.
    """

    name: str
    cause: str
    advice: str
    since: datetime

    def describe(self, now: datetime) -> str:
        """Return a clause with the time that has passed, the cause and the advice."""
        return f"it has had no status for {format_wait(now - self.since)}: {self.cause}. {self.advice}"


def find_missing_status(resource: Mapping[str, object], now: datetime) -> MissingStatus | None:
    """Explain why a resource has had no status for a minute; None if it has one, is new, or is being deleted.

    Args:
        resource: The application or SparkCluster. Neither Kueue nor the user holds it, and it has no driver.
        now: The current time, with an offset.
    """
    metadata = pods.get_object(resource.get("metadata"))
    created = _find_old_creation(metadata, now)
    if created is None or resource.get("status") or metadata.get("deletionTimestamp"):
        return None
    dialect = dialect_of(resource.get("apiVersion"))
    advice = (
        f"Check that an operator for {pods.get_text(resource.get('apiVersion'))} runs, that it watches the "
        f"namespace {pods.get_text(metadata.get('namespace'))}, and that its log shows no error"
    )
    if dialect.submits_before_status:
        cause = f"the spark-submit of {dialect.operator} takes long, or no operator reconciles it"
        return MissingStatus("no status", cause, advice, created)
    return MissingStatus("no operator", "no operator seems to reconcile it", advice, created)


def _find_old_creation(metadata: Mapping[str, object], now: datetime) -> datetime | None:
    """Return when a resource was created; None if it is new, or if the time is unknown."""
    created = read_time(metadata.get("creationTimestamp"))
    return None if created is None or now - created < UNRECONCILED else created


@dataclass(frozen=True)
class LostController:
    """A controller that manages an application or a cluster, but does not run.

    Attributes:
        lease: The Lease that shows whether it runs.
        renewed: When it renewed the Lease last. None if unknown.
    """

    lease: LeaseReference
    renewed: datetime | None

    def describe(self, now: datetime) -> str:
        """Return a clause about what it manages, and what to do."""
        age = f", last renewed {format_wait(now - self.renewed)} ago" if self.renewed else ""
        return (
            f"the controller that manages it does not run: no process holds its Lease {self.lease}{age}. Start this "
            "controller again, or another one for the namespace"
        )


def describe_ending_namespace(namespace: str, lost: LostController | None) -> str:
    """Describe a namespace that is being deleted, and that waits for an application.

    Args:
        namespace: The name of the namespace.
        lost: The controller of the application, if it does not run.
    """
    sentence = f"the namespace {namespace} is being deleted, and waits until the controller removes the finalizer"
    if lost is None:
        return sentence
    return (
        f"{sentence}, but no process holds the Lease {lost.lease} of this controller. Start a controller for the "
        "namespace with --lease OTHER-NAMESPACE/NAME, because nothing can be created in this one"
    )


def find_claim(resource: Mapping[str, object], now: datetime) -> LeaseReference | None:
    """Return the Lease of the controller that claimed a resource and still has to manage it; None if there is none.

    Args:
        resource: The application or SparkCluster as the API returns it.
        now: The current time, with an offset.
    """
    metadata = pods.get_object(resource.get("metadata"))
    ended = dialect_of(resource.get("apiVersion")).read_progress(resource).phase is Phase.ENDED
    if (ended and not metadata.get("deletionTimestamp")) or _find_old_creation(metadata, now) is None:
        return None
    return LeaseReference.parse(find_owner(resource) or "")


def judge_controller(lease: LeaseReference, tenure: Tenure, now: datetime) -> LostController | None:
    """Return the controller of a Lease as lost if no process holds the Lease, and none has renewed it for a minute.

    A controller that is replaced releases its Lease, and its successor needs some time.

    Args:
        lease: The Lease.
        tenure: Its content; empty if the Lease does not exist.
        now: The current time, with an offset.
    """
    is_recent = tenure.renewed is not None and now - tenure.renewed < UNRECONCILED
    return None if is_recent or tenure.is_held(now) else LostController(lease, tenure.renewed)


def describe_driver_wait(pod: Mapping[str, object], progress: Progress, events: Sequence[str]) -> str | None:
    """Describe what a driver pod that does not run yet waits for; None if no obstacle is known.

    Args:
        pod: The driver pod.
        progress: The progress of its application.
        events: The latest warnings about the pod, oldest first.
    """
    status = pods.get_status(pod)
    if not pods.is_pending(status):
        return None
    if why := describe_driver_obstacle(status, progress.settings):
        return why
    wait = describe_pod_wait("the driver pod", pod, events)
    advice = advise_on_missing_object(wait, progress.settings) if wait else ""
    return f"{wait}; {advice}" if advice else wait


def name_driver_obstacle(pod: Mapping[str, object], events: Iterable[Mapping[str, object]] = ()) -> str:
    """Return the reason why a driver pod does not start, in one word; empty if none is known.

    Args:
        pod: The driver pod.
        events: Events of its namespace, among them the warnings about it.
    """
    status = pods.get_status(pod)
    scheduled = pods.find_condition(status, "PodScheduled")
    if pods.get_text(scheduled.get("status")).lower() == "false":
        return pods.get_text(scheduled.get("reason")) or UNSCHEDULABLE
    for container in pods.list_all_containers(status):
        if container.is_blocked:
            return container.reason
    if not pods.is_pending(status):
        return ""
    warnings = [each for each in events if each.get("type") == "Warning" and is_event_about(each, pod)]
    return pods.get_text(max(warnings, key=read_event_time).get("reason")) if warnings else ""


def is_event_about(event: Mapping[str, object], pod: Mapping[str, object]) -> bool:
    """Return whether an Event of the same namespace is about a pod."""
    subject = pods.get_object(event.get("involvedObject"))
    return subject.get("kind") == "Pod" and subject.get("name") == read_name(pod)


def describe_pod_wait(name: str, pod: Mapping[str, object], events: Sequence[str]) -> str | None:
    """Describe what a pending pod waits for: a node, a container, or the cause in its latest warning.

    Args:
        name: Name of the pod for the message, for example "the driver pod".
        pod: The pod.
        events: The latest warnings about the pod, oldest first.
    """
    status = pods.get_status(pod)
    scheduled = pods.find_condition(status, "PodScheduled")
    if pods.get_text(scheduled.get("status")).lower() == "false" and scheduled.get("message"):
        return f"{name} waits for a node: {pods.get_text(scheduled.get('message'))}"
    for container in pods.list_all_containers(status):
        if container.is_blocked:
            detail = ": ".join(part for part in (container.reason, container.message) if part)
            return f"{name} cannot start: {detail}"
    return f"{name} is pending: {events[-1]}" if events else None


def wants_suspension(resource: Mapping[str, object]) -> bool:
    """Return whether the application requests to be suspended."""
    return dialect_of(resource.get("apiVersion")).is_suspended(resource)


def ignores_suspension(progress: Progress, resource: Mapping[str, object], *, settled: bool) -> bool:
    """Return whether the operator runs a driver although the application requests to be suspended.

    Args:
        progress: The progress of `resource`.
        resource: The application.
        settled: Whether the operator has had enough time to stop a driver that ran before.
    """
    if not wants_suspension(resource) or progress.reason == SUSPENDED:
        return False
    asked_from_the_beginning = pods.get_object(resource.get("metadata")).get("generation") == 1
    has_driver = progress.driver_expected or progress.phase is Phase.RUNNING
    return has_driver and (asked_from_the_beginning or settled)
