"""The leader election: a process that takes, renews and releases a Lease, and may write only while it holds it."""

import asyncio
import logging
import math
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.ownership import LeaseReference, read_tenure
from ...kube.call import Call
from ...kube.client import KubeClient
from ...kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from ...kube.resources import LEASES
from ..objects.clock import utc_now
from ..objects.lease import LeaseTerms, build_lease

logger = logging.getLogger(__name__)

_OTHER_LEASE = (
    ". Start the controller with --lease OTHER-NAMESPACE/NAME, so that it can remove the finalizers of the "
    "applications in this namespace"
)
_READ_VERBS = frozenset({"get", "list", "watch"})


class NotLeading(KubeError):
    """A write that was not sent: another controller may be the leader by now."""


class Leadership:
    """Whether this process is the leader, and until when.

    Leadership ends by itself at its deadline: writes stop without any further action.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deadline = -math.inf
        self._gained = asyncio.Event()
        self._lost = asyncio.Event()
        self._lost.set()

    @classmethod
    def without_election(cls) -> "Leadership":
        """Return permanent leadership, for a controller that is the only one."""
        leadership = cls()
        leadership.extend(math.inf)
        return leadership

    @property
    def is_held(self) -> bool:
        """Whether this process may write now."""
        return self.seconds_left > 0

    @property
    def seconds_left(self) -> float:
        """The seconds until the deadline; 0 or less if it has passed."""
        return self._deadline - self._clock()

    @property
    def has_lapsed(self) -> bool:
        """Whether the deadline has passed and `end` has not been called yet."""
        return self._gained.is_set() and not self.is_held

    def extend(self, deadline: float) -> None:
        """Be the leader until `deadline`, by the clock."""
        self._deadline = deadline
        self._lost.clear()
        self._gained.set()

    def end(self) -> None:
        """End the leadership."""
        self._deadline = -math.inf
        self._gained.clear()
        self._lost.set()

    async def wait_until_gained(self) -> None:
        """Wait until this process is the leader."""
        await self._gained.wait()

    async def wait_until_lost(self) -> None:
        """Wait until `end` is called."""
        await self._lost.wait()

    def check(self, call: Call) -> None:
        """Permit reads, and the writes of the leader.

        Raises:
            NotLeading: The call is a write, and this process is not the leader.
        """
        if call.verb in _READ_VERBS or self.is_held:
            return
        message = "this controller is not the leader, or could not renew its lease in time; the next leader continues"
        raise NotLeading(None, "NotLeading", message, call.verb, call.rbac_resource, call.namespace, call.name)


def create_identity() -> str:
    """Create a unique name for this process from the name of its pod or machine and a random number."""
    return f"{os.uname().nodename}_{secrets.token_hex(8)}"


class Elector:
    """Tries to hold a Lease, and shows in `leadership` whether it does.

    Args:
        client: The client of the API, with the permissions to get, create and patch the Lease. Its writes must not
            pass the check of `leadership`.
        lease: The namespace and name of the Lease.
        identity: The unique identity of this process.
        terms: The durations of the Lease.
        clock: A monotonic clock, in seconds.
        now: The clock for the times in the Lease, in UTC.
    """

    def __init__(
        self,
        client: KubeClient,
        lease: LeaseReference,
        identity: str,
        terms: LeaseTerms,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.leadership = Leadership(clock)
        self._client = client
        self._lease = lease
        self._identity = identity
        self._terms = terms
        self._clock = clock
        self._now = now
        # Only the time for which this process has seen no change decides whether the Lease has expired: clocks of other
        # machines may be wrong.
        self._known: JsonObject | None = None
        self._known_since = clock()
        self._logged = ""

    async def run(self) -> None:
        """Take or renew the Lease repeatedly until cancelled."""
        while True:
            pause = await self._try_once()
            if self.leadership.is_held:
                pause = min(pause, self.leadership.seconds_left)
            if not self.leadership.has_lapsed:
                await asyncio.sleep(pause)
            if self.leadership.has_lapsed:
                self._step_down(f"could not renew lease {self._lease} in time")

    async def release(self) -> None:
        """Release the Lease if it is held; called after the last write."""
        if not self.leadership.is_held:
            return
        self.leadership.end()
        try:
            async with asyncio.timeout(self._terms.renew_deadline):
                # A renewal that was interrupted may have reached the API.
                lease = await self._read()
                if read_tenure(lease or {}).holder == self._identity:
                    await self._write(lease, "")
        except (KubeError, TimeoutError) as error:
            logger.warning(
                "could not release lease %s: %s; other replicas wait until the lease expires", self._lease, error
            )
        else:
            logger.info("released lease %s", self._lease)

    async def _try_once(self) -> float:
        """Take or renew the Lease if possible; return the seconds after which to try again."""
        began = self._clock()
        # A renewal that ends after the deadline does not count.
        timeout = self.leadership.seconds_left if self.leadership.is_held else self._terms.renew_deadline
        try:
            async with asyncio.timeout(timeout):
                if await self._take_or_renew():
                    self._lead(began + self._terms.renew_deadline)
        except (Conflict, AlreadyExists, NotFound):
            # Another process has written or deleted the Lease.
            self._known = None
            return 0.0 if self.leadership.is_held else self._terms.retry
        except (KubeError, TimeoutError) as error:
            cause = str(error) or "the API did not answer in time"
            if "because it is being terminated" in cause:
                cause += _OTHER_LEASE
            self._log(f"could not acquire or renew lease {self._lease}: {cause}", logging.WARNING)
        except Exception:
            # If the election ended, there would be no leader any more.
            logger.exception("could not acquire or renew lease %s", self._lease)
        return self._terms.retry

    async def _take_or_renew(self) -> bool:
        """Take or renew the Lease if possible; return whether this process holds it."""
        # The holder does not read the Lease again: if another process has written it, the precondition fails.
        lease = self._known if self.leadership.is_held and self._known is not None else await self._read()
        tenure = read_tenure(lease or {})
        unchanged_for = self._clock() - self._known_since
        if tenure.holder not in ("", self._identity) and unchanged_for < tenure.duration.total_seconds():
            self._step_down(f"{tenure.holder} holds lease {self._lease}")
            return False
        await self._write(lease, self._identity)
        return True

    async def _read(self) -> JsonObject | None:
        try:
            lease = await self._client.get(LEASES, self._lease.name, self._lease.namespace)
        except NotFound:
            self._known = None
            return None
        self._remember(lease)
        return lease

    async def _write(self, known: JsonObject | None, holder: str) -> None:
        name, namespace = self._lease.name, self._lease.namespace
        document = build_lease(known, holder, self._terms, self._now())
        if known is None:
            self._remember(await self._client.create(LEASES, {**document, "metadata": {"name": name}}, namespace))
        else:
            self._remember(await self._client.patch(LEASES, name, namespace, document))

    def _remember(self, lease: JsonObject) -> None:
        """Store the Lease and, if it has changed, the time."""
        version = lease["metadata"].get("resourceVersion")
        if self._known is None or self._known["metadata"].get("resourceVersion") != version:
            self._known_since = self._clock()
        self._known = lease

    def _lead(self, deadline: float) -> None:
        if deadline <= self._clock():
            return
        if self.leadership.has_lapsed:
            # A write that was rejected in the meantime is repeated only by a new leader, which starts from the caches.
            self._step_down(f"renewed lease {self._lease} too late")
        self._log(f"became the leader: holds lease {self._lease} as {self._identity}")
        self.leadership.extend(deadline)

    def _step_down(self, reason: str) -> None:
        self.leadership.end()
        self._log(f"standing by: {reason}")

    def _log(self, message: str, level: int = logging.INFO) -> None:
        """Log a message unless the previous message was the same."""
        if message != self._logged:
            logger.log(level, message)
        self._logged = message


@asynccontextmanager
async def elect(elector: Elector) -> AsyncIterator[Leadership]:
    """Take part in the election while the body runs, then release the Lease; yield the leadership."""
    task = asyncio.create_task(elector.run())
    try:
        yield elector.leadership
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await elector.release()
