"""Creating what an attempt consists of, in an order and a way in which it can be broken off and repeated."""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Never

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.driver.attempt import AttemptResources, build_attempt, owned_by_driver
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.named_files import (
    NO_TEMPLATES,
    application_template_files,
    unread_templates,
)
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.names import LABEL_APPLICATION_NAME, LABEL_OPERATOR_NAME
from airflow_provider_spark_operator.core.observation import (
    Created,
    CreateOutcome,
    Refused,
    is_of_earlier_attempt,
    list_owner_uids,
)
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from airflow_provider_spark_operator.kube.resources import CONFIG_MAPS, PODS, SECRETS, resource_type_of
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.files import read_templates
from airflow_provider_spark_operator.reconcile.refusals import is_refusal

logger = logging.getLogger(__name__)

# Of what comes after a driver, which mounts it by name.
_MOUNTED = frozenset({CONFIG_MAPS.kind, SECRETS.kind})


class NotYet(Exception):
    """Something has to happen first that needs no more than time; str() is one sentence."""


class _NameTaken(Exception):
    """A name that the attempt needs is held by an object that is not its application's."""


@dataclass(frozen=True)
class Creation:
    """What came of creating an attempt; `driver` is the driver pod as the API has it, if it came that far."""

    outcome: CreateOutcome
    driver: JsonObject | None = None


async def create_attempt(
    client: KubeClient,
    application: SparkApplication,
    attempt_id: int,
    operator_name: str,
    drivers: Iterable[JsonObject] = (),
) -> Creation:
    """Create whatever of an attempt does not exist yet: config maps, driver pod, then what the driver owns.

    Config maps named in the resource come before the pod, which may mount them; until the pod is there to own
    them, the application does, so that nothing is left over if we are killed in between.

    Args:
        client: of the API.
        application: the resource as it is now.
        attempt_id: the number of the attempt.
        operator_name: the value of the label by which the controller knows its own.
        drivers: the application's driver pods that exist, by a live read. One that bears another name than the
            resource leads to now, or that name but an earlier attempt's label, is deleted first: that attempt was
            not seen to its end, or the application was edited after an earlier pass.

    Raises:
        NotYet: an object of an earlier attempt or pass is still going.
        KubeError: the API did not answer, or not now; which part exists is unknown, and repeating is harmless.
    """
    files = application_template_files(application)
    try:
        # A thread costs as much as a request, and most applications name no file.
        templates = await asyncio.to_thread(read_templates, files) if files else NO_TEMPLATES
    except DriverBuildError as error:
        return Creation(Refused(str(error)))
    try:
        resources = build_attempt(application, attempt_id, operator_name, templates=templates)
    except DriverBuildError as error:
        return Creation(Refused(str(error), reasons.SPEC_UNBUILDABLE))
    for warning in resources.warnings:
        logger.warning(
            "attempt %d: %s", attempt_id, warning, extra={"application": f"{application.namespace}/{application.name}"}
        )
    family = _Family(client, application, operator_name, resources)
    name = resources.pod["metadata"]["name"]
    outdated = (
        pod for pod in drivers if pod["metadata"]["name"] != name or is_of_earlier_attempt(application, attempt_id, pod)
    )
    return await _carry_out(family, attempt_id, next(outdated, None))


async def delete_attempt(
    client: KubeClient, application: SparkApplication, attempt_id: int, operator_name: str
) -> None:
    """Delete by name whatever of an attempt exists and is the application's.

    The names are those that the present resource leads to. Where it cannot be built, nothing was created from
    it, and what was created from an earlier version of it belongs to its driver or to the application. What the
    API refuses is left to garbage collection: a right that is missing must not hold up the application's end.

    Raises:
        KubeError: the API did not answer, or not now; repeating is harmless.
    """
    family = _present_family(client, application, attempt_id, operator_name)
    if family is None:
        return
    resources = family.resources
    for document in (*reversed(resources.post_resources), resources.pod, *reversed(resources.pre_resources)):
        with _tolerating_refusals(application, document):
            existing = await family.find(document)
            if existing is not None and await family.has(existing):
                await _delete(client, existing)


async def clear_mounts(client: KubeClient, application: SparkApplication, operator_name: str) -> None:
    """Delete what the first driver of an application, which has gone, has mounted and the collector has left so far.

    The next application of that name is a new one, and would take its driver's configuration from there. Every
    later attempt looks itself.

    Raises:
        NotYet: something of it is still going.
        KubeError: the API did not answer, or not now; repeating is harmless.
    """
    family = _present_family(client, application, 0, operator_name)
    if family is None:
        return
    for document in _mounted(family.resources):
        with _tolerating_refusals(application, document):
            existing = await family.find(document)
            if existing is None or not family.is_labelled(existing):
                continue
            if not _is_going(existing):
                await _delete(client, existing)
            if _is_going(existing) or existing["metadata"].get("finalizers"):
                raise NotYet(f"{_named(existing)} of the application is not gone yet")


def _present_family(
    client: KubeClient, application: SparkApplication, attempt_id: int, operator_name: str
) -> "_Family | None":
    """What the present resource leads to, without a look at any file; None where it cannot be built."""
    try:
        templates = unread_templates(application_template_files(application))
        resources = build_attempt(application, attempt_id, operator_name, templates=templates)
    except DriverBuildError:
        return None
    return _Family(client, application, operator_name, resources)


@contextmanager
def _tolerating_refusals(application: SparkApplication, document: JsonObject) -> Iterator[None]:
    try:
        yield
    except KubeError as error:
        if not is_refusal(error):
            raise
        logger.warning(
            "whether %s is left over is not known: %s",
            _named(document),
            error,
            extra={"application": f"{application.namespace}/{application.name}"},
        )


async def _carry_out(family: "_Family", attempt_id: int, outdated: JsonObject | None) -> Creation:
    try:
        if outdated is not None:
            await _replace(family.client, outdated)
        if attempt_id > 0:
            # The names of the first one were cleared when the last application of that name went.
            await _see_mounts_free(family)
        await _create(family.client, family, family.resources)
    except _NameTaken as error:
        return Creation(Refused(str(error)), family.driver)
    except KubeError as error:
        if not is_refusal(error):
            raise
        return Creation(Refused(str(error)), family.driver)
    return Creation(Created(), family.driver)


async def _replace(client: KubeClient, outdated: JsonObject) -> Never:
    if not _is_going(outdated):
        # Its successor may have the same names for what it mounts.
        await _delete(client, outdated, propagation="Foreground")
    raise NotYet(f"{_named(outdated)} is of an earlier attempt or version of the application, and is not gone yet")


async def _see_mounts_free(family: "_Family") -> None:
    """See that a driver cannot start with what an earlier one has left: its own comes after it."""
    for document in _mounted(family.resources):
        existing = await family.find(document)
        if existing is not None:
            await family.check(existing)


def _mounted(resources: AttemptResources) -> Iterator[JsonObject]:
    return (document for document in resources.post_resources if document["kind"] in _MOUNTED)


async def _create(client: KubeClient, family: "_Family", resources: AttemptResources) -> None:
    for document in resources.pre_resources:
        await family.ensure(_owned_by_application(document, family.application))
    driver = await family.ensure(resources.pod)
    family.driver = driver
    name, uid = driver["metadata"]["name"], driver["metadata"]["uid"]
    for document in owned_by_driver(resources.pre_resources, name, uid):
        await _set_owners(client, document)
    for document in owned_by_driver(resources.post_resources, name, uid):
        await family.ensure(document)


@dataclass
class _Family:
    """What belongs to one application's attempt, told by uid: names alone prove nothing."""

    client: KubeClient
    application: SparkApplication
    operator_name: str
    resources: AttemptResources
    driver: JsonObject | None = field(default=None)

    async def ensure(self, document: JsonObject) -> JsonObject:
        """Create `document`, or take what an earlier, interrupted pass has created in its place."""
        try:
            return await self.client.create(resource_type_of(document), document, document["metadata"]["namespace"])
        except AlreadyExists:
            existing = await self.find(document)
        if existing is None:
            raise NotYet(f"{_named(document)} went away while it was looked at")
        await self.check(existing)
        return existing

    async def find(self, document: JsonObject) -> JsonObject | None:
        """The object that has the name of `document`, read live."""
        metadata = document["metadata"]
        try:
            return await self.client.get(resource_type_of(document), metadata["name"], metadata["namespace"])
        except NotFound:
            return None

    async def has(self, existing: JsonObject) -> bool:
        """Whether an object is this application's: owned by it, by its driver, or by nobody but labelled so."""
        owners = list_owner_uids(existing)
        if self.application.uid in owners or (not owners and self.is_labelled(existing)):
            return True
        if self.driver is None and existing["kind"] != PODS.kind:
            found = await self.find(self.resources.pod)
            if found is not None and self.application.uid in list_owner_uids(found):
                self.driver = found
        return self.driver is not None and self.driver["metadata"]["uid"] in owners

    async def check(self, existing: JsonObject) -> None:
        """See that what has a name which is needed may stay.

        Raises:
            NotYet: it is of an earlier attempt, or going.
            _NameTaken: it is not the application's.
        """
        ours = await self.has(existing)
        if ours and not _is_going(existing):
            return
        if ours or self.is_labelled(existing):
            raise NotYet(f"{_named(existing)} of an earlier attempt is not gone yet")
        raise _NameTaken(
            f"{_named(existing)} exists and does not belong to this application: delete or rename one of the two"
        )

    def is_labelled(self, existing: JsonObject) -> bool:
        """Whether an object's labels say that it is of an application of that name, be it an earlier one."""
        # The Apache operator creates config maps without an owner, and gives them one when the driver exists.
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
        return  # gone, or another has the name by now


def _owned_by_application(document: JsonObject, application: SparkApplication) -> JsonObject:
    reference = {
        "apiVersion": application.api_version,
        "kind": application.kind,
        "name": application.name,
        "uid": application.uid,
    }
    return {**document, "metadata": {**document["metadata"], "ownerReferences": [reference]}}


def _is_going(existing: JsonObject) -> bool:
    return "deletionTimestamp" in existing["metadata"]


def _named(document: JsonObject) -> str:
    metadata = document["metadata"]
    return f"{document['kind']} {metadata['namespace']}/{metadata['name']}"
