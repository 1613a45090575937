"""Stop, suspend and resume an application."""

import asyncio
import logging
import time
from datetime import UTC, datetime, timedelta

from ...core.dialects.dialect import dialect_of, read_progress
from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ANNOTATION_STOP
from ...core.kubernetes.pods import get_object, shows_annotation
from ...core.kubernetes.times import format_duration
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import Conflict, Forbidden, NotFound
from ...kube.resources import PODS
from ..access.pods import has_ended, read_driver_pod
from ..access.reference import ApplicationReference
from ..access.requests import amend, read_present

logger = logging.getLogger(__name__)

# The operator notices the end of a driver within seconds.
_STATUS_SECONDS = 30.0


async def request_stop(client: KubeClient, driver: JsonObject, *, dry_run: bool = False) -> bool:
    """Set the annotation on exactly this driver pod. Return False if the pod does not exist any more.

    Raises:
        KubeError: The API rejected the request or could not be reached.
    """
    change = {"metadata": {"annotations": {ANNOTATION_STOP: f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}}}
    try:
        await amend(client, ApplicationReference.of(driver, PODS), change, dry_run=dry_run)
    except (Conflict, NotFound):
        return False
    return True


async def stop_gracefully(
    client: KubeClient, reference: ApplicationReference, resource: JsonObject, seconds: float
) -> None:
    """Ask the program of an application that is about to be deleted to end, and wait until its driver has ended.

    If the program cannot see the request, or does not end in time, the reason is logged.

    Args:
        client: The client of the cluster.
        reference: The application.
        resource: Its content.
        seconds: How long to wait.

    Raises:
        KubeError: The API rejected a request or could not be reached.
    """
    driver = await read_driver_pod(client, reference)
    if driver is None or has_ended(driver):
        return
    if not shows_annotation(driver, ANNOTATION_STOP):
        logger.warning(
            "could not stop %s gracefully: its driver pod has no volume with the request; deleting it. "
            "Ship a script that imports spark_task, or add the volume",
            reference,
        )
        return
    dialect = dialect_of(reference.resource.api_version)
    policy = dialect.read_restart_config(resource).get("restartPolicy", "Never")
    try:
        if policy != "Never" and not dialect.reruns_after_edit:
            never = {"restartConfig": {"restartPolicy": "Never"}}
            await amend(client, reference, {"spec": {"applicationTolerations": never}})
        await request_stop(client, driver)
    except Forbidden as error:
        logger.warning("could not stop %s gracefully: %s; deleting it. Grant the permission", reference, error)
        return
    limit = format_duration(timedelta(seconds=seconds))
    logger.info("asked %s to stop, because a new version replaces it; waiting up to %s", reference, limit)
    deadline, backoff = time.monotonic() + seconds, Backoff(first=0.2, longest=5.0)
    while (driver := await read_driver_pod(client, reference)) is not None and not has_ended(driver):
        if time.monotonic() >= deadline:
            logger.warning("%s did not stop within %s; deleting it", reference, limit)
            return
        await asyncio.sleep(backoff.next())
    deadline = time.monotonic() + _STATUS_SECONDS
    while (present := await read_present(client, reference)) is not None and time.monotonic() < deadline:
        if read_progress(present).phase is Phase.ENDED or dialect.reruns_after_edit:
            return
        await asyncio.sleep(backoff.next())


class SuspensionNotSupported(Exception):
    """The definition of the application in the cluster does not contain `spec.suspend`."""

    def __init__(self, reference: ApplicationReference) -> None:
        super().__init__(reference)
        self.reference = reference

    def __str__(self) -> str:
        operator = dialect_of(self.reference.resource.api_version).operator
        return (
            f"the CustomResourceDefinition of {self.reference.resource.qualified_name} in this cluster does not define "
            f"spec.suspend. Install a newer release of {operator} with its CustomResourceDefinitions"
        )


async def set_suspended(client: KubeClient, reference: ApplicationReference, *, suspended: bool) -> JsonObject:
    """Set `spec.suspend` of exactly this application and return it.

    Args:
        client: The client of the cluster.
        reference: The application.
        suspended: The value of the field.

    Raises:
        SuspensionNotSupported: The cluster does not define the field. The application is unchanged.
        NotFound: The application does not exist.
        Conflict: Another application has its name.
        KubeError: The API rejected the request or could not be reached.
    """
    stored = await amend(client, reference, {"spec": {"suspend": suspended}})
    if get_object(stored.get("spec")).get("suspend") is not suspended:  # the API server drops unknown fields
        raise SuspensionNotSupported(reference)
    return stored
