"""Leaving to other controllers what they drive: a live look at a resource before it is driven for the first time."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, NotFound
from airflow_provider_spark_operator.kube.resources import LEASES
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectKey, key_of
from airflow_provider_spark_operator.reconcile.events import NORMAL, WARNING, EventRecorder, Happening
from airflow_provider_spark_operator.reconcile.kinds import Kind
from airflow_provider_spark_operator.reconcile.lease import LeaseReference, Tenure, tenure_of
from airflow_provider_spark_operator.reconcile.rivals import (
    Identity,
    claim_patch,
    is_settled,
    last_driver,
    lease_of,
    objection,
)
from airflow_provider_spark_operator.reconcile.settings import RivalSettings

logger = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(seconds=30)
"""How long a resource that another controller drives is left alone before it is looked at again."""
# A lease is looked at once for all the resources that are looked at meanwhile.
_LEASE_SECONDS = timedelta(seconds=5)


class Rivalled(Exception):
    """A resource that another controller drives; str() is a sentence that names it."""


class Arbiter:
    """Finds out whether another controller lives.

    Args:
        client: may get the Leases of other controllers.
        identity: of this controller.
        settings: may be changed at any time.
        now: the clock, UTC.
    """

    def __init__(
        self, client: KubeClient, identity: Identity, settings: RivalSettings, now: Callable[[], datetime]
    ) -> None:
        self.own = identity.field_manager
        self.settings = settings
        self._client = client
        self._lease = identity.lease
        self._now = now
        self._leases: dict[LeaseReference, tuple[datetime, Tenure | None]] = {}

    async def objection(self, driver: str) -> str | None:
        """Why what the controller `driver` (a field manager) has driven is not to be driven by this one, if so.

        Raises:
            KubeError: the API failed.
        """
        if self.settings.take_over:
            return None
        lease = lease_of(driver, self.settings.lease)
        if lease is not None and lease == self._lease:
            return None  # those who share a lease exclude each other by it
        try:
            tenure = None if lease is None else await self._tenure(lease)
        except Forbidden as error:
            return f"could not check whether {driver} is still running: {error}"
        return objection(driver, lease, tenure, self._now())

    async def _tenure(self, lease: LeaseReference) -> Tenure | None:
        now = self._now()
        known = self._leases.get(lease)
        if known is not None and now - known[0] < _LEASE_SECONDS:
            return known[1]
        try:
            tenure = tenure_of(await self._client.get(LEASES, lease.name, lease.namespace))
        except NotFound:
            tenure = None
        self._leases[lease] = now, tenure
        return tenure


@dataclass(frozen=True)
class ClaimCounts:
    """How many resources of one kind are whose.

    Attributes:
        claimed: Managed by this controller, or new.
        waiting: Managed by another controller last; this one has not checked yet whether it may claim them.
        left_alone: Managed by another controller that may still be running.
    """

    claimed: int
    waiting: int
    left_alone: int


class Claims:
    """Which resources of one kind are driven by this controller.

    Args:
        arbiter: knows who lives.
        kind: The kind of the resources.
        recorder: takes what is worth telling the user.
        now: the clock, UTC.
    """

    def __init__(
        self,
        arbiter: Arbiter,
        kind: Kind,
        recorder: EventRecorder,
        now: Callable[[], datetime],
    ) -> None:
        self._arbiter = arbiter
        self._kind = kind
        self._recorder = recorder
        self._now = now
        self._held: dict[ObjectKey, str] = {}
        self._refused: dict[ObjectKey, str] = {}
        # Who else has driven what, as the watch shows it; by that, nothing has to be read of what is left alone.
        self._foreign: dict[ObjectKey, str] = {}
        # The same for settled applications, which need no controller any more.
        self._settled: set[ObjectKey] = set()
        self._taken: dict[ObjectKey, datetime] = {}

    def patch(self, resource: JsonObject) -> JsonObject:
        """The patch that records on a resource that this controller drives it."""
        return claim_patch(resource, self._arbiter.own, self._now())

    def count(self, known: int) -> ClaimCounts:
        """Whose the `known` resources of this kind are."""
        others = self._foreign.keys() | self._settled
        waiting = (others if self._arbiter.settings.take_over else self._foreign.keys()) - self._refused.keys()
        claimed = known - len(others | self._refused.keys())
        return ClaimCounts(max(0, claimed), len(waiting), len(self._refused))

    def foreign(self) -> Iterable[ObjectKey]:
        """The resources that other controllers drive."""
        return (*self._foreign, *self._settled)

    def is_foreign(self, resource: JsonObject) -> bool:
        """Whether to claim a resource at once, although nothing is due.

        One that was taken over and that the other controller has written since is not taken over again at once: two
        controllers would never come to rest.
        """
        key = key_of(resource)
        if key not in self._foreign and not (self._arbiter.settings.take_over and key in self._settled):
            return False
        taken = self._taken.get(key)
        return taken is None or self._now() - taken >= LOOK_AGAIN

    def is_claimed(self, resource: JsonObject) -> bool:
        """Whether this controller has claimed the resource."""
        uid: str | None = resource["metadata"].get("uid")
        return self._held.get(key_of(resource)) == uid

    def claim_if_new(self, resource: JsonObject) -> bool:
        """Claim a resource that no controller has managed yet; return whether it was one.

        No live read is needed: if the known state is outdated, the precondition of the first write fails.
        """
        is_new = not resource.get("status") and self._kind.finalizer not in (
            resource["metadata"].get("finalizers") or ()
        )
        if is_new:
            self._hold(resource)
        return is_new

    def notice(self, document: JsonObject) -> None:
        """Take what the watch shows, with its managed fields: what somebody else drives has to be claimed anew."""
        key, driver = key_of(document), self._stranger(document)
        self._foreign.pop(key, None)
        self._settled.discard(key)
        if driver is None:
            return
        self._held.pop(key, None)
        if is_settled(document):
            self._settled.add(key)
            self._refused.pop(key, None)
        else:
            self._foreign[key] = driver

    def forget(self, key: ObjectKey) -> None:
        """Drop what is remembered of a resource that is gone."""
        for remembered in (self._held, self._refused, self._foreign, self._taken):
            remembered.pop(key, None)
        self._settled.discard(key)

    def release(self) -> None:
        """Hold none any more: a replica drives them, and each has to be read before it is driven again."""
        self._held.clear()

    async def refuse_foreign(self, resource: JsonObject) -> None:
        """Leave a resource alone if the controller that drives it, by the watch, may be alive.

        Raises:
            Rivalled: it may.
            KubeError: the API failed.
        """
        driver = self._foreign.get(key_of(resource))
        if driver is not None:
            await self._refuse_if_alive(resource, driver)

    async def find_former(self, resource: JsonObject) -> str | None:
        """The controller to take a resource over from; None if nobody else has driven it last.

        Args:
            resource: just read from the API, with its managed fields.

        Raises:
            Rivalled: another one drives it, and this controller was not told to take over.
            KubeError: the API failed.
        """
        driver = self._stranger(resource)
        if driver is not None:
            await self._refuse_if_alive(resource, driver)
        return driver

    def take(self, resource: JsonObject, former: str | None) -> None:
        """Drive a resource from now on, which `former` has driven, if any other controller has."""
        if former is not None:
            self._taken[key_of(resource)] = self._now()
            self._tell(resource, NORMAL, reasons.TAKEN_OVER, f"taken over from {former}", former)
        self._hold(resource)

    async def _refuse_if_alive(self, resource: JsonObject, driver: str) -> None:
        problem = await self._arbiter.objection(driver)
        if problem is not None:
            self._refuse(resource, driver, problem)
            raise Rivalled(problem)

    def _stranger(self, resource: JsonObject) -> str | None:
        driver = last_driver(resource, self._kind.finalizer, self._arbiter.own)
        return None if driver == self._arbiter.own else driver

    def _hold(self, resource: JsonObject) -> None:
        key = key_of(resource)
        self._held[key] = resource["metadata"].get("uid", "")
        self._refused.pop(key, None)
        self._foreign.pop(key, None)
        self._settled.discard(key)

    def _refuse(self, resource: JsonObject, driver: str, problem: str) -> None:
        key = key_of(resource)
        self._held.pop(key, None)
        if self._refused.get(key) != problem:
            self._tell(resource, WARNING, reasons.DRIVEN_BY_ANOTHER, f"left alone: {problem}", driver)
        self._refused[key] = problem

    def _tell(self, resource: JsonObject, kind: str, reason: str, message: str, driver: str) -> None:
        level = logging.INFO if kind == NORMAL else logging.WARNING
        logger.log(level, message, extra={self._kind.noun: str(key_of(resource))})
        identity = f"{self._arbiter.own} {driver}"
        self._recorder.record(Happening(resource, kind, reason, message, identity, self._now()))
