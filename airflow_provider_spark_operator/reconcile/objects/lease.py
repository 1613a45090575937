"""The Lease that shows whether a controller runs, and by which its replicas elect a leader: its content. Pure.

The protocol is that of client-go's package `leaderelection`, which the Apache operator's library also implements.
The holder renews the Lease. Any other controller can take a Lease that was not renewed for its duration.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.ownership import read_tenure
from ...kube.resources import LEASES

DEFAULT_LEASE = "spark-operator-lease"
"""The name that the Apache operator uses: two controllers in one namespace share it and exclude each other."""


@dataclass(frozen=True)
class LeaseTerms:
    """The durations of a Lease, in seconds, each shorter than the previous one.

    Attributes:
        duration: The time after the last known renewal for which other controllers wait.
        renew_deadline: The time after its last renewal at which the holder stops writing.
        retry: The time between two renewals, or between two checks of a standby.

    Raises:
        ValueError: The durations are not in this order.
    """

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew_deadline < self.duration:
            raise ValueError(
                f"the retry period of the lease ({self.retry:g} s) must be shorter than its renew deadline "
                f"({self.renew_deadline:g} s), which must be shorter than its duration ({self.duration:g} s)"
            )


def build_lease(lease: JsonObject | None, holder: str, terms: LeaseTerms, now: datetime) -> JsonObject:
    """Build the content by which `holder` takes or renews a Lease; without a holder, the Lease is released.

    Args:
        lease: The Lease as it was read. The write fails if it has changed; None to create it.
        holder: The identity of the holder.
        terms: The durations of the Lease.
        now: The time, in UTC.
    """
    known = read_tenure(lease or {})
    is_new_term = holder not in ("", known.holder)
    acquired = now if is_new_term else known.acquired or now
    spec = {
        "holderIdentity": holder,
        # The API takes whole seconds. Others need not wait for a released Lease.
        "leaseDurationSeconds": math.ceil(terms.duration) if holder else 1,
        "acquireTime": _format_time(acquired),
        "renewTime": _format_time(now),
        "leaseTransitions": known.transitions + (lease is not None and is_new_term),
    }
    if lease is None:
        return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "spec": spec}
    return {"metadata": {"resourceVersion": lease["metadata"]["resourceVersion"]}, "spec": spec}


def _format_time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
