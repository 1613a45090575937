"""Read what holds an application or a SparkCluster: its Events and its Workload, as far as they are permitted."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from ...core.dialects.dialect import dialect_of
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_CLUSTER_NAME
from ...core.kubernetes.ownership import LeaseReference, Tenure, read_tenure
from ...core.verdict.driver_facts import read_event_time
from ...core.verdict.holds import CLEAR_SUSPEND, Held, Hold, find_hold, select_workload
from ...core.verdict.obstacles import LostController, find_claim, judge_controller
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, KubeError, NotFound
from ...kube.resources import EVENTS, LEASES, SPARK_CLUSTERS, WORKLOADS
from ..access.reference import ApplicationReference

# The label of Kueue on the Workloads of the kinds that it manages itself.
_JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"
# The seconds for which the content of a Lease counts: thousands of applications have the same controller.
_LIFETIME: Final = 10.0
# The number of Leases that are read in this time. Every user with permission to create applications can write claims.
_MAX_LEASES: Final = 20

_Reading: TypeAlias = asyncio.Task[Tenure | None]
_known: WeakKeyDictionary[KubeClient, dict[LeaseReference, tuple[float, _Reading]]] = WeakKeyDictionary()


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


async def find_lost_controller(client: KubeClient, resource: Mapping[str, Any]) -> LostController | None:
    """Find the controller that claimed a resource, if it does not run; None if it runs, or if this is unknown.

    Args:
        client: The client of the cluster. A Lease that it cannot read shows nothing.
        resource: The application or SparkCluster.
    """
    now, time = client.get_time(), asyncio.get_running_loop().time()
    lease = find_claim(resource, now)
    if lease is None:
        return None
    known = _known.setdefault(client, {})
    for expired in [key for key, (read, _) in known.items() if time - read >= _LIFETIME]:
        del known[expired]
    if lease not in known and len(known) < _MAX_LEASES:
        known[lease] = time, asyncio.create_task(_read_tenure(client, lease))
    if lease not in known:
        return None
    tenure = await asyncio.shield(known[lease][1])  # other callers may wait for the same task
    return judge_controller(lease, tenure, now) if tenure is not None else None


async def _read_tenure(client: KubeClient, lease: LeaseReference) -> Tenure | None:
    """Return the content of a Lease, an empty one if it does not exist; None if it cannot be read."""
    try:
        return read_tenure(await client.get(LEASES, lease.name, lease.namespace))
    except NotFound:
        return Tenure()
    except KubeError:
        return None
