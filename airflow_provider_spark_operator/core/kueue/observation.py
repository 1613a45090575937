"""The observed place of a resource in a queue of Kueue."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeAlias

from ..kubernetes.json_object import KubernetesObject
from ..states import reasons
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
