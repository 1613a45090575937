"""Requests for one application or SparkCluster, and never for another resource with the same name."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from ...core.kubernetes.json_object import JsonObject
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import Conflict, Invalid, NotFound
from .reference import ApplicationReference, DeletionStuck


async def read_present(client: KubeClient, reference: ApplicationReference) -> JsonObject | None:
    """Read the resource. Return None if it no longer exists.

    Raises:
        KubeError: The API rejected the request or could not be reached.
    """
    try:
        found = await client.get(reference.resource, reference.name, reference.namespace)
    except NotFound:
        return None
    return found if found["metadata"]["uid"] == reference.uid else None


async def wait_until_deleted(client: KubeClient, reference: ApplicationReference, seconds: float) -> None:
    """Wait until the resource no longer exists.

    Raises:
        DeletionStuck: The resource still exists after `seconds`.
        KubeError: The API rejected the request or could not be reached.
    """
    deadline, backoff = time.monotonic() + seconds, Backoff(first=0.2, longest=5.0)
    while (present := await read_present(client, reference)) is not None:
        if time.monotonic() >= deadline:
            raise DeletionStuck(reference, present["metadata"].get("finalizers") or [], seconds)
        await asyncio.sleep(backoff.next())


async def annotate(client: KubeClient, reference: ApplicationReference, annotations: Mapping[str, str]) -> JsonObject:
    """Set annotations on exactly this application and return it.

    Raises:
        NotFound: The application does not exist.
        Conflict: Another application has its name.
        KubeError: The API rejected the request or could not be reached.
    """
    return await amend(client, reference, {"metadata": {"annotations": dict(annotations)}})


async def amend(
    client: KubeClient, reference: ApplicationReference, change: Mapping[str, Any], *, dry_run: bool = False
) -> JsonObject:
    """Merge `change` into exactly this resource and return the result. A dry run changes nothing.

    Raises:
        NotFound: The application does not exist.
        Conflict: Another application has its name.
        KubeError: The API rejected the request or could not be reached.
    """
    patch = {**change, "metadata": {"uid": reference.uid, **change.get("metadata", {})}}
    try:
        return await client.patch(reference.resource, reference.name, reference.namespace, patch, dry_run=dry_run)
    except Invalid as error:
        # For custom resources kube-apiserver reports another uid as an immutable field, not as a conflict.
        if "metadata.uid" not in error.message:
            raise
        raise Conflict(
            409, "Conflict", error.message, error.verb, error.resource, error.namespace, error.name
        ) from error
