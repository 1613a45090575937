"""The resources that this controller manages, and those that it leaves to other controllers."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, NotFound
from airflow_provider_spark_operator.kube.resources import LEASES
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectKey, key_of
from airflow_provider_spark_operator.reconcile.events import NORMAL, WARNING, EventRecorder, ResourceEvent
from airflow_provider_spark_operator.reconcile.kinds import Kind
from airflow_provider_spark_operator.reconcile.lease import LeaseReference, Tenure, read_tenure
from airflow_provider_spark_operator.reconcile.managers import (
    ControllerIdentity,
    build_claim_patch,
    find_last_manager,
    find_lease,
    find_objection,
    is_settled,
)
from airflow_provider_spark_operator.reconcile.settings import TakeoverSettings

logger = logging.getLogger(__name__)

RECHECK_INTERVAL = timedelta(seconds=30)
"""The time after which a resource of another controller is checked again."""
# A lease is read once for all resources that are checked within this time.
_LEASE_LIFETIME = timedelta(seconds=5)
_REPORT_SECONDS = 2.0


class ManagedElsewhere(Exception):
    """Another controller manages the resource; str() is a sentence that names the controller."""


class Arbiter:
    """Decides whether this controller can take over resources of another controller.

    Attributes:
        own: The field manager of this controller.
        settings: How to treat other controllers. Can be changed at any time.

    Args:
        client: The client of the API, with permission to get the Leases of other controllers.
        identity: The identity of this controller.
        settings: See above.
        now: The clock, in UTC.
    """

    def __init__(
        self, client: KubeClient, identity: ControllerIdentity, settings: TakeoverSettings, now: Callable[[], datetime]
    ) -> None:
        self.own = identity.field_manager
        self.settings = settings
        self._client = client
        self._lease = identity.lease
        self._now = now
        self._leases: dict[LeaseReference, tuple[datetime, Tenure | None]] = {}

    async def find_objection(self, manager: str) -> str | None:
        """Return why resources of the field manager `manager` must not be taken over; None if they can be.

        Raises:
            KubeError: The API failed.
        """
        if self.settings.take_over:
            return None
        lease = find_lease(manager, self.settings.lease)
        if lease is not None and lease == self._lease:
            return None  # controllers that share a lease are never active at the same time
        try:
            tenure = None if lease is None else await self._read_tenure(lease)
        except Forbidden as error:
            return f"could not check whether {manager} is still running: {error}"
        return find_objection(manager, lease, tenure, self._now())

    async def _read_tenure(self, lease: LeaseReference) -> Tenure | None:
        now = self._now()
        known = self._leases.get(lease)
        if known is not None and now - known[0] < _LEASE_LIFETIME:
            return known[1]
        try:
            tenure = read_tenure(await self._client.get(LEASES, lease.name, lease.namespace))
        except NotFound:
            tenure = None
        self._leases[lease] = now, tenure
        return tenure


@dataclass(frozen=True)
class ClaimCounts:
    """The number of resources of one kind by the controller that manages them.

    Attributes:
        claimed: Managed by this controller, or new.
        waiting: Last managed by another controller. This controller has not yet checked whether it may claim them.
        left_alone: Managed by another controller that may still be running.
    """

    claimed: int
    waiting: int
    left_alone: int


class Claims:
    """The resources of one kind that this controller manages.

    Args:
        arbiter: Decides about resources of other controllers.
        kind: The kind of the resources.
        recorder: Writes Events.
        now: The clock, in UTC.
    """

    def __init__(self, arbiter: Arbiter, kind: Kind, recorder: EventRecorder, now: Callable[[], datetime]) -> None:
        self._arbiter = arbiter
        self._kind = kind
        self._recorder = recorder
        self._now = now
        # The uids of claimed resources.
        self._uids: dict[ObjectKey, str] = {}
        # Why resources were left alone.
        self._objections: dict[ObjectKey, str] = {}
        # The other managers that the watch shows, so that a resource that is left alone need not be read.
        self._foreign: dict[ObjectKey, str] = {}
        # Settled applications of other managers, which need no controller any more.
        self._settled: set[ObjectKey] = set()
        self._takeover_times: dict[ObjectKey, datetime] = {}

    def count(self, known: int) -> ClaimCounts:
        """Count the `known` resources of this kind by the controller that manages them."""
        others = self._foreign.keys() | self._settled
        waiting = (others if self._arbiter.settings.take_over else self._foreign.keys()) - self._objections.keys()
        claimed = known - len(others | self._objections.keys())
        return ClaimCounts(max(0, claimed), len(waiting), len(self._objections))

    def list_foreign(self) -> Iterable[ObjectKey]:
        """Return the resources that other controllers manage."""
        return (*self._foreign, *self._settled)

    def is_foreign(self, resource: JsonObject) -> bool:
        """Whether a resource of another controller must be claimed at once, although nothing is due.

        A resource that was taken over, and that the other controller has written since, is not taken over again
        immediately. Otherwise the two controllers would take over from each other indefinitely.
        """
        key = key_of(resource)
        if key not in self._foreign and not (self._arbiter.settings.take_over and key in self._settled):
            return False
        time = self._takeover_times.get(key)
        return time is None or self._now() - time >= RECHECK_INTERVAL

    def is_settled_elsewhere(self, resource: JsonObject) -> bool:
        """Whether an application of another controller needs no controller any more."""
        return key_of(resource) in self._settled

    def is_claimed(self, resource: JsonObject) -> bool:
        """Whether this controller has claimed the resource."""
        uid: str | None = resource["metadata"].get("uid")
        return self._uids.get(key_of(resource)) == uid

    def claim_if_new(self, resource: JsonObject) -> bool:
        """Claim a resource if no controller has managed it yet; return whether it was claimed.

        No live read is needed: if the known state is outdated, the precondition of the first write fails.
        """
        has_finalizer = self._kind.finalizer in (resource["metadata"].get("finalizers") or ())
        is_new = not resource.get("status") and not has_finalizer
        if is_new:
            self._add(resource)
        return is_new

    def build_patch(self, resource: JsonObject) -> JsonObject:
        """Build the patch that records on a resource that this controller manages it."""
        return build_claim_patch(resource, self._arbiter.own, self._now())

    def track_manager(self, document: JsonObject) -> None:
        """Record the manager of a resource that the watch shows; a resource of another manager loses its claim.

        Args:
            document: The resource with its managed fields.
        """
        key, manager = key_of(document), self._find_other_manager(document)
        self._foreign.pop(key, None)
        self._settled.discard(key)
        if manager is None:
            return
        self._uids.pop(key, None)
        if is_settled(document):
            self._settled.add(key)
            self._objections.pop(key, None)
        else:
            self._foreign[key] = manager

    def forget(self, key: ObjectKey) -> None:
        """Drop all records about a resource that does not exist any more."""
        for records in (self._uids, self._objections, self._foreign, self._takeover_times):
            records.pop(key, None)
        self._settled.discard(key)

    def release_all(self) -> None:
        """Drop all claims: another replica manages the resources from now on."""
        self._uids.clear()

    async def check_known_manager(self, resource: JsonObject) -> None:
        """Leave a resource alone if its manager, as the watch shows it, may be running.

        Raises:
            ManagedElsewhere: The other controller may be running.
            KubeError: The API failed.
        """
        manager = self._foreign.get(key_of(resource))
        if manager is not None:
            await self._leave_if_managed(resource, manager)

    async def check_live_manager(self, resource: JsonObject) -> str | None:
        """Leave a resource alone if its manager may be running.

        Args:
            resource: The resource as the API returned it last, with its managed fields.

        Returns:
            The other controller that the resource can be taken over from; None if there is none.

        Raises:
            ManagedElsewhere: The other controller may be running, and this one must not take over.
            KubeError: The API failed.
        """
        manager = self._find_other_manager(resource)
        if manager is not None:
            await self._leave_if_managed(resource, manager)
        return manager

    def claim(self, resource: JsonObject, former: str | None) -> None:
        """Claim a resource; `former` is the other controller that managed it last, if any."""
        if former is not None:
            self._takeover_times[key_of(resource)] = self._now()
            self._record(resource, NORMAL, reasons.TAKEN_OVER, f"taken over from {former}")
        self._add(resource)

    async def _leave_if_managed(self, resource: JsonObject, manager: str) -> None:
        objection = await self._arbiter.find_objection(manager)
        if objection is not None:
            self._leave(resource, objection)
            raise ManagedElsewhere(objection)

    def _find_other_manager(self, resource: JsonObject) -> str | None:
        manager = find_last_manager(resource, self._kind.finalizer, self._arbiter.own)
        return None if manager == self._arbiter.own else manager

    def _add(self, resource: JsonObject) -> None:
        key = key_of(resource)
        self._uids[key] = resource["metadata"].get("uid", "")
        self._objections.pop(key, None)
        self._foreign.pop(key, None)
        self._settled.discard(key)

    def _leave(self, resource: JsonObject, objection: str) -> None:
        key = key_of(resource)
        self._uids.pop(key, None)
        if self._objections.get(key) != objection:
            self._record(resource, WARNING, reasons.DRIVEN_BY_ANOTHER, f"left alone: {objection}")
        self._objections[key] = objection

    def _record(self, resource: JsonObject, event_type: str, reason: str, message: str) -> None:
        level = logging.INFO if event_type == NORMAL else logging.WARNING
        logger.log(level, message, extra={self._kind.noun: str(key_of(resource))})
        self._recorder.record(ResourceEvent(resource, event_type, reason, message, self._now()))


class ClaimReport:
    """Logs the counts of each kind, once after the start and when the counts of other controllers change.

    Args:
        counts: Functions that count the resources of a kind, by the name of the kind.
        interval: Seconds between two counts.
    """

    def __init__(self, counts: Mapping[str, Callable[[], ClaimCounts]], interval: float = _REPORT_SECONDS) -> None:
        self._counts = counts
        self._interval = interval
        self._reported: dict[str, tuple[int, int]] = {}

    async def run(self) -> None:
        """Report until cancelled."""
        while self._counts:
            await asyncio.sleep(self._interval)
            self.report()

    def report(self) -> None:
        """Log the counts of each kind that has changed."""
        for kind, count in self._counts.items():
            counts = count()
            others = counts.waiting, counts.left_alone
            if self._reported.get(kind) != others:
                self._reported[kind] = others
                logger.info(
                    "%s: %d managed by this controller; %d managed by other controllers and not yet checked; "
                    "%d managed by other controllers that may be running, so this controller leaves them alone",
                    kind,
                    counts.claimed,
                    counts.waiting,
                    counts.left_alone,
                )
