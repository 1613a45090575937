"""The observed place of an application or cluster in a queue, and the next step and its actions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from ..kubernetes.json_object import KubernetesObject
from ..states import reasons
from . import state
from .assignment import TemplateChange

RETRY_INTERVAL: Final = timedelta(seconds=5)
"""The time after which a request is repeated that failed for a short time, or whose Workload had to be deleted."""


@dataclass(frozen=True)
class Granted:
    """The pods can be created.

    Attributes:
        changes: What the admission adds to the pods of each role.
    """

    changes: Mapping[str, TemplateChange] = field(default_factory=dict)


@dataclass(frozen=True)
class Waiting:
    """The pods must not be created yet.

    Attributes:
        message: Why the resource waits.
        reason: A constant of `core.states.reasons`.
        after: The time after which to ask again; None for the regular interval of the controller.
    """

    message: str
    reason: str = reasons.KUEUE_ADMISSION_PENDING
    after: timedelta | None = None


@dataclass(frozen=True)
class Unsuitable:
    """The resource cannot be queued, or cannot run as Kueue has admitted it.

    Attributes:
        detail: A sentence that names the field and the cause.
        reason: SCHEDULING_FAILED, or SPEC_UNBUILDABLE if only an edit of the spec can help.
    """

    detail: str
    reason: str = reasons.SCHEDULING_FAILED


QueueAnswer: TypeAlias = Granted | Waiting | Unsuitable


@dataclass(frozen=True)
class QueueObservation:
    """The Workload of a resource, and the outcome of the actions of this pass.

    Attributes:
        queue: The queue that the labels of the resource name; None if they name none.
        workload: The Workload as the cache or the last request shows it; None if the resource has none.
        answer: The outcome of `RequestAdmission` in this pass, None before it.
        is_released: Whether this pass has released the quota.
    """

    queue: str | None = None
    workload: KubernetesObject | None = None
    answer: QueueAnswer | None = None
    is_released: bool = False

    @property
    def may_have_workload(self) -> bool:
        """Whether the resource can have a Workload. The cache may not show the Workload of a resource in a queue."""
        return self.queue is not None or self.workload is not None


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


_AT_ONCE: Final = timedelta(0)


@dataclass(frozen=True)
class QueueStep:
    """What to do before anything else.

    Attributes:
        reason: A constant of `core.states.reasons`.
        message: A sentence for the user.
        after: The time after which to decide again; None for the regular interval of the controller.
        actions: What to do.
    """

    reason: str
    message: str
    after: timedelta | None = None
    actions: tuple[QueueAction, ...] = ()


def choose_admission_step(queue: QueueObservation | None, *, is_started: bool) -> QueueStep | Unsuitable | None:
    """Return what a resource must do before its pods are created; None if they can be created.

    Args:
        queue: The observation of the resource; None if the controller runs without Kueue.
        is_started: Whether the pods have been requested already.
    """
    if queue is None or not queue.may_have_workload:
        return None
    match queue.answer:
        case None:
            message = "The controller creates the Workload of the resource, or reads it if it exists."
            return QueueStep(reasons.KUEUE_ADMISSION_DUE, message, _AT_ONCE, (RequestAdmission(is_started),))
        case Granted():
            return None
        case Unsuitable() as unsuitable:
            return unsuitable
    return QueueStep(queue.answer.reason, queue.answer.message, queue.answer.after)


def choose_release_step(queue: QueueObservation | None) -> QueueStep | None:
    """Return how a resource without pods returns its quota; None if it has none.

    A resource whose queue label was removed still has its Workload.
    """
    if queue is None or queue.is_released or not queue.may_have_workload:
        return None
    return _return_quota(ReleaseQuota())


def choose_requeue_step(queue: QueueObservation | None, now: datetime) -> QueueStep | None:
    """Return what an evicted resource without pods must do before it is queued again; None if it can be queued.

    Args:
        queue: The observation of the resource; None if the controller runs without Kueue.
        now: The time, with an offset.
    """
    if queue is None:
        return None
    requeue = choose_requeue(queue.workload, now)
    if not isinstance(requeue, Keep):
        is_due = queue.may_have_workload and not queue.is_released
        return _return_quota(ReleaseQuota(is_evicted=True)) if is_due else None
    if queue.workload is not None and state.holds_quota(queue.workload) and not queue.is_released:
        return _return_quota(GiveBackQuota())
    return QueueStep(reasons.KUEUE_ADMISSION_PENDING, requeue.message, requeue.after)


def find_eviction(queue: QueueObservation | None) -> str | None:
    """Return why Kueue has evicted a resource; None if it has not, or if the controller runs without Kueue."""
    if queue is None or queue.workload is None:
        return None
    return state.describe_eviction(queue.workload)


def _return_quota(action: QueueAction) -> QueueStep:
    message = "The pods have ended; the quota is returned to the queue."
    return QueueStep(reasons.KUEUE_QUOTA_DUE, message, _AT_ONCE, (action,))


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
