"""Wait until a SparkCluster is ready: its operator has accepted it, and its master and workers are ready.

The status of the resource only reports that its objects were created. Readiness is read from the pods.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_CLUSTER_NAME, LABEL_ROLE, ROLE_MASTER, ROLE_WORKER
from ...core.kubernetes.pods import get_object, get_text, is_ready
from ...core.states.states import ApplicationState
from ...core.verdict.holds import Held, find_held_cluster
from ...kube.backoff import Backoff
from ...kube.errors import TRANSIENT, KubeError
from ...kube.resources import PODS
from ..access.pods import describe_block, find_blocked_container
from ..access.reference import ApplicationDeleted, ApplicationReference
from ..narration.holds import read_hold
from .watch import WatchHub

# The time between two requests for what holds a SparkCluster, unless the SparkCluster changes.
_FIRST_HOLD_PAUSE_SECONDS = 0.2
_LONGEST_HOLD_PAUSE_SECONDS = 5.0
Log: TypeAlias = logging.Logger | logging.LoggerAdapter[logging.Logger]

# The states of a SparkCluster are words of an application. The models would define them, but load slowly.
_ACCEPTED = ApplicationState.RUNNING_HEALTHY
_UNSCHEDULABLE = ApplicationState.SCHEDULING_FAILURE
# The first state can be so short that the watch only reports the next one. Older Apache operators set Failed.
_REFUSED = frozenset({_UNSCHEDULABLE, ApplicationState.RESOURCE_RELEASED, ApplicationState.FAILED})


class ClusterFailed(Exception):
    """The operator could not create the cluster and does not try again. The message names the cause."""


class ClusterNotReady(Exception):
    """The SparkCluster was not ready in time."""


@dataclass(frozen=True)
class Readiness:
    """The number of ready pods of a SparkCluster.

    Attributes:
        masters: The number of ready masters.
        workers: The number of ready workers.
        wanted_workers: The number of workers that the SparkCluster needs at least.
        blocked: A description of each pod that cannot start.
    """

    masters: int
    workers: int
    wanted_workers: int
    blocked: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether the SparkCluster can run applications."""
        return self.masters > 0 and self.workers >= self.wanted_workers

    def __str__(self) -> str:
        counts = f"master {self.masters}/1, workers {self.workers}/{self.wanted_workers} ready"
        return "; ".join([counts, *self.blocked])


async def wait_until_ready(
    hub: WatchHub, reference: ApplicationReference, log: Log, *, ready_seconds: float | None = None
) -> None:
    """Wait until the SparkCluster is ready.

    Args:
        hub: The hub of the Kubernetes cluster.
        reference: The SparkCluster.
        log: The logger for states, numbers of ready pods, pods that cannot start, and what holds the SparkCluster.
        ready_seconds: How long to wait, without the time in which Kueue or `spec.suspend` holds the SparkCluster. If
            None, there is no limit.

    Raises:
        ClusterFailed: The SparkCluster could not be created.
        ClusterNotReady: The time has passed.
        ApplicationDeleted: The SparkCluster was deleted.
        KubeError: The SparkCluster or its pods could not be read.
    """
    accepted: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
    holds = _HoldWatch(hub, reference, log)
    watching = asyncio.create_task(_watch(hub, reference, accepted, holds, log))
    counting = asyncio.create_task(_count_until_complete(hub, reference, accepted, log))
    limiting = asyncio.create_task(holds.run(ready_seconds))
    tasks = (watching, counting, limiting)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        # The state of the resource takes precedence over the state of its pods.
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def read_readiness(hub: WatchHub, reference: ApplicationReference, cluster: Mapping[str, Any]) -> Readiness:
    """Count the ready pods of the SparkCluster.

    Raises:
        KubeError: The pods could not be listed.
    """
    selector = f"{LABEL_CLUSTER_NAME}={reference.name}"
    found = await hub.client.list(PODS, reference.namespace, label_selector=selector)
    return count_ready(cluster, found.items)


def count_ready(cluster: Mapping[str, Any], found: Iterable[JsonObject]) -> Readiness:
    """Count the ready pods of a SparkCluster among the pods with its label."""
    # Pods of a deleted SparkCluster with the same name may still exist.
    since = get_text(cluster["metadata"].get("creationTimestamp"))
    pods = [pod for pod in found if get_text(pod["metadata"].get("creationTimestamp")) >= since]
    pods = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    ready = [(pod["metadata"].get("labels") or {}).get(LABEL_ROLE) for pod in pods if is_ready(pod)]
    blocked = [
        f"{pod['metadata']['name']}: {describe_block(one)}" for pod in pods if (one := find_blocked_container(pod))
    ]
    return Readiness(ready.count(ROLE_MASTER), ready.count(ROLE_WORKER), count_wanted_workers(cluster), tuple(blocked))


def count_wanted_workers(cluster: Mapping[str, Any]) -> int:
    """Return the number of workers that the cluster always has: the initial or the minimum number."""
    tolerations = get_object(get_object(cluster.get("spec")).get("clusterTolerations"))
    instances = get_object(tolerations.get("instanceConfig"))
    first, least, most = (_parse_count(instances.get(key)) for key in ("initWorkers", "minWorkers", "maxWorkers"))
    return min(first, least) if least < most else first


class _HoldWatch:
    """Logs what holds a SparkCluster, and limits the time in which nothing holds it."""

    def __init__(self, hub: WatchHub, reference: ApplicationReference, log: Log) -> None:
        self._hub = hub
        self._reference = reference
        self._log = log
        self._held: Held | None = None
        self._changed = asyncio.Event()
        self._logged = ""

    def update(self, cluster: JsonObject) -> None:
        """Update the content of the SparkCluster."""
        self._held = find_held_cluster(cluster)
        self._changed.set()

    async def run(self, ready_seconds: float | None) -> None:
        """Wait until the time has passed.

        Raises:
            ClusterNotReady: The time has passed.
        """
        loop, remaining = asyncio.get_running_loop(), inf if ready_seconds is None else ready_seconds
        backoff = Backoff(first=_FIRST_HOLD_PAUSE_SECONDS, longest=_LONGEST_HOLD_PAUSE_SECONDS)
        while remaining > 0:
            self._changed.clear()
            is_held = await self._check()
            before = loop.time()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(backoff.next(), remaining)):
                    await self._changed.wait()
            remaining -= 0 if is_held else loop.time() - before
        raise ClusterNotReady

    async def _check(self) -> bool:
        """Return whether something holds the SparkCluster, and log it once per cause."""
        try:
            hold = await read_hold(self._hub.client, self._reference, self._held)
        except KubeError as error:  # the watch tolerates and reports outages
            self._log.debug("could not find out why %s is queued or suspended: %s", self._reference, error)
            return bool(self._logged)
        if hold is not None and hold.cause != self._logged:
            self._log.warning("%s is waiting: %s", self._reference, hold.describe(self._hub.client.get_time()))
        self._logged = hold.cause if hold is not None else ""
        return hold is not None


async def _watch(
    hub: WatchHub, reference: ApplicationReference, accepted: asyncio.Future[JsonObject], holds: _HoldWatch, log: Log
) -> None:
    logged = ""
    async with aclosing(hub.follow(reference)) as contents:
        async for cluster in contents:
            holds.update(cluster)
            current = get_object(get_object(cluster.get("status")).get("currentState"))
            state, message = get_text(current.get("currentStateSummary")), get_text(current.get("message"))
            if cluster["metadata"].get("deletionTimestamp"):
                raise ApplicationDeleted(reference, cluster)
            if state and state != logged:
                log.info("%s: %s%s", reference, state, f": {message}" if message else "")
                logged = state
            if state in _REFUSED:
                cause = _find_failure_message(cluster) or message or "the operator reported no cause"
                raise ClusterFailed(f"{reference} failed: {cause}")
            if state == _ACCEPTED and not accepted.done():
                accepted.set_result(cluster)


def _find_failure_message(cluster: Mapping[str, Any]) -> str:
    """Return the message of the latest SchedulingFailure; empty if there is none. Later states only refer to it."""
    history = get_object(get_object(cluster.get("status")).get("stateTransitionHistory"))
    numbers = sorted((key for key in history if key.isdecimal()), key=int)
    records = [get_object(history[key]) for key in numbers]
    failures = [each for each in records if each.get("currentStateSummary") == _UNSCHEDULABLE]
    return get_text(failures[-1].get("message")) if failures else ""


async def _count_until_complete(
    hub: WatchHub, reference: ApplicationReference, accepted: asyncio.Future[JsonObject], log: Log
) -> None:
    cluster = await accepted
    backoff, logged = Backoff(first=0.5, longest=5.0), ""
    while True:
        try:
            found = await read_readiness(hub, reference, cluster)
        except TRANSIENT as error:  # the watch tolerates and reports outages
            log.debug("pods cannot be counted: %s", error)
        else:
            if str(found) != logged:
                logged = str(found)
                log.info("%s: %s", reference, logged)
            if found.is_complete:
                return
        await asyncio.sleep(backoff.next())


def _parse_count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
