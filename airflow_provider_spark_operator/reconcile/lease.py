"""The Lease by which several controllers elect a leader: its content, and what to do next. Pure.

The protocol is that of client-go's package `leaderelection`, which the Apache operator's library also implements.
The holder renews the Lease. Any other controller can take a Lease that was not renewed for its duration.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from airflow_provider_spark_operator.core.times import read_time
from airflow_provider_spark_operator.kube.resources import LEASES
from airflow_provider_spark_operator.reconcile.cache import JsonObject

DEFAULT_LEASE = "spark-operator-lease"
"""The name that the Apache operator uses: two controllers in one namespace share it and exclude each other."""


@dataclass(frozen=True)
class LeaseReference:
    """The namespace and name of a Lease."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


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


@dataclass(frozen=True)
class Tenure:
    """The content of a Lease; `holder` is empty if no controller holds it."""

    holder: str = ""
    duration: timedelta = timedelta(0)
    acquired: datetime | None = None
    renewed: datetime | None = None
    transitions: int = 0


class Step(StrEnum):
    """The next step of a controller that takes part in the election."""

    CREATE = "create"
    RENEW = "renew"
    TAKE = "take"
    STAND_BY = "stand by"


def read_tenure(lease: Mapping[str, Any]) -> Tenure:
    """Read a Lease; missing and invalid fields are ignored."""
    spec = lease.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    return Tenure(
        holder=str(spec.get("holderIdentity") or ""),
        duration=timedelta(seconds=seconds if isinstance(seconds, int) else 0),
        acquired=read_time(spec.get("acquireTime")),
        renewed=read_time(spec.get("renewTime")),
        transitions=transitions if isinstance(transitions, int) else 0,
    )


def find_next_step(lease: Mapping[str, Any] | None, identity: str, unchanged_for: timedelta) -> Step:
    """Return the next step of `identity`.

    Args:
        lease: The Lease as the API returned it last; None if it does not exist.
        identity: The identity of this process.
        unchanged_for: The time for which this process has seen no change of the Lease. Only this time decides
            whether the Lease has expired: clocks of other machines may be wrong.
    """
    if lease is None:
        return Step.CREATE
    tenure = read_tenure(lease)
    if tenure.holder == identity:
        return Step.RENEW
    if not tenure.holder or unchanged_for >= tenure.duration:
        return Step.TAKE
    return Step.STAND_BY


def is_held(tenure: Tenure, now: datetime) -> bool:
    """Whether a Lease that was read once is probably held.

    It counts as held for twice its duration, since the clock of its holder may differ.
    """
    if not tenure.holder or tenure.renewed is None:
        return False
    return now < tenure.renewed + 2 * tenure.duration


def build_lease(reference: LeaseReference, identity: str, terms: LeaseTerms, now: datetime) -> JsonObject:
    """Build the Lease of `identity`, held from `now` on."""
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": reference.name, "namespace": reference.namespace},
        "spec": _build_spec(Tenure(identity, _round_duration(terms), now, now)),
    }


def build_lease_patch(lease: JsonObject, identity: str, terms: LeaseTerms, now: datetime) -> JsonObject:
    """Build the merge patch by which `identity` renews or takes `lease`; it fails if the Lease has changed."""
    known = read_tenure(lease)
    if known.holder == identity:
        tenure = Tenure(identity, _round_duration(terms), known.acquired or now, now, known.transitions)
    else:
        tenure = Tenure(identity, _round_duration(terms), now, now, known.transitions + 1)
    return {"metadata": _build_precondition(lease), "spec": _build_spec(tenure)}


def build_release_patch(lease: JsonObject, now: datetime) -> JsonObject:
    """Build the merge patch by which the holder releases `lease`, so that others need not wait until it expires."""
    known = read_tenure(lease)
    tenure = Tenure("", timedelta(seconds=1), known.acquired or now, now, known.transitions)
    return {"metadata": _build_precondition(lease), "spec": _build_spec(tenure)}


def _round_duration(terms: LeaseTerms) -> timedelta:
    return timedelta(seconds=math.ceil(terms.duration))  # the API takes whole seconds


def _build_precondition(lease: JsonObject) -> JsonObject:
    return {"resourceVersion": lease["metadata"]["resourceVersion"]}


def _build_spec(tenure: Tenure) -> JsonObject:
    return {
        "holderIdentity": tenure.holder,
        "leaseDurationSeconds": int(tenure.duration.total_seconds()),
        "acquireTime": _format_time(tenure.acquired),
        "renewTime": _format_time(tenure.renewed),
        "leaseTransitions": tenure.transitions,
    }


def _format_time(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
