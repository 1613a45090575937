"""Kubernetes Events: what `kubectl describe` tells a user about their application."""

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
"""How many Events are written at the same time: a transition takes as long as its Event."""
_MOST_WAITING = 1000


@dataclass(frozen=True)
class Happening:
    """One thing to tell about a resource.

    Attributes:
        resource: whom it happened to.
        type: NORMAL or WARNING.
        reason: a word, constant for each kind of happening.
        message: a sentence.
        identity: what tells it from others of that reason; telling it twice makes one Event.
        time: when it happened.
    """

    resource: JsonObject
    type: str
    reason: str
    message: str
    identity: str
    time: datetime


class EventRecorder:
    """Writes Events beside the work, which never waits for them nor fails with them.

    Those of one resource are written one after the other, in the order in which they happened.

    Args:
        client: the way to the API.
        component: who tells it: the operator's name.
    """

    def __init__(self, client: KubeClient, component: str) -> None:
        self._client = client
        self._component = component
        self._waiting: tuple[asyncio.Queue[JsonObject], ...] = tuple(
            asyncio.Queue(_MOST_WAITING) for _ in range(WRITERS)
        )

    def record(self, happening: Happening) -> None:
        """Have an Event written soon; dropped where so many wait that the API must be in trouble."""
        # The document is small, and the resource as it was then would have to be kept until it is written.
        document = event_document(happening, self._component)
        try:
            self._waiting[hash(key_of(happening.resource)) % WRITERS].put_nowait(document)
        except asyncio.QueueFull:
            logger.warning("event dropped, too many wait: %s", happening.reason, extra=_key(document))

    async def run(self) -> None:
        """Write what is recorded, until cancelled."""
        async with asyncio.TaskGroup() as writers:
            for waiting in self._waiting:
                writers.create_task(self._write_all(waiting))

    async def drain(self) -> None:
        """Wait until everything recorded so far has been written or given up."""
        for waiting in self._waiting:
            await waiting.join()

    async def _write_all(self, waiting: "asyncio.Queue[JsonObject]") -> None:
        while True:
            document = await waiting.get()
            try:
                await self._write(document)
            except Exception:
                logger.exception("event not written", extra=_key(document))
            finally:
                waiting.task_done()

    async def _write(self, document: JsonObject) -> None:
        try:
            await self._client.create(EVENTS, document, document["metadata"]["namespace"])
        except AlreadyExists:
            return  # told by an earlier pass that was interrupted
        except KubeError as error:
            logger.warning("event not written: %s", error, extra=_key(document))


def invalid(resource: JsonObject, problems: InvalidResource, time: datetime) -> Happening:
    """That a resource cannot be read, told once for each version of its spec."""
    sentence = "; ".join(str(problem) for problem in problems.problems)
    metadata = resource["metadata"]
    identity = str(metadata.get("generation", metadata.get("resourceVersion")))
    return Happening(resource, WARNING, reasons.INVALID_RESOURCE, sentence, identity, time)


def spec_warning(resource: JsonObject, time: datetime) -> Happening | None:
    """What `spark-operator validate` finds wrong with a resource that is run, once for each version of its spec."""
    problems = validate_without_status(resource)
    if not problems:
        return None
    sentence = "; ".join(str(problem) for problem in problems)
    generation = str(resource["metadata"].get("generation"))
    return Happening(resource, WARNING, reasons.SPEC_WARNING, sentence, generation, time)


def event_document(happening: Happening, component: str) -> JsonObject:
    """The `core/v1` Event; its name follows from resource, reason and identity."""
    metadata = happening.resource["metadata"]
    digest = hashlib.sha256(
        "\0".join((metadata.get("uid", ""), happening.reason, happening.identity)).encode()
    ).hexdigest()[:16]
    time = happening.time.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {
            "name": f"{metadata['name'][: _LONGEST_NAME - len(digest) - 1]}.{digest}",
            "namespace": metadata.get("namespace", ""),
        },
        "involvedObject": {
            "apiVersion": happening.resource.get("apiVersion", ""),
            "kind": happening.resource.get("kind", ""),
            "namespace": metadata.get("namespace", ""),
            "name": metadata["name"],
            "uid": metadata.get("uid", ""),
            "resourceVersion": metadata.get("resourceVersion", ""),
        },
        "type": happening.type,
        "reason": happening.reason,
        "message": _shortened(happening.message),
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": component,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


def _shortened(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 1] + "…"


def _key(document: JsonObject) -> dict[str, str]:
    involved = document["involvedObject"]
    return {KINDS[involved["kind"]].noun: str(ObjectKey(involved["namespace"], involved["name"]))}
