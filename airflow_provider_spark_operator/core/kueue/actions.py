"""The actions of decisions that concern Kueue."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class RequestAdmission:
    """Create or read the Workload, then decide again with the answer.

    Attributes:
        is_started: Whether the pods have been requested already, so that only the changes of their templates matter.
    """

    is_started: bool = False


@dataclass(frozen=True)
class ReleaseQuota:
    """Delete the Workload of a resource whose pods do not exist any more, then decide again.

    Attributes:
        is_evicted: Whether to delete it only if Kueue can queue the resource again, by a live read: the known Workload
            may be outdated.
    """

    is_evicted: bool = False


@dataclass(frozen=True)
class GiveBackQuota:
    """Return the quota of a resource whose pods do not exist any more, but keep its Workload, then decide again."""


@dataclass(frozen=True)
class MarkPodsReady:
    """Record on the Workload that all pods are ready."""


@dataclass(frozen=True)
class MarkFinished:
    """Record on the Workload that its pods have ended and are retained.

    Attributes:
        succeeded: Whether they have succeeded.
        message: A sentence for the user.
    """

    succeeded: bool
    message: str


QueueAction: TypeAlias = RequestAdmission | ReleaseQuota | GiveBackQuota | MarkPodsReady | MarkFinished
