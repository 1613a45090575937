"""The actions of decisions that concern Kueue, and their Events."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...core.kubernetes.json_object import JsonObject
from ...core.kueue import steps
from ...core.kueue.assignment import TemplateChange
from ...core.kueue.steps import Granted, QueueObservation
from ...core.kueue.workload import get_queue_name
from ...core.models.base import Resource
from ...core.models.parse import parse_model
from ...core.states import reasons
from ...kube.errors import KubeError, is_refusal
from ..reports.events import NORMAL, WARNING, EventRecorder, ResourceEvent
from .admissions import AdmissionRequest, Admissions

logger = logging.getLogger(__name__)

NOTICES: Mapping[str, str] = {
    reasons.KUEUE_ADMISSION_PENDING: NORMAL,
    reasons.KUEUE_ADMISSION_REQUEST_FAILED: WARNING,
    reasons.KUEUE_RESOURCE_FLAVOR_READ_FAILED: WARNING,
}
"""The reasons of decisions about queues that are recorded although nothing changes, with the type of the Event."""


@dataclass(frozen=True)
class QueueActions:
    """Carries out the actions of decisions that concern Kueue, for the resources of one kind.

    Attributes:
        admissions: The Workloads of the resources; None if the controller runs without Kueue.
        recorder: Writes Events.
        now: The clock, in UTC.
    """

    admissions: Admissions | None
    recorder: EventRecorder
    now: Callable[[], datetime]

    def observe(self, owner: Resource) -> QueueObservation | None:
        """Return what the cache shows of the queue of a resource; None if the controller runs without Kueue."""
        return None if self.admissions is None else self.admissions.observe(owner)

    async def apply(
        self,
        action: steps.QueueAction,
        document: JsonObject,
        request: AdmissionRequest,
        pods_by_role: Mapping[str, Sequence[Mapping[str, object]]],
    ) -> QueueObservation | None:
        """Carry out an action.

        Args:
            action: The action.
            document: The resource, for Events.
            request: What the resource asks for.
            pods_by_role: The pods of the resource by the name of their pod set.

        Returns:
            The observation after the action; None if it has not changed.

        Raises:
            KubeError: The API failed; repeating is harmless.
        """
        if self.admissions is None:
            return None
        match action:
            case steps.RequestAdmission(is_started):
                return await self._request(self.admissions, document, request, is_started)
            case steps.ReleaseQuota(is_evicted):
                return await self.admissions.release(request.owner, is_evicted=is_evicted)
            case steps.GiveBackQuota():
                return await self.admissions.give_back(request.owner)
            case steps.MarkPodsReady():
                await self._mark_ready(self.admissions, document, request.owner, pods_by_role)
            case steps.MarkFinished(succeeded, message):
                await self.admissions.mark_finished(request.owner, succeeded=succeeded, message=message)
        return None

    async def release_refused(self, document: JsonObject, have_pods: Callable[[], Awaitable[bool]]) -> None:
        """Delete the Workload of a resource that cannot be parsed, unless pods use its quota.

        If the API rejects that, the Workload is deleted with the resource.

        Args:
            document: The resource, with valid metadata.
            have_pods: Returns by a live read whether the resource has pods that have not ended.

        Raises:
            KubeError: The API failed; repeating is harmless.
        """
        owner = parse_model(Resource, document)
        observed = self.observe(owner)
        if self.admissions is None or steps.choose_release_step(observed) is None or await have_pods():
            return
        try:
            await self.admissions.release(owner)
        except KubeError as error:
            if not is_refusal(error):
                raise
            logger.warning("could not delete the Workload of an invalid resource: %s", error)

    def warn_if_disabled(self, document: JsonObject, owner: Resource) -> None:
        """Record that the queue label of a resource has no effect, if the controller runs without Kueue."""
        queue = get_queue_name(owner)
        if self.admissions is None and queue is not None:
            message = f"The queue {queue} is ignored: the controller runs without Kueue. Start it with --kueue."
            self._record(document, WARNING, reasons.KUEUE_DISABLED, message)

    async def _request(
        self, admissions: Admissions, document: JsonObject, request: AdmissionRequest, is_started: bool
    ) -> QueueObservation:
        observed = await admissions.request(request, is_started=is_started)
        if observed.queue is not None and isinstance(observed.answer, Granted) and not is_started:
            message = f"Kueue has admitted the resource to queue {observed.queue}."
            self._record(document, NORMAL, reasons.KUEUE_ADMITTED, message)
        return observed

    async def _mark_ready(
        self,
        admissions: Admissions,
        document: JsonObject,
        owner: Resource,
        pods_by_role: Mapping[str, Sequence[Mapping[str, object]]],
    ) -> None:
        try:
            await admissions.mark_ready(owner, pods_by_role)
        except KubeError as error:
            if not is_refusal(error):
                raise
            message = f"Could not report to Kueue that the pods are ready: {error}"
            self._record(document, WARNING, reasons.KUEUE_PODS_READY_FAILED, message)

    def _record(self, document: JsonObject, event_type: str, reason: str, message: str) -> None:
        self.recorder.record(ResourceEvent(document, event_type, reason, message, self.now()))


def get_changes(observed: QueueObservation | None) -> Mapping[str, TemplateChange]:
    """Return what the admission of this pass adds to the pods of each role."""
    answer = None if observed is None else observed.answer
    return answer.changes if isinstance(answer, Granted) else {}
