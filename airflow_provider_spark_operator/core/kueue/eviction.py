"""What becomes of the Workload of a resource whose pods were stopped after an eviction."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from ..kubernetes.json_object import KubernetesObject
from . import state

DEACTIVATED_INTERVAL: Final = timedelta(seconds=1800)
"""The time after which a deactivated Workload is read again, in case the watch did not report its reactivation."""


@dataclass(frozen=True)
class Keep:
    """Keep the Workload, and wait.

    Attributes:
        message: Why the resource waits.
        after: The time after which to look again.
    """

    message: str
    after: timedelta


@dataclass(frozen=True)
class Replace:
    """Delete the Workload, so that the resource is queued again."""


Requeue: TypeAlias = Keep | Replace


def choose_requeue(workload: KubernetesObject | None, now: datetime) -> Requeue:
    """Return what becomes of the Workload of a resource without pods.

    Args:
        workload: The Workload; None if it does not exist.
        now: The time, with an offset.
    """
    if workload is None:
        return Replace()
    if not state.is_active(workload):
        return Keep("The Workload is deactivated (spec.active is false).", DEACTIVATED_INTERVAL)
    until = state.read_requeue_time(workload)
    if until is not None and until > now:
        return Keep(f"Kueue queues the resource again at {until.isoformat()}.", until - now)
    return Replace()
