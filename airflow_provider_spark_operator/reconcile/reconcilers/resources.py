"""The resources of one kind: their latest known state, and the changes that the controller makes to them.

A failure of the controller itself is reported as an Event and in the message of the resource's state.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...core.kubernetes.json_object import JsonObject
from ...core.states import reasons
from ...kube.client import KubeClient
from ...kube.errors import KubeError, NotFound
from ..objects.cache import ObjectCache, ObjectKey, copy_frame, key_of
from ..objects.kinds import Kind
from ..ownership.claims import Claims, Standing
from ..reports.events import WARNING, EventRecorder, ResourceEvent

logger = logging.getLogger(__name__)

_MAX_CAUSE = 200


class ResourceChanged(Exception):
    """A resource has changed since it was read."""


class Resources:
    """Reads and writes the resources of one kind, and stores every answer of the API in the cache.

    Attributes:
        kind: The kind of the resources.

    Args:
        client: The client of the API.
        kind: The kind of the resources.
        cache: The state that the watches have shown.
        claims: The resources that this controller manages; None if no other controller can exist.
    """

    def __init__(self, client: KubeClient, kind: Kind, cache: ObjectCache, claims: Claims | None = None) -> None:
        self._client = client
        self.kind = kind
        self._cache = cache
        self._claims = claims

    def get(self, key: ObjectKey) -> JsonObject | None:
        """Return the latest known state of a resource, None if the resource does not exist."""
        return self._cache.get(key)

    def forget_claim(self, key: ObjectKey) -> None:
        """Drop the claim on a resource that does not exist any more."""
        if self._claims is not None:
            self._claims.forget(key)

    def judge(self, resource: JsonObject) -> Standing:
        """Return the relation of this controller to a resource."""
        return Standing.CLAIMED if self._claims is None else self._claims.judge(resource)

    async def claim(self, key: ObjectKey) -> None:
        """Read a resource from the API and claim it, if no other running controller manages it.

        Raises:
            ManagedElsewhere: Another controller manages the resource.
            Conflict: The resource changed in the meantime.
            KubeError: The API failed.
        """
        claims, known = self._claims, self._cache.get(key)
        if claims is not None and known is not None:
            await claims.require_claimable(known)
        live = await self.refresh(key)
        if claims is None or live is None:
            return
        await claims.require_claimable(live)
        if claim := claims.build_claim(live):
            await self.patch(live, {"metadata": {**build_precondition(live), **claim}})
        claims.confirm(live)

    async def refresh(self, key: ObjectKey) -> JsonObject | None:
        """Read a resource from the API, and return it whole; None if it does not exist. The cache may shorten it."""
        try:
            live = await self._client.get(self.kind.type, key.name, key.namespace)
        except NotFound:
            self._cache.forget(key)
            return None
        self._cache.put_answer(copy_frame(live))
        return live

    async def require_current(self, resource: JsonObject) -> None:
        """Check by a live read that the resource has not changed since it was read.

        Raises:
            ResourceChanged: The resource has changed or does not exist any more.
            KubeError: The API failed.
        """
        live = await self.refresh(key_of(resource))
        if live is None or _get_revision(live) != _get_revision(resource):
            raise ResourceChanged

    async def patch(self, resource: JsonObject, patch: JsonObject, *, subresource: str | None = None) -> None:
        """Apply a merge patch. A resource that does not exist any more is dropped from the cache.

        Raises:
            Conflict: A precondition in the patch does not hold.
            KubeError: The API failed.
        """
        key = key_of(resource)
        try:
            answer = await self._client.patch(self.kind.type, key.name, key.namespace, patch, subresource=subresource)
        except NotFound:
            self._cache.forget(key)
        else:
            self._cache.put_answer(answer)

    async def delete(self, resource: JsonObject) -> None:
        """Delete the resource and all objects that it owns, if it has not changed since it was read.

        Raises the same errors as `patch`.
        """
        key, metadata = key_of(resource), resource["metadata"]
        try:
            await self._client.delete(
                self.kind.type,
                key.name,
                key.namespace,
                propagation="Background",
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
            )
        except NotFound:
            self._cache.forget(key)

    async def add_finalizer(self, resource: JsonObject) -> None:
        """Claim the resource and add the finalizer, if it has not changed since it was read; errors as `patch`."""
        patch = build_finalizers_patch(resource, [*_get_finalizers(resource), self.kind.finalizer])
        if self._claims is not None:
            patch["metadata"].update(self._claims.build_claim(resource))
        await self.patch(resource, patch)
        if self._claims is not None:
            self._claims.confirm(resource)

    async def remove_finalizer(self, resource: JsonObject) -> None:
        """Remove the finalizer if the resource has not changed since it was read. Raises the errors of `patch`."""
        others = [each for each in _get_finalizers(resource) if each != self.kind.finalizer]
        await self.patch(resource, build_finalizers_patch(resource, others))

    def is_being_finalized(self, resource: JsonObject) -> bool:
        """Whether the resource is being deleted and the finalizer is still on it."""
        return bool(resource["metadata"].get("deletionTimestamp")) and self.kind.finalizer in _get_finalizers(resource)


def _get_finalizers(resource: JsonObject) -> list[str]:
    return list(resource["metadata"].get("finalizers") or ())


def _get_revision(resource: JsonObject) -> tuple[object, object]:
    return resource["metadata"].get("uid"), resource["metadata"].get("resourceVersion")


def build_merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> JsonObject:
    """Build the JSON merge patch (RFC 7386) from `old` to `new`; empty if they are equal.

    Lists are replaced as a whole. `new` must not contain None, which a merge patch cannot set.
    """
    patch: JsonObject = dict.fromkeys(key for key in old if key not in new)
    for key, value in new.items():
        known = old.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            inner = build_merge_patch(known, value)
            if inner:
                patch[key] = inner
        elif key not in old or known != value:
            patch[key] = value
    return patch


def build_status_patch(resource: JsonObject, status: JsonObject) -> JsonObject | None:
    """Build the patch that changes the status subresource to `status`; None if nothing has changed.

    The write fails if the resource has changed since it was read.
    """
    patch = build_merge_patch(resource.get("status") or {}, status)
    return {"metadata": build_precondition(resource), "status": patch} if patch else None


def build_finalizers_patch(resource: JsonObject, finalizers: list[str]) -> JsonObject:
    """Build the patch that sets the finalizers, with the same precondition."""
    return {"metadata": {**build_precondition(resource), "finalizers": finalizers}}


def build_precondition(resource: JsonObject) -> JsonObject:
    """Build the metadata of a patch that must fail if the resource has changed since it was read."""
    metadata = resource["metadata"]
    return {name: metadata[name] for name in ("uid", "resourceVersion") if name in metadata}


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
