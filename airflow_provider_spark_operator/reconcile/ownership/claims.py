"""Ownership among controllers: a controller manages only resources that it has claimed.

`core.kubernetes.ownership` reads the claims. This module decides whether this controller may claim a resource.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ANNOTATION_CLAIM
from ...core.kubernetes.ownership import APACHE, LeaseReference, Tenure, find_owner, read_tenure
from ...core.kubernetes.pods import get_object, get_text
from ...core.states import reasons
from ...core.states.states import ApplicationState
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, NotFound
from ...kube.resources import LEASES
from ..objects.cache import ObjectKey, key_of
from ..objects.kinds import Kind
from ..reports.events import NORMAL, WARNING, EventRecorder, ResourceEvent
from ..settings.settings import TakeoverSettings

logger = logging.getLogger(__name__)

RECHECK_INTERVAL = timedelta(seconds=30)
"""The time after which a resource of another controller is checked again."""
# A Lease is read once for all resources that are checked within this time.
_LEASE_LIFETIME = timedelta(seconds=5)
REPORT_SECONDS = 2.0
# Counting 10,000 resources takes tens of milliseconds. This is the most that counts may use of a core.
_SHARE_OF_COUNTS = 0.005


class ManagedElsewhere(Exception):
    """Another controller manages the resource; str() is a sentence that names the controller."""


def read_state(resource: Mapping[str, Any]) -> str | None:
    """Return the state in the status of a resource; None if there is none."""
    state = get_text(get_object(get_object(resource.get("status")).get("currentState")).get("currentStateSummary"))
    return state or None


def is_settled(resource: Mapping[str, Any]) -> bool:
    """Whether an application has released all its resources and no controller must delete it."""
    if read_state(resource) != ApplicationState.RESOURCE_RELEASED or resource["metadata"].get("deletionTimestamp"):
        return False
    time_to_live = get_object(get_object(resource.get("spec")).get("applicationTolerations")).get("ttlAfterStopMillis")
    return not isinstance(time_to_live, int) or time_to_live < 0


class Standing(Enum):
    """The relation of this controller to a resource."""

    CLAIMED = auto()
    """The resource is claimed by this controller, or new: the precondition of the first write makes it the claim."""
    FREE = auto()
    """No other controller manages the resource. It must be read and claimed before the first write."""
    FOREIGN = auto()
    """Another controller has managed the resource last."""
    SETTLED = auto()
    """Another controller has managed the resource, and no controller has to do anything for it."""


@dataclass(frozen=True)
class ClaimCounts:
    """The number of resources of one kind by the controller that manages them.

    Attributes:
        claimed: Managed by this controller, or by none.
        waiting: Last managed by another controller. This controller has not yet checked whether it may claim them.
        left_alone: Managed by another controller that may still be running.
    """

    claimed: int
    waiting: int
    left_alone: int

    def __str__(self) -> str:
        """Return the numbers for the log, without those of other controllers that are 0."""
        others = {
            "belong to other controllers, and this controller checks whether it may claim them": self.waiting,
            "are left alone, because other controllers that may be running manage them": self.left_alone,
        }
        parts = [f"this controller manages {self.claimed}", *(f"{n} {what}" for what, n in others.items() if n)]
        return "; ".join(parts)


class Claims:
    """The resources of one kind that this controller manages.

    Attributes:
        own: The Lease of this controller.
        settings: How to treat other controllers. Can be changed at any time.

    Args:
        client: The client of the API, with permission to get the Leases of other controllers.
        own: See above.
        kind: The kind of the resources.
        settings: See above.
        recorder: Writes Events.
        now: The clock, in UTC.
    """

    def __init__(
        self,
        client: KubeClient,
        own: LeaseReference,
        kind: Kind,
        settings: TakeoverSettings,
        recorder: EventRecorder,
        now: Callable[[], datetime],
    ) -> None:
        self.own = own
        self.settings = settings
        self._client = client
        self._kind = kind
        self._recorder = recorder
        self._now = now
        self._leases: dict[LeaseReference, tuple[datetime, Tenure | None]] = {}
        # The uids of the resources that were read after this process became the leader.
        self._confirmed: dict[ObjectKey, str] = {}
        # Why resources were left alone, and when others were taken over.
        self._objections: dict[ObjectKey, str] = {}
        self._takeovers: dict[ObjectKey, datetime] = {}

    def judge(self, resource: JsonObject) -> Standing:
        """Return the relation of this controller to a resource as the watch shows it."""
        owner, metadata = find_owner(resource), resource["metadata"]
        if owner not in (None, str(self.own)):
            return Standing.SETTLED if is_settled(resource) and not self.settings.take_over else Standing.FOREIGN
        finalizers = metadata.get("finalizers") or ()
        is_new = owner is None and not resource.get("status") and self._kind.finalizer not in finalizers
        is_confirmed = self._confirmed.get(key_of(resource)) == metadata.get("uid") and owner is not None
        return Standing.CLAIMED if is_new or is_confirmed else Standing.FREE

    def count(self, resources: Iterable[JsonObject]) -> ClaimCounts:
        """Count resources by the controller that manages them."""
        standings = [(self.judge(each), key_of(each)) for each in resources]
        foreign = [key for standing, key in standings if standing is Standing.FOREIGN]
        claimed = sum(standing in (Standing.CLAIMED, Standing.FREE) for standing, _ in standings)
        left_alone = sum(key in self._objections for key in foreign)
        return ClaimCounts(claimed, len(foreign) - left_alone, left_alone)

    async def require_claimable(self, resource: JsonObject) -> None:
        """Leave a resource alone if another controller that may be running has managed it last.

        Raises:
            ManagedElsewhere: The other controller may be running, and this one must not take over.
            KubeError: The API failed.
        """
        owner = find_owner(resource)
        if owner in (None, str(self.own)):
            return
        key, objection = key_of(resource), await self._find_objection(resource, owner or "")
        if objection is None:
            return
        if self._objections.get(key) != objection:
            self._record(resource, WARNING, reasons.DRIVEN_BY_ANOTHER, f"left alone: {objection}")
        self._objections[key] = objection
        raise ManagedElsewhere(objection)

    def build_claim(self, resource: JsonObject) -> JsonObject:
        """Build the annotation that claims a resource; empty if this controller has claimed it.

        The time makes each value a new one, so that the API server records the write.
        """
        if find_owner(resource) == str(self.own):
            return {}
        value = f"{self.own} {resource['metadata'].get('uid')} {self._now().isoformat(timespec='seconds')}"
        return {"annotations": {ANNOTATION_CLAIM: value}}

    def confirm(self, resource: JsonObject) -> None:
        """Record that this controller has claimed a resource; `resource` is the state before."""
        key, owner = key_of(resource), find_owner(resource)
        if owner not in (None, str(self.own)):
            self._takeovers[key] = self._now()
            self._record(resource, NORMAL, reasons.TAKEN_OVER, f"taken over from {_name(owner)}")
        self._confirmed[key] = resource["metadata"].get("uid", "")
        self._objections.pop(key, None)

    def forget(self, key: ObjectKey) -> None:
        """Drop all records about a resource that does not exist any more."""
        for records in (self._confirmed, self._objections, self._takeovers):
            records.pop(key, None)

    def release_all(self) -> None:
        """Drop all claims: another replica manages the resources from now on."""
        self._confirmed.clear()

    async def _find_objection(self, resource: JsonObject, owner: str) -> str | None:
        """Return why a resource of another controller must not be claimed, and what to do; None if it can be."""
        name = _name(owner)
        if self.settings.take_over:
            taken = self._takeovers.get(key_of(resource))
            if taken is None or self._now() - taken >= RECHECK_INTERVAL:
                return None
            return f"{name} still manages this resource after the takeover. Stop that controller"
        lease = LeaseReference.parse(owner) or self.settings.lease
        advice = "Stop that controller, then set takeOver: true or start this controller with --take-over"
        if lease is None:
            return f"{name} managed this resource last, and no Lease shows whether it is still running. {advice}"
        if lease == self.own:
            return None  # controllers that share a Lease are never active at the same time
        try:
            tenure = await self._read_tenure(lease)
        except Forbidden as error:
            return f"could not check whether {name} is still running: {error}"
        if tenure is None and owner == APACHE:  # the setting may be wrong
            return (
                f"{name} managed this resource last, but the Lease {lease}, which the setting otherControllerLease "
                f"names, does not exist. Correct the setting. Or: {advice}"
            )
        if tenure is None or not tenure.is_held(self._now()):
            return None
        return (
            f"{name} manages this resource: {tenure.holder} holds the Lease {lease}. Stop that controller; this "
            "controller then takes over. If the Lease stays held, set takeOver: true or start this controller with "
            "--take-over"
        )

    async def _read_tenure(self, lease: LeaseReference) -> Tenure | None:
        now = self._now()
        self._leases = {key: known for key, known in self._leases.items() if now - known[0] < _LEASE_LIFETIME}
        if lease not in self._leases:
            try:
                tenure = read_tenure(await self._client.get(LEASES, lease.name, lease.namespace))
            except NotFound:
                tenure = None
            self._leases[lease] = now, tenure
        return self._leases[lease][1]

    def _record(self, resource: JsonObject, event_type: str, reason: str, message: str) -> None:
        level = logging.INFO if event_type == NORMAL else logging.WARNING
        logger.log(level, message, extra={self._kind.noun: str(key_of(resource))})
        self._recorder.record(ResourceEvent(resource, event_type, reason, message, self._now()))


async def report_claims(counts: Mapping[str, Callable[[], ClaimCounts]]) -> None:
    """Log the counts of each kind, at the start and when the resources of other controllers change; until cancelled."""
    reported: dict[str, tuple[int, int]] = {}
    pause = REPORT_SECONDS
    while counts:
        await asyncio.sleep(pause)
        began = time.process_time()
        for kind, count in counts.items():
            found = count()
            others = found.waiting, found.left_alone
            if reported.get(kind) != others:
                reported[kind] = others
                logger.info("%s: %s", kind, found)
        pause = max(REPORT_SECONDS, (time.process_time() - began) / _SHARE_OF_COUNTS)


def _name(owner: str | None) -> str:
    return "the Apache operator" if owner == APACHE else f"the controller with the Lease {owner}"
