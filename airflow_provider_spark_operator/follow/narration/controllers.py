"""Read whether the controllers that claimed applications and clusters run."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from ...core.kubernetes.ownership import LeaseReference, Tenure, read_tenure
from ...core.verdict.obstacles import LostController, find_claim, judge_controller
from ...kube.client import KubeClient
from ...kube.errors import KubeError, NotFound
from ...kube.resources import LEASES

# The seconds for which the content of a Lease counts: thousands of applications have the same controller.
_LIFETIME: Final = 10.0
# The number of Leases that are read in this time. Every user with permission to create applications can write claims.
_MAX_LEASES: Final = 20

_Reading: TypeAlias = asyncio.Task[Tenure | None]
_known: WeakKeyDictionary[KubeClient, dict[LeaseReference, tuple[float, _Reading]]] = WeakKeyDictionary()


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
