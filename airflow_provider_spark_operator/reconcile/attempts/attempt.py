"""Creation and deletion of the objects of an attempt, which can be interrupted and repeated at any point."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Never

from ...core.driver.attempt import (
    AttemptResources,
    NamedTemplates,
    build_attempt,
    build_stand_in_templates,
    find_application_template_files,
    with_driver_owner,
)
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_APPLICATION_NAME, LABEL_OPERATOR_NAME
from ...core.kubernetes.problems import InvalidResource
from ...core.lifecycle.drivers import find_owner_name, is_of_earlier_attempt, is_ours, list_owner_uids
from ...core.lifecycle.observation import Created, CreateOutcome, Refused
from ...core.models.application import SparkApplication
from ...core.states import reasons
from ...kube.client import KubeClient
from ...kube.errors import AlreadyExists, Conflict, Forbidden, KubeError, NotFound, is_refusal
from ...kube.resources import CONFIG_MAPS, PODS, SECRETS, resource_type_of

logger = logging.getLogger(__name__)

# The kinds of objects that a driver mounts by name and that are created after it.
_MOUNTED = frozenset({CONFIG_MAPS.kind, SECRETS.kind})
# Who applies an application together with its namespace or service account may send the application first.
_SERVICE_ACCOUNT_WAIT: Final = timedelta(seconds=15)


class ReconcileLater(Exception):
    """The reconcile must be repeated after something else has ended; str() is one sentence."""


class _NameTaken(Exception):
    """A name that the attempt needs belongs to an object that its application does not own."""


@dataclass(frozen=True)
class Creation:
    """The result of creating an attempt.

    Attributes:
        outcome: The outcome for the next decision.
        driver: The driver pod, if it was created.
        resources: The objects of the attempt, if they could be built.
    """

    outcome: CreateOutcome
    driver: JsonObject | None = None
    resources: AttemptResources | None = None


async def create_attempt(
    client: KubeClient,
    application: SparkApplication,
    attempt_id: int,
    operator_name: str,
    templates: NamedTemplates,
    drivers: Iterable[JsonObject] = (),
) -> Creation:
    """Create the objects of an attempt that do not exist yet: ConfigMaps, driver pod, then what the driver owns.

    ConfigMaps named in the resource are created before the pod, which may mount them. Until the pod exists, the
    application owns them, so that garbage collection deletes them if this process is killed.

    Args:
        client: The client of the API.
        application: The current state of the application.
        attempt_id: The number of the attempt.
        operator_name: The value of the operator's label.
        templates: The templates that the configuration names.
        drivers: The driver pods of the application, by a live read. A pod is deleted first if the spec determines
            another name, because the application was edited after an earlier reconcile. A pod with the label of an
            earlier attempt is also deleted, because the end of that attempt was missed.

    Raises:
        ReconcileLater: An object of an earlier attempt or reconcile is still being deleted. Or the application is new,
            and its service account does not exist yet.
        KubeError: The API did not answer; which objects exist is unknown, and repeating is harmless.
    """
    try:
        resources = build_attempt(application, attempt_id, operator_name, templates=templates)
    except InvalidResource as error:
        return Creation(Refused(str(error), reasons.SPEC_UNBUILDABLE))
    for warning in resources.warnings:
        logger.warning(
            "attempt %d: %s",
            attempt_id + 1,
            warning,
            extra={"application": f"{application.namespace}/{application.name}"},
        )
    objects = _AttemptObjects(client, application, attempt_id, operator_name, resources)
    name = resources.pod["metadata"]["name"]
    outdated = (
        pod for pod in drivers if pod["metadata"]["name"] != name or is_of_earlier_attempt(application, attempt_id, pod)
    )
    return await _create_after(objects, attempt_id, next(outdated, None))


async def delete_attempt(
    client: KubeClient, application: SparkApplication, attempt_id: int, operator_name: str
) -> None:
    """Delete the objects of an attempt that the application owns, by name.

    The current spec determines the names. If its objects cannot be built, nothing was created from it. The objects
    of an earlier version belong to their driver or to the application. Objects whose deletion the API
    rejects are left to garbage collection: a missing permission must not delay the end of the application.

    Raises:
        KubeError: The API did not answer; repeating is harmless.
    """
    objects = _build_present_objects(client, application, attempt_id, operator_name)
    if objects is None:
        return
    resources = objects.resources
    for document in (*reversed(resources.post_resources), resources.pod, *reversed(resources.pre_resources)):
        with _tolerate_refusals(application, document):
            existing = await objects.find(document)
            if existing is not None and await objects.owns(existing):
                await _delete(client, existing)


async def clear_mounts(client: KubeClient, application: SparkApplication, operator_name: str) -> None:
    """Delete what the first driver of a deleted application mounted and garbage collection has not deleted yet.

    A new application of the same name would mount it and read the old configuration. Later attempts check for
    themselves.

    Raises:
        ReconcileLater: An object is still being deleted.
        KubeError: The API did not answer; repeating is harmless.
    """
    objects = _build_present_objects(client, application, 0, operator_name)
    if objects is None:
        return
    for document in _list_mounted(objects.resources):
        with _tolerate_refusals(application, document):
            existing = await objects.find(document)
            if existing is None or not objects.is_labelled(existing):
                continue
            if not _is_being_deleted(existing):
                await _delete(client, existing)
            if _is_being_deleted(existing) or existing["metadata"].get("finalizers"):
                raise ReconcileLater(f"{_describe(existing)} of the application is still being deleted")


def _build_present_objects(
    client: KubeClient, application: SparkApplication, attempt_id: int, operator_name: str
) -> "_AttemptObjects | None":
    """Build the objects of the current spec without reading files; None if they cannot be built."""
    try:
        templates = build_stand_in_templates(find_application_template_files(application))
        resources = build_attempt(application, attempt_id, operator_name, templates=templates)
    except InvalidResource:
        return None
    return _AttemptObjects(client, application, attempt_id, operator_name, resources)


@contextmanager
def _tolerate_refusals(application: SparkApplication, document: JsonObject) -> Iterator[None]:
    try:
        yield
    except KubeError as error:
        if not is_refusal(error):
            raise
        logger.warning(
            "could not check or delete %s: %s; the garbage collector deletes it together with its owner",
            _describe(document),
            error,
            extra={"application": f"{application.namespace}/{application.name}"},
        )


async def _create_after(objects: "_AttemptObjects", attempt_id: int, outdated: JsonObject | None) -> Creation:
    try:
        if outdated is not None:
            await _delete_outdated(objects.client, outdated)
        if attempt_id > 0:
            # The names of the first attempt were cleared when the last application of that name was deleted.
            await _check_mounts(objects)
        await _create(objects.client, objects, objects.resources)
    except _NameTaken as error:
        return Creation(Refused(str(error), reasons.NAME_TAKEN), objects.driver, objects.resources)
    except KubeError as error:
        if not is_refusal(error):
            raise
        if isinstance(error, Forbidden) and error.lacks_service_account and _is_new(objects):
            raise ReconcileLater(str(error)) from error
        return Creation(Refused(str(error)), objects.driver, objects.resources)
    return Creation(Created(), objects.driver, objects.resources)


def _is_new(objects: "_AttemptObjects") -> bool:
    created = objects.application.creation_timestamp
    return created is not None and objects.client.get_time() - created < _SERVICE_ACCOUNT_WAIT


async def _delete_outdated(client: KubeClient, outdated: JsonObject) -> Never:
    if not _is_being_deleted(outdated):
        # The next driver may mount objects of the same names.
        await _delete(client, outdated, propagation="Foreground")
    raise ReconcileLater(
        f"{_describe(outdated)} of an earlier attempt or version of the application is still being deleted"
    )


async def _check_mounts(objects: "_AttemptObjects") -> None:
    """Check that a driver cannot mount objects of an earlier driver: its own objects are created after it."""
    for document in _list_mounted(objects.resources):
        existing = await objects.find(document)
        if existing is not None:
            await objects.check(existing)


def _list_mounted(resources: AttemptResources) -> Iterator[JsonObject]:
    return (document for document in resources.post_resources if document["kind"] in _MOUNTED)


async def _create(client: KubeClient, objects: "_AttemptObjects", resources: AttemptResources) -> None:
    for document in resources.pre_resources:
        await objects.ensure(_set_application_as_owner(document, objects.application))
    driver = await objects.ensure(resources.pod)
    objects.driver = driver
    name, uid = driver["metadata"]["name"], driver["metadata"]["uid"]
    for document in with_driver_owner(resources.pre_resources, name, uid):
        await _set_owners(client, document)
    for document in with_driver_owner(resources.post_resources, name, uid):
        await objects.ensure(document)


@dataclass
class _AttemptObjects:
    """The objects of one attempt of an application. Ownership is checked by uid, not by name."""

    client: KubeClient
    application: SparkApplication
    attempt_id: int
    operator_name: str
    resources: AttemptResources
    driver: JsonObject | None = field(default=None)

    async def ensure(self, document: JsonObject) -> JsonObject:
        """Create an object; if it exists, return the object that an earlier, interrupted reconcile has created."""
        try:
            return await self.client.create(resource_type_of(document), document, document["metadata"]["namespace"])
        except AlreadyExists:
            existing = await self.find(document)
        if existing is None:
            raise ReconcileLater(f"{_describe(document)} was deleted during the reconcile")
        await self.check(existing)
        return existing

    async def find(self, document: JsonObject) -> JsonObject | None:
        """Read the object that has the name of `document` from the API; None if it does not exist."""
        metadata = document["metadata"]
        try:
            return await self.client.get(resource_type_of(document), metadata["name"], metadata["namespace"])
        except NotFound:
            return None

    async def owns(self, existing: JsonObject) -> bool:
        """Whether the application owns an object: by its uid, by its driver, or by labels if it has no owner."""
        if existing["kind"] == PODS.kind:
            return is_ours(self.application, self.attempt_id, existing, self.operator_name)
        owners = list_owner_uids(existing)
        if self.application.uid in owners or (not owners and self.is_labelled(existing)):
            return True
        if self.driver is None:
            found = await self.find(self.resources.pod)
            self.driver = found if found is not None and await self.owns(found) else None
        return self.driver is not None and self.driver["metadata"]["uid"] in owners

    async def check(self, existing: JsonObject) -> None:
        """Check that the application owns an object whose name is needed.

        Raises:
            ReconcileLater: The object belongs to an earlier attempt, or is being deleted.
            _NameTaken: The application does not own the object.
        """
        ours = await self.owns(existing)
        if ours and not _is_being_deleted(existing):
            return
        if ours or self._is_disappearing(existing):
            raise ReconcileLater(f"{_describe(existing)} of an earlier attempt is still being deleted")
        raise _NameTaken(
            f"{_describe(existing)} exists and does not belong to this application. Delete that object, or choose "
            "another name"
        )

    def _is_disappearing(self, existing: JsonObject) -> bool:
        """Whether an object of an earlier attempt, or of an earlier application of the same name, will be deleted."""
        if existing["kind"] != PODS.kind:
            return self.is_labelled(existing)
        return _is_being_deleted(existing) or find_owner_name(existing) == self.application.name

    def is_labelled(self, existing: JsonObject) -> bool:
        """Whether the labels of an object name this application or an earlier one of the same name."""
        # The Apache operator creates ConfigMaps without an owner, and adds the owner when the driver exists.
        labels = existing["metadata"].get("labels") or {}
        mine = {LABEL_OPERATOR_NAME: self.operator_name, LABEL_APPLICATION_NAME: self.application.name}
        return bool(mine.items() <= labels.items())


async def _set_owners(client: KubeClient, document: JsonObject) -> None:
    metadata = document["metadata"]
    patch = {"metadata": {"ownerReferences": metadata["ownerReferences"]}}
    await client.patch(resource_type_of(document), metadata["name"], metadata["namespace"], patch)


async def _delete(client: KubeClient, existing: JsonObject, *, propagation: str | None = None) -> None:
    metadata = existing["metadata"]
    try:
        await client.delete(
            resource_type_of(existing),
            metadata["name"],
            metadata["namespace"],
            propagation=propagation,
            uid=metadata["uid"],
        )
    except (NotFound, Conflict):
        return  # deleted, or replaced by another object of the same name


def _set_application_as_owner(document: JsonObject, application: SparkApplication) -> JsonObject:
    reference = {
        "apiVersion": application.api_version,
        "kind": application.kind,
        "name": application.name,
        "uid": application.uid,
    }
    return {**document, "metadata": {**document["metadata"], "ownerReferences": [reference]}}


def _is_being_deleted(existing: JsonObject) -> bool:
    return "deletionTimestamp" in existing["metadata"]


def _describe(document: JsonObject) -> str:
    metadata = document["metadata"]
    return f"{document['kind']} {metadata['namespace']}/{metadata['name']}"
