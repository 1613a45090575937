"""Who leads among several controllers, by a Lease: what it says, and what is to be done about it. Pure.

The protocol is that of client-go's package `leaderelection`, which the Apache operator's library follows as well: who
renews the Lease holds it, and it is anybody's once it has not been renewed for as long as its holder has promised to.
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
"""The name that the Apache operator has for its own: two in one namespace share it, and exclude each other."""


@dataclass(frozen=True)
class LeaseReference:
    """Where a Lease is."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class LeaseTerms:
    """How a Lease is held; all in seconds, each shorter than the one before.

    Attributes:
        duration: others wait that long after the last renewal that they have seen.
        renew_deadline: its holder stops writing that long after its last renewal, well before anybody takes over.
        retry: time between two renewals, or two looks of those who wait.

    Raises:
        ValueError: they are not in that order.
    """

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew_deadline < self.duration:
            raise ValueError(
                f"the lease's retry ({self.retry:g} s) must be shorter than its renew deadline "
                f"({self.renew_deadline:g} s), and that shorter than its duration ({self.duration:g} s)"
            )


@dataclass(frozen=True)
class Tenure:
    """What a Lease says; `holder` is empty where nobody has it."""

    holder: str = ""
    duration: timedelta = timedelta(0)
    acquired: datetime | None = None
    renewed: datetime | None = None
    transitions: int = 0


class Step(StrEnum):
    """What somebody who wants to lead does next."""

    CREATE = "create"
    RENEW = "renew"
    TAKE = "take"
    STAND_BY = "stand by"


def tenure_of(lease: Mapping[str, Any]) -> Tenure:
    """Read a Lease; what is missing or makes no sense is as if nobody had said it."""
    spec = lease.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    return Tenure(
        holder=str(spec.get("holderIdentity") or ""),
        duration=timedelta(seconds=seconds if isinstance(seconds, int) else 0),
        acquired=read_time(spec.get("acquireTime")),
        renewed=read_time(spec.get("renewTime")),
        transitions=transitions if isinstance(transitions, int) else 0,
    )


def next_step(lease: Mapping[str, Any] | None, identity: str, unchanged_for: timedelta) -> Step:
    """What `identity` has to do to lead.

    Args:
        lease: as it was just read; None if there is none.
        identity: whose question it is.
        unchanged_for: since when it is known to this process as it is. Only that counts for its end: clocks of
            other machines may be wrong.
    """
    if lease is None:
        return Step.CREATE
    tenure = tenure_of(lease)
    if tenure.holder == identity:
        return Step.RENEW
    if not tenure.holder or unchanged_for >= tenure.duration:
        return Step.TAKE
    return Step.STAND_BY


def is_held(tenure: Tenure, now: datetime) -> bool:
    """Whether somebody is likely to hold a Lease that was seen but once.

    Twice the promised time has to be over, since the clock of its holder may be another one.
    """
    if not tenure.holder or tenure.renewed is None:
        return False
    return now < tenure.renewed + 2 * tenure.duration


def new_lease(reference: LeaseReference, identity: str, terms: LeaseTerms, now: datetime) -> JsonObject:
    """The Lease that `identity` creates to lead from `now` on."""
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": reference.name, "namespace": reference.namespace},
        "spec": _spec(Tenure(identity, _promised(terms), now, now)),
    }


def lease_patch(lease: JsonObject, identity: str, terms: LeaseTerms, now: datetime) -> JsonObject:
    """The merge patch by which `identity` renews or takes `lease`, if it is still as it was read."""
    known = tenure_of(lease)
    if known.holder == identity:
        tenure = Tenure(identity, _promised(terms), known.acquired or now, now, known.transitions)
    else:
        tenure = Tenure(identity, _promised(terms), now, now, known.transitions + 1)
    return {"metadata": _precondition(lease), "spec": _spec(tenure)}


def release_patch(lease: JsonObject, now: datetime) -> JsonObject:
    """The merge patch by which its holder lets `lease` go, so that the next one need not wait for its end."""
    known = tenure_of(lease)
    tenure = Tenure("", timedelta(seconds=1), known.acquired or now, now, known.transitions)
    return {"metadata": _precondition(lease), "spec": _spec(tenure)}


def _promised(terms: LeaseTerms) -> timedelta:
    return timedelta(seconds=math.ceil(terms.duration))  # the API takes whole seconds


def _precondition(lease: JsonObject) -> JsonObject:
    return {"resourceVersion": lease["metadata"]["resourceVersion"]}


def _spec(tenure: Tenure) -> JsonObject:
    return {
        "holderIdentity": tenure.holder,
        "leaseDurationSeconds": int(tenure.duration.total_seconds()),
        "acquireTime": _micro_time(tenure.acquired),
        "renewTime": _micro_time(tenure.renewed),
        "leaseTransitions": tenure.transitions,
    }


def _micro_time(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
