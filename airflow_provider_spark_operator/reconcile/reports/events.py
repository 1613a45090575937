"""Kubernetes Events, which `kubectl describe` shows to the user of a resource, and their reasons after failures."""

import asyncio
import hashlib
import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.problems import InvalidResource, Problem, cut_middle
from ...core.kubernetes.times import read_time
from ...core.lifecycle.decisive_fields import digest_value
from ...core.models.application import SparkApplication
from ...core.models.cluster import ClusterState, SparkCluster
from ...core.states import reasons
from ...core.states.states import INITIALIZING, RUNNING, STARTING, ApplicationState
from ...kube.client import KubeClient
from ...kube.errors import AlreadyExists, KubeError, ServerError, is_refusal
from ...kube.resources import EVENTS
from ..objects.cache import ObjectKey, key_of
from ..objects.kinds import KINDS
from .event_filter import EventSettings, RepetitionFilter

logger = logging.getLogger(__name__)

NORMAL = "Normal"
WARNING = "Warning"
_LONGEST_MESSAGE = 1024
_LONGEST_NAME = 253
WRITERS = 4
"""The number of Events that are written concurrently."""
_MAX_WAITING = 1000
_DRAIN_SECONDS = 2.0
# The fields of an application that take effect while its driver exists.
_EFFECTIVE_FIELDS = frozenset({"spec.applicationTolerations", "spec.suspend"})


@dataclass(frozen=True)
class ResourceEvent:
    """An event of a resource.

    Attributes:
        resource: The resource.
        type: NORMAL or WARNING.
        reason: A constant word for the kind of event.
        message: A sentence for the user.
        time: The time of the event.
    """

    resource: JsonObject
    type: str
    reason: str
    message: str
    time: datetime


class EventRecorder:
    """Writes Events in the background: reconciling never waits for them nor fails with them.

    Events of one resource are written one after the other, in order. Events of one resource with the same reason are
    one object: a repetition replaces its message and increases its count.

    Attributes:
        settings: Which Events are written. Can be changed at any time.

    Args:
        client: The client of the API.
        component: The component that reports the events: the operator's name.
        settings: See above.
    """

    def __init__(self, client: KubeClient, component: str, settings: EventSettings | None = None) -> None:
        self.settings = settings or EventSettings()
        self._client = client
        self._component = component
        self._repetitions = RepetitionFilter()
        self._queues: tuple[asyncio.Queue[JsonObject], ...] = tuple(asyncio.Queue(_MAX_WAITING) for _ in range(WRITERS))

    def record(self, event: ResourceEvent) -> None:
        """Queue an Event to be written, if the settings permit it. It is dropped if too many are waiting."""
        uid, settings = event.resource["metadata"].get("uid", ""), self.settings
        if not settings.permits(event.reason):
            return
        if not self._repetitions.admit(uid, event.reason, event.message, event.time, settings):
            return
        # The document is small. `event` would keep the whole resource in memory.
        document = build_event(event, self._component)
        try:
            self._queues[hash(key_of(event.resource)) % WRITERS].put_nowait(document)
        except asyncio.QueueFull:
            fields = _build_log_fields(document)
            logger.warning("dropped event %s: too many events are waiting to be written", event.reason, extra=fields)

    def record_problems(self, resource: JsonObject, problems: Collection[Problem], time: datetime) -> None:
        """Record the problems of a resource that runs nevertheless, if there are any."""
        if problems:
            sentence = "; ".join(str(problem) for problem in problems)
            self.record(ResourceEvent(resource, WARNING, reasons.SPEC_WARNING, sentence, time))

    async def run(self) -> None:
        """Write recorded events until cancelled; then write the waiting events, for at most two seconds."""
        async with asyncio.TaskGroup() as writers:
            for queue in self._queues:
                writers.create_task(self._write_all(queue))
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                # The next process does not record a transition whose status this one has written.
                await self._drain_with_timeout()

    async def drain(self) -> None:
        """Wait until all events recorded so far are written or dropped."""
        for queue in self._queues:
            await queue.join()

    async def _drain_with_timeout(self) -> None:
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                await self.drain()
        except TimeoutError:
            logger.warning(
                "could not send the last Events to the API within %g s after the shutdown began", _DRAIN_SECONDS
            )

    async def _write_all(self, queue: "asyncio.Queue[JsonObject]") -> None:
        while True:
            document = await queue.get()
            try:
                await self._write(document)
            except Exception:
                logger.exception("could not write event %s", document["reason"], extra=_build_log_fields(document))
            finally:
                queue.task_done()

    async def _write(self, document: JsonObject) -> None:
        try:
            try:
                await self._client.create(EVENTS, document, document["metadata"]["namespace"])
            except AlreadyExists:
                await self._repeat(document)
        except KubeError as error:
            fields = _build_log_fields(document)
            logger.warning("could not write event %s: %s", document["reason"], error, extra=fields)

    async def _repeat(self, document: JsonObject) -> None:
        name, namespace = document["metadata"]["name"], document["metadata"]["namespace"]
        existing = await self._client.get(EVENTS, name, namespace)
        patch = build_repetition(existing, document, self.settings)
        if patch is not None:
            await self._client.patch(EVENTS, name, namespace, patch)


def build_invalid_event(resource: JsonObject, problems: InvalidResource, time: datetime) -> ResourceEvent:
    """Build the event of a resource that cannot be parsed."""
    sentence = "; ".join(str(problem) for problem in problems.problems)
    return ResourceEvent(resource, WARNING, reasons.INVALID_RESOURCE, sentence, time)


def find_ignored_edit(before: JsonObject, after: JsonObject, time: datetime) -> ResourceEvent | None:
    """Return the event of an edit that has no effect on the driver that exists; None if there is no such edit.

    Args:
        before: The application as it was known. Each of the two can be shortened.
        after: The application as it is now.
        time: The time of the event.
    """
    state = ((after.get("status") or {}).get("currentState") or {}).get("currentStateSummary")
    old, new = before.get("spec") or {}, after.get("spec") or {}
    if state not in STARTING | RUNNING or old == new:
        return None
    names = old.keys() | new.keys()
    edited = sorted(f"spec.{name}" for name in names if digest_value(old.get(name)) != digest_value(new.get(name)))
    fields = ", ".join(field for field in edited if field not in _EFFECTIVE_FIELDS)
    sentence = (
        f"{fields} of the application changed while its driver exists. The change takes effect in the next attempt"
    )
    hint = "to apply it now, suspend and resume the application"
    return ResourceEvent(after, WARNING, reasons.SPEC_CHANGE_IGNORED, f"{sentence}: {hint}.", time) if fields else None


def build_event(event: ResourceEvent, component: str) -> JsonObject:
    """Build the `core/v1` Event; its name is derived from the resource and the reason."""
    metadata = event.resource["metadata"]
    digest = hashlib.sha256(f"{metadata.get('uid', '')}\0{event.reason}".encode()).hexdigest()[:16]
    time = event.time.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {
            "name": f"{metadata['name'][: _LONGEST_NAME - len(digest) - 1]}.{digest}",
            "namespace": metadata.get("namespace", ""),
        },
        "involvedObject": {
            "apiVersion": event.resource.get("apiVersion", ""),
            "kind": event.resource.get("kind", ""),
            "namespace": metadata.get("namespace", ""),
            "name": metadata["name"],
            "uid": metadata.get("uid", ""),
            "resourceVersion": metadata.get("resourceVersion", ""),
        },
        "type": event.type,
        "reason": event.reason,
        "message": cut_middle(event.message, _LONGEST_MESSAGE),
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": component,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


def build_repetition(existing: JsonObject, document: JsonObject, settings: EventSettings) -> JsonObject | None:
    """Build the merge patch that adds an event to the earlier ones of its reason.

    Args:
        existing: The Event as stored.
        document: The Event as `build_event` returned it.
        settings: The settings in force.

    Returns:
        The patch; None if an earlier controller or replica wrote the same event a short time before.
    """
    earlier, later = read_time(existing.get("lastTimestamp")), read_time(document["lastTimestamp"])
    same = existing.get("message") == document["message"]
    if same and earlier is not None and later is not None and settings.is_repeated_too_soon(earlier, later):
        return None
    count = existing.get("count")
    return {
        "count": (count if isinstance(count, int) else 1) + 1,
        **{key: document[key] for key in ("lastTimestamp", "message", "type")},
    }


def _build_log_fields(document: JsonObject) -> dict[str, str]:
    involved = document["involvedObject"]
    return {KINDS[involved["kind"]].noun: str(ObjectKey(involved["namespace"], involved["name"]))}


# The Apache operator also reports errors of these requests from which the API server may recover.
_ALSO_PASSING = frozenset({reasons.CLUSTER_REQUEST_FAILED, reasons.STATUS_UPDATE_FAILED})


def name_failure(model: SparkApplication | SparkCluster) -> str:
    """Return the reason of the Event if an action on the resource fails."""
    if model.deletion_timestamp is not None:
        return reasons.CLEANUP_ERROR
    return _name_application_failure(model) if isinstance(model, SparkApplication) else _name_cluster_failure(model)


def is_reported(reason: str, error: KubeError) -> bool:
    """Whether an Event reports the error. Lost connections, throttling and conflicts end without the user's help.

    Args:
        reason: The reason of the Event.
        error: The error of the request.
    """
    return is_refusal(error) or (isinstance(error, ServerError) and reason in _ALSO_PASSING)


def _name_application_failure(application: SparkApplication) -> str:
    status = application.status
    state = status.current_state.current_state_summary if status else ApplicationState.SUBMITTED
    if state is ApplicationState.SUSPENDED:
        return reasons.SUSPEND_RELEASE_FAILED
    if state in INITIALIZING and application.spec.suspend:
        return reasons.SUSPEND_CHECK_FAILED
    return reasons.RECONCILE_ERROR


def _name_cluster_failure(cluster: SparkCluster) -> str:
    status = cluster.status
    match status.current_state.current_state_summary if status else ClusterState.SUBMITTED:
        case ClusterState.SUSPENDED:
            return reasons.SUSPEND_RELEASE_FAILED
        case ClusterState.SCHEDULING_FAILURE:
            return reasons.CLUSTER_RELEASE_FAILED
        case ClusterState.SUBMITTED:
            return reasons.SUSPEND_CHECK_FAILED if cluster.spec.suspend else reasons.CLUSTER_REQUEST_FAILED
    return reasons.RECONCILE_ERROR
