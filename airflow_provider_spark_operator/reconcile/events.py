"""Kubernetes Events, which `kubectl describe` shows to the user of a resource."""

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from datetime import datetime

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.core.validation.validate import validate_without_status
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import AlreadyExists, KubeError
from airflow_provider_spark_operator.kube.resources import EVENTS
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectKey, key_of
from airflow_provider_spark_operator.reconcile.kinds import KINDS

logger = logging.getLogger(__name__)

NORMAL = "Normal"
WARNING = "Warning"
_LONGEST_MESSAGE = 1024
_LONGEST_NAME = 253
WRITERS = 4
"""The number of Events that are written concurrently."""
_MOST_WAITING = 1000
_DRAIN_SECONDS = 2.0


@dataclass(frozen=True)
class ResourceEvent:
    """An event of a resource.

    Attributes:
        resource: The resource.
        type: NORMAL or WARNING.
        reason: A constant word for the kind of event.
        message: A sentence for the user.
        identity: Distinguishes events of the same reason; events of the same identity are written once.
        time: The time of the event.
    """

    resource: JsonObject
    type: str
    reason: str
    message: str
    identity: str
    time: datetime


class EventRecorder:
    """Writes Events in the background: reconciling never waits for them nor fails with them.

    Events of one resource are written one after the other, in order.

    Args:
        client: The client of the API.
        component: The component that reports the events: the operator's name.
    """

    def __init__(self, client: KubeClient, component: str) -> None:
        self._client = client
        self._component = component
        self._queues: tuple[asyncio.Queue[JsonObject], ...] = tuple(
            asyncio.Queue(_MOST_WAITING) for _ in range(WRITERS)
        )

    def record(self, event: ResourceEvent) -> None:
        """Queue an Event to be written. The Event is dropped if too many are waiting."""
        # The document is small. `event` would keep the whole resource in memory.
        document = build_event(event, self._component)
        try:
            self._queues[hash(key_of(event.resource)) % WRITERS].put_nowait(document)
        except asyncio.QueueFull:
            fields = _build_log_fields(document)
            logger.warning("dropped event %s: too many events are waiting to be written", event.reason, extra=fields)

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
            logger.warning("could not write the last events within %g s of the shutdown", _DRAIN_SECONDS)

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
            await self._client.create(EVENTS, document, document["metadata"]["namespace"])
        except AlreadyExists:
            return  # written by an earlier reconcile that was interrupted
        except KubeError as error:
            fields = _build_log_fields(document)
            logger.warning("could not write event %s: %s", document["reason"], error, extra=fields)


def build_invalid_event(resource: JsonObject, problems: InvalidResource, time: datetime) -> ResourceEvent:
    """Build the event of a resource that cannot be parsed, once for each version of its spec."""
    sentence = "; ".join(str(problem) for problem in problems.problems)
    metadata = resource["metadata"]
    identity = str(metadata.get("generation", metadata.get("resourceVersion")))
    return ResourceEvent(resource, WARNING, reasons.INVALID_RESOURCE, sentence, identity, time)


def find_spec_warning(resource: JsonObject, time: datetime) -> ResourceEvent | None:
    """Return the event with the problems that `spark-operator validate` finds, once for each version of the spec."""
    problems = validate_without_status(resource)
    if not problems:
        return None
    sentence = "; ".join(str(problem) for problem in problems)
    generation = str(resource["metadata"].get("generation"))
    return ResourceEvent(resource, WARNING, reasons.SPEC_WARNING, sentence, generation, time)


def build_event(event: ResourceEvent, component: str) -> JsonObject:
    """Build the `core/v1` Event; its name is derived from the resource, the reason and the identity."""
    metadata = event.resource["metadata"]
    digest = hashlib.sha256("\0".join((metadata.get("uid", ""), event.reason, event.identity)).encode()).hexdigest()[
        :16
    ]
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
        "message": _shorten(event.message),
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": component,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


def _shorten(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 1] + "…"


def _build_log_fields(document: JsonObject) -> dict[str, str]:
    involved = document["involvedObject"]
    return {KINDS[involved["kind"]].noun: str(ObjectKey(involved["namespace"], involved["name"]))}
