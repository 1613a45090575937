"""The reconciler of every kind: read a resource, observe, decide, apply the decision, write the status.

What differs between the kinds is behind an `Adapter`: `applications.py` and `clusters.py`.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import ClassVar, Generic, TypeAlias, TypeVar

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.problems import InvalidResource
from ...core.lifecycle.cluster_decision import ClusterAction, ClusterDecision
from ...core.lifecycle.decision import Action, AddFinalizer, Decision, RemoveFinalizer, Settings
from ...core.lifecycle.decisive_fields import is_shortened
from ...core.models.application import SparkApplication
from ...core.models.cluster import ClusterStatus, SparkCluster
from ...core.models.status import ApplicationStatus
from ...core.states import reasons
from ...core.states.states import ApplicationState
from ...kube.client import KubeClient
from ...kube.errors import BadRequest, Conflict, Invalid, KubeError
from ..attempts.attempt import ReconcileLater
from ..kueue.queue_actions import QueueActions
from ..objects.cache import ObjectKey, key_of
from ..ownership.claims import Standing
from ..reports import events
from ..serving.metrics import Metrics
from .resources import ResourceChanged, Resources, build_status_patch

logger = logging.getLogger(__name__)

# Each modification of the resource restarts the reconcile. This is the maximum number of restarts.
_MAX_READS = 5
# A reconcile needs one decision each before and after a live read and a creation; more would be a loop.
_MAX_DECISIONS = 6
# A large resource is read from the API, and needs several megabytes during its reconcile. Further ones wait, with their
# workers: a lower number would delay all other resources.
_MAX_LARGE = 16
# A reconcile that changed nothing and requests an immediate requeue would keep a worker busy.
_MIN_PAUSE = timedelta(seconds=1)

AnyAction: TypeAlias = Action | ClusterAction
AnyStatus: TypeAlias = ApplicationStatus | ClusterStatus
Model = TypeVar("Model", bound=SparkApplication | SparkCluster)
Observation = TypeVar("Observation")
AnyDecision = TypeVar("AnyDecision", bound=Decision | ClusterDecision)


@dataclass(frozen=True)
class Revision(Generic[Model]):
    """The state of a resource at the start of a reconcile.

    Attributes:
        document: The resource as the API shows it.
        model: The parsed resource.
        is_current: Whether the API has confirmed this state in this reconcile.
    """

    document: JsonObject
    model: Model
    is_current: bool


@dataclass(eq=False)
class Adapter(ABC, Generic[Model, Observation, AnyDecision]):
    """One kind of resource, as the reconciler needs it.

    Attributes:
        client: The client of the API.
        resources: The resources of the kind.
        settings: The settings that decisions depend on. They can be changed at any time, except the operator's name.
        recorder: Writes Events.
        metrics: Count transitions and errors.
        queue_actions: Carries out the actions that concern Kueue.
        now: The clock, in UTC.
        notices: The reasons of decisions that are recorded as Events although nothing changes, with the type of the
            Event.
    """

    client: KubeClient
    resources: Resources
    settings: Settings
    recorder: events.EventRecorder
    metrics: Metrics
    queue_actions: QueueActions
    now: Callable[[], datetime]
    notices: ClassVar[Mapping[str, str]]

    @abstractmethod
    def parse(self, resource: JsonObject) -> Model:
        """Parse a resource.

        Raises:
            InvalidResource: The resource does not match its schema.
        """

    @abstractmethod
    def observe(self, model: Model) -> Observation:
        """Return the known objects of the resource, without a request to the API."""

    @abstractmethod
    def decide(self, model: Model, observed: Observation, now: datetime) -> AnyDecision:
        """Return what to do next."""

    @abstractmethod
    async def apply(self, action: AnyAction, revision: Revision[Model], observed: Observation) -> Observation:
        """Carry out one action; the reconciler adds and removes finalizers itself.

        Returns:
            The observation after the action. It is `observed` itself unless another decision is needed.

        Raises:
            ResourceChanged: The resource has changed since it was read.
            ReconcileLater: The action must be repeated later.
            KubeError: The API failed.
        """

    @abstractmethod
    def refuse(self, resource: JsonObject, message: str, now: datetime) -> AnyStatus | None:
        """Return the status of a resource that cannot be parsed; None to leave the status unchanged."""

    @abstractmethod
    async def has_workload(self, resource: JsonObject) -> bool:
        """Whether the resource has a driver or a master, by a live read."""

    @abstractmethod
    async def has_live_pods(self, resource: JsonObject) -> bool:
        """Whether pods of a resource that cannot be parsed have not ended, by a live read."""

    async def clean_up(self, model: Model) -> None:
        """Delete the objects that must not outlive the resource, before its finalizer is removed; errors as `apply`."""

    async def complete(
        self,
        revision: Revision[Model],  # noqa: ARG002 - for the kinds that add something
        observed: Observation,  # noqa: ARG002
        decision: AnyDecision,
    ) -> AnyDecision:
        """Add data from the API to the decision before its status is written."""
        return decision

    def count_transition(self, model: Model, status: AnyStatus) -> None:
        """Count the transition from the status of `model` to the written `status` in the metrics."""

    async def release_quota(self, resource: JsonObject) -> None:
        """Return the quota of a resource that cannot be parsed and has no pods; errors as `apply`."""
        await self.queue_actions.release_refused(resource, partial(self.has_live_pods, resource))

    async def require_current(self, revision: Revision[Model]) -> None:
        """Check with the API that a resource has not changed since it was read, unless this is known.

        Raises:
            ResourceChanged: The resource has changed.
            KubeError: The API failed.
        """
        if not revision.is_current:
            await self.resources.require_current(revision.document)


class _Unclaimed(Exception):
    """Another controller may manage the resource: it must be claimed first."""


class Reconciler(Generic[Model, Observation, AnyDecision]):
    """Reconciles the resources of one kind. Two reconciles of the same key must not run concurrently.

    Nothing is kept between two reconciles except in the caches: the process can be killed at any point,
    and another one continues.

    Args:
        adapter: The kind of the resources.
    """

    def __init__(self, adapter: Adapter[Model, Observation, AnyDecision]) -> None:
        self._adapter = adapter
        self._resources = adapter.resources
        self._recorder = adapter.recorder
        self._now = adapter.now
        self._large = asyncio.Semaphore(_MAX_LARGE)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        """Reconcile the resource `key`.

        Returns:
            The time after which to reconcile it again; None to wait for a change.

        Raises:
            ReconcileLater: The reconcile must be repeated later.
            ManagedElsewhere: Another controller manages the resource.
            KubeError: The API failed; the reconcile must be repeated.
        """
        is_current = False
        for _ in range(_MAX_READS):
            resource = self._resources.get(key)
            if resource is None:
                self._resources.forget_claim(key)
                return None
            try:
                return await self._reconcile_once(resource, is_current)
            except ResourceChanged:
                is_current = True
            except (_Unclaimed, Conflict):
                await self._resources.claim(key)
                is_current = True
        raise ReconcileLater(f"{key} changed during each of {_MAX_READS} reads")

    async def _reconcile_once(self, resource: JsonObject, is_current: bool) -> timedelta | None:
        standing = self._resources.judge(resource)
        if standing is Standing.SETTLED:
            return None
        if standing is Standing.FOREIGN:
            raise _Unclaimed
        if is_shortened(resource):
            async with self._large:
                whole = await self._resources.refresh(key_of(resource))
                if whole is None:
                    raise ResourceChanged
                return await self._reconcile_once(whole, is_current=True)
        is_claimed = standing is Standing.CLAIMED
        try:
            revision = Revision(resource, self._adapter.parse(resource), is_current)
        except InvalidResource as problems:
            if not is_claimed:
                raise _Unclaimed from None
            await self._handle_invalid(resource, problems)
            return None
        observed = self._adapter.observe(revision.model)
        decision = self._adapter.decide(revision.model, observed, self._now())
        if not is_claimed and self._has_effect(resource, decision):
            raise _Unclaimed
        return await self._carry_out(revision, observed, decision)

    def _has_effect(self, resource: JsonObject, decision: AnyDecision) -> bool:
        if decision.actions or decision.reason in self._adapter.notices:
            return True
        return decision.status is not None and build_status_patch(resource, decision.status.to_document()) is not None

    async def _carry_out(
        self, revision: Revision[Model], observed: Observation, decision: AnyDecision
    ) -> timedelta | None:
        for _ in range(_MAX_DECISIONS):
            known = observed
            observed = await self._apply_all(decision, revision, observed)
            if observed is known:
                completed = await self._adapter.complete(revision, observed, decision)
                has_changed = await self._write_status(revision, completed)
                return _limit_requeue(decision.requeue_after, has_changed or bool(decision.actions))
            decision = self._adapter.decide(revision.model, observed, self._now())
        raise ReconcileLater(
            f"could not reconcile {key_of(revision.document)}: one reconcile did not finish within {_MAX_DECISIONS} "
            f"steps (last step: {decision.reason})"
        )

    async def _apply_all(self, decision: AnyDecision, revision: Revision[Model], observed: Observation) -> Observation:
        try:
            for action in decision.actions:
                observed = await self._apply(action, revision, observed)
        except KubeError as error:
            self._record_failure(revision.document, events.name_failure(revision.model), error)
            raise
        return observed

    async def _apply(self, action: AnyAction, revision: Revision[Model], observed: Observation) -> Observation:
        match action:
            case AddFinalizer():
                await self._resources.add_finalizer(revision.document)
                raise ResourceChanged
            case RemoveFinalizer():
                await self._adapter.clean_up(revision.model)
                await self._resources.remove_finalizer(revision.document)
                return observed
        return await self._adapter.apply(action, revision, observed)

    async def _write_status(self, revision: Revision[Model], decision: AnyDecision) -> bool:
        """Write the changes of the status; return whether there were any."""
        status, document = decision.status, revision.document
        if status is None:
            if event_type := self._adapter.notices.get(decision.reason):
                self._record(document, event_type, decision.reason, decision.message)
                if decision.actions:  # an action without a change of the state would leave no trace in the log
                    context = {self._resources.kind.noun: str(key_of(document))}
                    logger.warning("%s: %s", decision.reason, decision.message, extra=context)
            return False
        patch = build_status_patch(document, status.to_document())
        if patch is None:
            return False
        try:
            await self._resources.patch(document, patch, subresource="status")
        except KubeError as error:
            self._record_failure(document, reasons.STATUS_UPDATE_FAILED, error)
            raise
        self._adapter.count_transition(revision.model, status)
        before, state = revision.model.status, status.current_state
        if before is None or before.current_state != state:
            self._record_state(document, status, decision, is_new=before is None)
        return True

    def _record_state(self, resource: JsonObject, status: AnyStatus, decision: AnyDecision, *, is_new: bool) -> None:
        state, kind = status.current_state, self._resources.kind
        word = state.current_state_summary
        logger.info("%s: %s", word, decision.message or decision.reason, extra={kind.noun: str(key_of(resource))})
        if is_new and word == ApplicationState.SUBMITTED:
            return  # the Event would only say that the resource exists
        event_type = events.WARNING if word in kind.warning_states else events.NORMAL
        # Without the lines of the driver's log, which the message of the state may contain.
        message = decision.message or f"{kind.noun.capitalize()} is {word}"
        self._record(resource, event_type, word, message)

    def _record_failure(self, resource: JsonObject, reason: str, error: KubeError) -> None:
        if events.is_reported(reason, error):
            self._record(resource, events.WARNING, reason, f"{error}; the controller retries")

    def _record(self, resource: JsonObject, event_type: str, reason: str, message: str) -> None:
        self._recorder.record(events.ResourceEvent(resource, event_type, reason, message, self._now()))

    async def _handle_invalid(self, resource: JsonObject, problems: InvalidResource) -> None:
        """Report the problems of a resource that cannot be parsed, and write its final status.

        A resource that is being deleted loses its finalizer instead. Only a change of the resource leads to another
        reconcile.

        Raises:
            KubeError: The API failed; the reconcile must be repeated.
        """
        kind, context = self._resources.kind, {self._resources.kind.noun: str(key_of(resource))}
        event = events.build_invalid_event(resource, problems, self._now())
        self._adapter.metrics.count_error(kind.type.kind, event.reason)
        logger.error("invalid %s: %s", kind.noun, event.message, extra=context)
        if self._resources.is_being_finalized(resource):
            await self._resources.remove_finalizer(resource)
            return
        self._recorder.record(event)
        try:
            await self._refuse(resource, event.message)
        except (BadRequest, Invalid) as error:
            # The current CRD rejects the stored resource, or its name is not valid.
            logger.warning("could not write the status of the invalid %s: %s", kind.noun, error, extra=context)

    async def _refuse(self, resource: JsonObject, message: str) -> None:
        """Write the final status of a resource without a workload, so that no client waits for it indefinitely."""
        status = self._adapter.refuse(resource, message, self._now())
        patch = None if status is None else build_status_patch(resource, status.to_document())
        # A creation that was interrupted before the status was written may have left a running workload.
        if patch is not None and not await self._adapter.has_workload(resource):
            await self._adapter.release_quota(resource)
            await self._resources.patch(resource, patch, subresource="status")


def _limit_requeue(requeue_after: timedelta | None, has_changed: bool) -> timedelta | None:
    return requeue_after if has_changed or requeue_after is None else max(requeue_after, _MIN_PAUSE)
