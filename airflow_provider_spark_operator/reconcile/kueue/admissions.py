"""The requests to Kueue on behalf of the resources: admission, quota, and the conditions that an owner writes."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.problems import InvalidResource
from ...core.kueue import state
from ...core.kueue.admission import Admitted, Backoff, Pending, Stale, read_admission
from ...core.kueue.assignment import AdmissionConflict, TemplateChange, collect_changes, list_flavor_names
from ...core.kueue.state import needs_ready_condition
from ...core.kueue.steps import RETRY_INTERVAL, Granted, Keep, QueueObservation, Unsuitable, Waiting, choose_requeue
from ...core.kueue.workload import (
    POD_PRIORITY_CLASS,
    WORKLOAD_PRIORITY_CLASS,
    PodSet,
    Priority,
    PriorityClassName,
    WantedWorkload,
    build_workload_name,
    find_default_priority,
    find_priority_class,
    get_queue_name,
    read_priority,
)
from ...core.models.base import Resource
from ...core.states import reasons
from ...kube.client import KubeClient
from ...kube.errors import AlreadyExists, Conflict, Forbidden, KubeError, NotFound, is_refusal
from ...kube.resources import PRIORITY_CLASSES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES, WORKLOADS
from ..objects.cache import ObjectCache, ObjectKey, copy_frame

logger = logging.getLogger(__name__)
_TYPES: Final = {WORKLOAD_PRIORITY_CLASS: WORKLOAD_PRIORITY_CLASSES, POD_PRIORITY_CLASS: PRIORITY_CLASSES}
# Each waiting resource needs the default class in each reconcile, and the class hardly ever changes.
_VALIDITY: Final = timedelta(seconds=60)


@dataclass(frozen=True)
class AdmissionRequest:
    """The request of a resource for quota.

    Attributes:
        owner: The resource.
        build_pod_sets: Builds the pods; raises InvalidResource if Kueue cannot know what they need.
        have_pods: Returns by a live read whether the resource has pods that have not ended, and so use the quota.
    """

    owner: Resource
    build_pod_sets: Callable[[], Sequence[PodSet]]
    have_pods: Callable[[], Awaitable[bool]]


class _FlavorUnreadable(Exception):
    """The API rejects the read of a ResourceFlavor; str() is one sentence."""


class Admissions:
    """The Workloads of one kind of resource.

    Args:
        client: The client of the API.
        workloads: The Workloads that the watch has shown; the answers of the API are added.
        now: The clock, in UTC.
    """

    def __init__(self, client: KubeClient, workloads: ObjectCache, now: Callable[[], datetime]) -> None:
        self._client = client
        self._workloads = workloads
        self._priorities = Priorities(client, now)
        self._now = now

    def observe(self, owner: Resource) -> QueueObservation:
        """Return what the cache shows of a resource, without a request to the API."""
        workload = self._workloads.get(_get_key(owner))
        owned = workload if workload is not None and state.is_controlled_by(workload, owner.uid) else None
        return QueueObservation(get_queue_name(owner), owned)

    async def request(self, request: AdmissionRequest, *, is_started: bool = False) -> QueueObservation:
        """Create the Workload of a resource if it has none, and return what Kueue has decided.

        A failure of the API is an answer too: the resource waits.

        Args:
            request: What the resource asks for.
            is_started: Whether its pods have been requested already. Only the changes of their templates matter then.
        """
        observed = self.observe(request.owner)
        try:
            return await self._ask(request, is_started)
        except AdmissionConflict as error:
            return replace(observed, answer=Unsuitable(str(error)))
        except InvalidResource as error:
            return replace(observed, answer=Unsuitable(str(error), reasons.SPEC_UNBUILDABLE))
        except _FlavorUnreadable as error:
            return replace(observed, answer=Waiting(str(error), reasons.KUEUE_RESOURCE_FLAVOR_READ_FAILED))
        except KubeError as error:
            if is_refusal(error):
                message = f"The request for admission by Kueue failed: {error}"
                return replace(observed, answer=Waiting(message, reasons.KUEUE_ADMISSION_REQUEST_FAILED))
            logger.info("the request for admission by Kueue failed and will be retried: %s", error)
            return replace(observed, answer=_retry(str(error)))

    async def release(self, owner: Resource, *, is_evicted: bool = False) -> QueueObservation:
        """Delete the Workload of a resource without pods, so that Kueue returns its quota to the queue.

        Args:
            owner: The resource.
            is_evicted: Whether to return the Workload instead if Kueue does not queue the evicted resource again yet.

        Raises:
            KubeError: The API failed; repeating is harmless.
        """
        workload, queue = await self._read(owner), get_queue_name(owner)
        if workload is not None and state.is_controlled_by(workload, owner.uid):
            if is_evicted and isinstance(choose_requeue(workload, self._now()), Keep):
                return QueueObservation(queue, workload)
            await self._delete(workload)
        return QueueObservation(queue, is_released=True)

    async def give_back(self, owner: Resource) -> QueueObservation:
        """Return the quota of an evicted resource without pods, and keep its Workload.

        Raises:
            KubeError: The API failed; repeating is harmless.
        """
        workload = await self._read(owner)
        if workload is not None and state.is_controlled_by(workload, owner.uid) and state.holds_quota(workload):
            workload = await self._patch(workload, state.build_release_patch(workload, self._now()), "status")
        return QueueObservation(get_queue_name(owner), workload, is_released=True)

    async def mark_ready(self, owner: Resource, pods_by_role: Mapping[str, Sequence[Mapping[str, object]]]) -> None:
        """Record that all pods of a resource are ready, if they are.

        Raises:
            KubeError: The API failed; repeating is harmless.
        """
        workload = await self._read(owner)
        if workload is None or not state.is_controlled_by(workload, owner.uid):
            return
        if needs_ready_condition(workload, pods_by_role):
            with suppress(Conflict):  # the next reconcile reads it again
                await self._patch(workload, state.build_ready_patch(workload, self._now()), "status")

    async def mark_finished(self, owner: Resource, *, succeeded: bool, message: str) -> None:
        """Record that the pods of a resource have ended and are retained, so that Kueue returns their quota.

        If the API rejects that, the Workload is deleted instead.

        Raises:
            KubeError: The API failed; repeating is harmless.
        """
        workload = await self._read(owner)
        if workload is None or not state.is_controlled_by(workload, owner.uid):
            return
        if state.is_true(workload, state.FINISHED):
            return
        patch = state.build_finished_patch(workload, succeeded=succeeded, message=message, now=self._now())
        try:
            await self._patch(workload, patch, "status")
        except KubeError as error:
            if not is_refusal(error):
                raise
            logger.warning("could not mark the Workload as finished, so it is deleted instead: %s", error)
            await self._delete(workload)

    async def _ask(self, request: AdmissionRequest, is_started: bool) -> QueueObservation:
        owner = request.owner
        workload = await self._read(owner)
        queue = get_queue_name(owner)
        if is_started:
            return QueueObservation(queue, workload, Granted(await self._collect(owner, workload)))
        if queue is None:
            return await self._leave(request, workload)
        pod_sets = tuple(request.build_pod_sets())
        wanted = WantedWorkload(owner, queue, pod_sets)
        if workload is None:
            return await self._create(await self._add_priority(wanted))
        # A class that was deleted since does not matter to a resource that has been admitted.
        if isinstance(read_admission(workload, wanted, self._now()), Pending):
            wanted = await self._add_priority(wanted)
        return await self._follow(request, wanted, workload)

    async def _create(self, wanted: WantedWorkload) -> QueueObservation:
        try:
            workload = await self._client.create(WORKLOADS, wanted.to_document(), wanted.owner.namespace)
        except AlreadyExists:
            return QueueObservation(wanted.queue, None, _retry("The Workload was created a moment ago."))
        self._workloads.put_answer(copy_frame(workload))
        message = f"Waiting for Kueue admission in queue {wanted.queue}."
        return QueueObservation(wanted.queue, workload, Waiting(message))

    async def _follow(
        self, request: AdmissionRequest, wanted: WantedWorkload, workload: JsonObject
    ) -> QueueObservation:
        """Return the answer that an existing Workload contains, after the step that it requires."""
        match read_admission(workload, wanted, self._now()):
            case Admitted():
                # The pods are created from the present spec, which may have changed since the admission.
                present = _set_pod_sets(workload, wanted.pod_sets)
                answer = Granted(await self._collect(request.owner, present))
                return QueueObservation(wanted.queue, workload, answer)
            case Backoff(message, until):
                waiting = Waiting(message, after=until - self._now())
                return QueueObservation(wanted.queue, workload, waiting)
            case Pending(message, patch):
                if patch is not None:
                    workload = await self._patch(workload, patch)
                return QueueObservation(wanted.queue, workload, Waiting(message))
            case Stale(message, delete):
                if delete and not await self._drop(request, workload):
                    message = f"{message} The Workload is deleted when the pods of the resource have ended."
                    return QueueObservation(wanted.queue, None, Waiting(message, after=RETRY_INTERVAL))
                return QueueObservation(wanted.queue, None, _retry(message))

    async def _leave(self, request: AdmissionRequest, workload: JsonObject | None) -> QueueObservation:
        """Let a resource without a queue start. Its Workload remains if it has been admitted."""
        if workload is None or not state.is_controlled_by(workload, request.owner.uid):
            return QueueObservation(None, None, Granted())
        is_in_force = state.is_active(workload) and state.describe_eviction(workload) is None
        if is_in_force and state.is_true(workload, state.ADMITTED):
            return QueueObservation(None, workload, Granted())
        if await self._drop(request, workload):
            return QueueObservation(None, None, Granted())
        message = "The pods of the resource have not ended yet."
        return QueueObservation(None, workload, Waiting(message, after=RETRY_INTERVAL))

    async def _drop(self, request: AdmissionRequest, workload: JsonObject) -> bool:
        """Delete a Workload, unless pods use its quota; return whether it was deleted."""
        if await request.have_pods():
            return False
        await self._delete(workload)
        return True

    async def _collect(self, owner: Resource, workload: JsonObject | None) -> dict[str, TemplateChange]:
        """Return what the admission adds to the pods.

        Raises:
            AdmissionConflict: The additions contradict each other or the pod templates.
        """
        if workload is None or not state.is_controlled_by(workload, owner.uid):
            return {}
        flavors: dict[str, JsonObject] = {}
        for name in list_flavor_names(workload):
            try:
                flavors[name] = await self._client.get(RESOURCE_FLAVORS, name, None)
            except KubeError as error:
                if not is_refusal(error):
                    raise
                raise _FlavorUnreadable(f"The ResourceFlavor that Kueue assigned could not be read: {error}") from None
        return collect_changes(workload, flavors)

    async def _add_priority(self, wanted: WantedWorkload) -> WantedWorkload:
        named = find_priority_class(wanted.owner, wanted.pod_sets)
        return replace(wanted, priority=await self._priorities.read(named))

    async def _read(self, owner: Resource) -> JsonObject | None:
        key = _get_key(owner)
        try:
            workload = await self._client.get(WORKLOADS, key.name, key.namespace)
        except NotFound:
            self._workloads.forget(key)
            return None
        self._workloads.put_answer(copy_frame(workload))
        return workload

    async def _patch(self, workload: JsonObject, patch: JsonObject, subresource: str | None = None) -> JsonObject:
        metadata = workload["metadata"]
        answer = await self._client.patch(
            WORKLOADS, metadata["name"], metadata["namespace"], patch, subresource=subresource
        )
        self._workloads.put_answer(copy_frame(answer))
        return answer

    async def _delete(self, workload: JsonObject) -> None:
        metadata = workload["metadata"]
        key = ObjectKey(metadata["namespace"], metadata["name"])
        # NotFound: it is deleted. Conflict: another Workload of the same name has replaced it.
        with suppress(NotFound, Conflict):
            await self._client.delete(WORKLOADS, key.name, key.namespace, propagation="Background", uid=metadata["uid"])
        self._workloads.forget(key)


def _get_key(owner: Resource) -> ObjectKey:
    return ObjectKey(owner.namespace, build_workload_name(owner.kind, owner.name))


def _set_pod_sets(workload: JsonObject, pod_sets: Sequence[PodSet]) -> JsonObject:
    return {**workload, "spec": {**workload["spec"], "podSets": [each.to_document() for each in pod_sets]}}


def _retry(message: str) -> Waiting:
    return Waiting(message, reasons.KUEUE_ADMISSION_RETRIED, RETRY_INTERVAL)


@dataclass(frozen=True)
class _Default:
    """The default priority, and when it was read."""

    priority: Priority | None
    time: datetime


class Priorities:
    """The priority classes of the Kubernetes cluster.

    Args:
        client: The client of the API.
        now: The clock, in UTC.
    """

    def __init__(self, client: KubeClient, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._default: _Default | None = None
        self._has_warned = False

    async def read(self, named: PriorityClassName | None) -> Priority | None:
        """Return the priority that a class sets.

        Args:
            named: The class; None for the PriorityClass with `globalDefault`, which is read once per minute.

        Returns:
            The priority; None for the default of Kueue. It applies if there is no default class, or if the API does
            not permit the controller to list the classes.

        Raises:
            KubeError: The API failed, or the named class does not exist.
        """
        if named is not None:
            return read_priority(await self._client.get(_TYPES[named.kind], named.name, None), named.kind)
        now = self._now()
        if self._default is None or not timedelta(0) <= now - self._default.time < _VALIDITY:
            self._default = _Default(await self._read_default(), now)
        return self._default.priority

    async def _read_default(self) -> Priority | None:
        try:
            classes = (await self._client.list(PRIORITY_CLASSES)).items
        except Forbidden as error:
            level = logging.DEBUG if self._has_warned else logging.WARNING
            self._has_warned = True
            logger.log(
                level, "could not read the default PriorityClass, so the priority of Workloads ignores it: %s", error
            )
            return None
        return find_default_priority(classes)
