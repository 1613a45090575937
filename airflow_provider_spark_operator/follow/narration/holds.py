"""Read what holds an application or a SparkCluster: its Events and its Workload, as far as they are permitted."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from ...core.dialects.dialect import dialect_of
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_CLUSTER_NAME
from ...core.verdict.driver_facts import read_event_time
from ...core.verdict.holds import CLEAR_SUSPEND, Held, Hold, find_hold, select_workload
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, NotFound
from ...kube.resources import EVENTS, SPARK_CLUSTERS, WORKLOADS
from ..access.reference import ApplicationReference

# The label of Kueue on the Workloads of the kinds that it manages itself.
_JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"


async def read_hold(
    client: KubeClient, reference: ApplicationReference, held: Held | None, resume: str = CLEAR_SUSPEND
) -> Hold | None:
    """Read what holds an application or a SparkCluster; None if nothing shows that it is held.

    Args:
        client: The client of the cluster. Objects that it may not read are omitted.
        reference: The resource.
        held: The resource as its own content describes it. None if nothing in its content can hold it.
        resume: How the user starts the resource if it is suspended.

    Raises:
        KubeError: The API could not be reached.
    """
    if held is None:
        return None
    events, workload = await asyncio.gather(list_own_events(client, reference), _read_workload(client, reference, held))
    hold = find_hold(held, events, workload)
    return hold and replace(hold, advice=hold.advice.replace(CLEAR_SUSPEND, resume))


async def list_own_events(client: KubeClient, reference: ApplicationReference) -> list[JsonObject] | None:
    """List the Events about a resource, oldest first. Return None without the permission to list Events.

    Raises:
        KubeError: The API could not be reached.
    """
    selector = f"involvedObject.uid={reference.uid}"
    try:
        found = (await client.list(EVENTS, reference.namespace, field_selector=selector)).items
    except Forbidden:
        return None
    return sorted(found, key=read_event_time)


async def _read_workload(
    client: KubeClient, reference: ApplicationReference, held: Held
) -> Mapping[str, object] | None:
    """Read the Workload. Return None without Kueue, or without the optional permission to list Workloads."""
    if not held.queue:
        return None
    try:
        selector = _build_selector(reference)
        found = (await client.list(WORKLOADS, reference.namespace, label_selector=selector)).items
    except (Forbidden, NotFound):
        return None
    return select_workload(found, held.uid)


def _build_selector(reference: ApplicationReference) -> str:
    if reference.resource.plural == SPARK_CLUSTERS.plural:
        return f"{LABEL_CLUSTER_NAME}={reference.name}"
    dialect = dialect_of(reference.resource.api_version)
    if dialect.suspended_by_kueue:  # Kueue has created the Workload
        return f"{_JOB_UID_LABEL}={reference.uid}"
    return f"{dialect.application_label}={reference.name}"
