"""What is told of a resource at which the controller itself fails: an Event, and the message of its state."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectKey
from airflow_provider_spark_operator.reconcile.events import WARNING, EventRecorder, Happening
from airflow_provider_spark_operator.reconcile.resources import Resources
from airflow_provider_spark_operator.reconcile.status import precondition

logger = logging.getLogger(__name__)

_LONGEST_CAUSE = 200


@dataclass(frozen=True)
class DefectTeller:
    """Tells who looks at a resource why nothing happens to it.

    Args:
        resources: of one kind.
        noun: what one of them is called in logs.
        recorder: takes the Event.
        now: the clock, UTC.
    """

    resources: Resources
    noun: str
    recorder: EventRecorder
    now: Callable[[], datetime]

    async def tell(self, key: ObjectKey, defect: Exception) -> None:
        """Say it once for each kind of failure; that it cannot be said is only logged.

        A deleted resource whose cleanup fails this way loses our finalizer instead: garbage collection deletes what
        it owns.
        """
        resource = self.resources.get(key)
        if resource is None or await self._let_go(key, resource, defect):
            return
        cause = f"{type(defect).__name__}: {defect}"[:_LONGEST_CAUSE]
        sentence = f"The controller fails at this {self.noun} and tries again; its log says more: {cause}"
        identity = f"{type(defect).__name__} {resource['metadata'].get('generation')}"
        self.recorder.record(Happening(resource, WARNING, reasons.CONTROLLER_FAILED, sentence, identity, self.now()))
        try:
            await self._write(resource, sentence)
        except KubeError as error:
            logger.warning("nor can its status be written: %s", error, extra={self.noun: str(key)})

    async def _let_go(self, key: ObjectKey, resource: JsonObject, defect: Exception) -> bool:
        if not (self.resources.holds(resource) and self.resources.is_claimed(resource)):
            return False
        cause = f"{type(defect).__name__}: {defect}"[:_LONGEST_CAUSE]
        logger.warning("finalizer removed without cleanup: %s", cause, extra={self.noun: str(key)})
        try:
            await self.resources.remove_finalizer(resource)
        except KubeError as error:
            logger.warning("failed to remove the finalizer: %s", error, extra={self.noun: str(key)})
        return True

    async def _write(self, resource: JsonObject, sentence: str) -> None:
        patch = message_patch(resource, sentence)
        # What has not been claimed may be somebody else's.
        if patch is not None and self.resources.is_claimed(resource):
            await self.resources.patch(resource, patch, subresource="status")


def message_patch(resource: JsonObject, sentence: str) -> JsonObject | None:
    """The patch by which the state that a resource is in gets `sentence` as its message; None where it has it already.

    A resource without a status gets that of one which was just submitted.
    """
    state = (resource.get("status") or {}).get("currentState")
    if state is None:
        submitted = {
            "currentStateSummary": "Submitted",
            "lastTransitionTime": resource["metadata"]["creationTimestamp"],
            "message": sentence,
        }
        status: JsonObject = {"currentState": submitted, "stateTransitionHistory": {"0": submitted}}
    elif state.get("message") == sentence:
        return None
    else:
        status = {"currentState": {"message": sentence}}
    return {"metadata": precondition(resource), "status": status}
