"""Reports of failures of the controller itself: an Event, and the message of the resource's state."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from ...core.kubernetes.json_object import JsonObject
from ...core.states import reasons
from ...kube.errors import KubeError
from ..objects.cache import ObjectKey
from ..ownership.claims import Standing
from ..reports.events import WARNING, EventRecorder, ResourceEvent
from .resources import Resources, build_precondition

logger = logging.getLogger(__name__)

_MAX_CAUSE = 200


@dataclass(frozen=True)
class DefectReporter:
    """Shows on a resource why the controller does not make progress with it.

    Attributes:
        resources: The resources of one kind.
        recorder: Writes the Event.
        now: The clock, in UTC.
    """

    resources: Resources
    recorder: EventRecorder
    now: Callable[[], datetime]

    async def report(self, key: ObjectKey, defect: Exception) -> None:
        """Report each type of failure once; a failure to report is only logged.

        A deleted resource whose cleanup fails loses the finalizer instead: garbage collection deletes its dependents.
        """
        resource = self.resources.get(key)
        if resource is None or await self._release_if_deleted(key, resource, defect):
            return
        noun = self.resources.kind.noun
        cause = _describe_cause(defect)
        message = f"could not reconcile this {noun}: {cause}. The controller retries; its log has the details"
        if not isinstance(defect, KubeError):  # the reconciler has recorded a rejected request
            self._record(resource, reasons.RECONCILE_ERROR, message)
        try:
            await self._write(resource, message)
        except KubeError as error:
            logger.warning("could not write the status: %s", error, extra={noun: str(key)})

    async def _release_if_deleted(self, key: ObjectKey, resource: JsonObject, defect: Exception) -> bool:
        if not (self.resources.is_being_finalized(resource) and self.resources.judge(resource) is Standing.CLAIMED):
            return False
        context = {self.resources.kind.noun: str(key)}
        message = f"finalizer removed without cleanup: {_describe_cause(defect)}"
        logger.warning("%s", message, extra=context)
        self._record(resource, reasons.CLEANUP_ERROR, message)
        try:
            await self.resources.remove_finalizer(resource)
        except KubeError as error:
            logger.warning("could not remove the finalizer: %s", error, extra=context)
        return True

    def _record(self, resource: JsonObject, reason: str, message: str) -> None:
        self.recorder.record(ResourceEvent(resource, WARNING, reason, message, self.now()))

    async def _write(self, resource: JsonObject, message: str) -> None:
        patch = build_message_patch(resource, message)
        # A resource that is not claimed may be managed by another controller.
        if patch is not None and self.resources.judge(resource) is Standing.CLAIMED:
            await self.resources.patch(resource, patch, subresource="status")


def build_message_patch(resource: JsonObject, message: str) -> JsonObject | None:
    """Build the patch that sets the message of the resource's current state; None if the state has it already.

    A resource without a status gets the status of a new resource.
    """
    state = (resource.get("status") or {}).get("currentState")
    if state is None:
        submitted = {
            "currentStateSummary": "Submitted",
            "lastTransitionTime": resource["metadata"]["creationTimestamp"],
            "message": message,
        }
        status: JsonObject = {"currentState": submitted, "stateTransitionHistory": {"0": submitted}}
    elif state.get("message") == message:
        return None
    else:
        status = {"currentState": {"message": message}}
    return {"metadata": build_precondition(resource), "status": status}


def _describe_cause(defect: Exception) -> str:
    return f"{type(defect).__name__}: {defect}"[:_MAX_CAUSE]
