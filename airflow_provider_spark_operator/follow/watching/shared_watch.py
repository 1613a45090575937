"""One watch hub for all users of a cluster in an event loop, across changes of its configuration."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from ...kube.connection import ClusterAccess, open_client, read_configuration, reconnect, reread
from ...kube.endpoint import Fingerprint
from ...kube.errors import ConfigurationError
from ..access.outage_tolerance import retry
from .watch import WatchHub

logger = logging.getLogger(__name__)

# A thousand tasks that start during an outage must not open a thousand connections or start as many plugins.
_SHORTEST_RECONNECT_SECONDS = 5.0


@dataclass(eq=False)
class _SharedHub:
    source: str
    wanted: Fingerprint
    users: int = 0
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    hub: WatchHub | None = None

    @property
    def fingerprint(self) -> Fingerprint:
        return self.hub.fingerprint if self.hub else self.wanted

    async def open(self, access: ClusterAccess, latest: Fingerprint) -> WatchHub:
        async with self.opening:
            if self.hub is None:
                self.hub = WatchHub(await open_client(access))
            else:
                await _refresh(self.hub, access, latest)
            return self.hub


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, list[_SharedHub]] = WeakKeyDictionary()


@asynccontextmanager
async def share_hub(access: ClusterAccess, *, waiting_for: str | None = None) -> AsyncIterator[WatchHub]:
    """Share the hub of a cluster in the running event loop: the first user opens the hub, the last user closes it.

    The configuration is read for each user. Users share a hub if their configurations are equal, or differ only in
    the credentials. The hub then continues with the new credentials.

    Args:
        access: The access to the cluster.
        waiting_for: What the caller follows, for messages. An invalid configuration is then tolerated like an
            outage. Until the configuration is valid again, an open hub with the earlier configuration is used. If
            None, an invalid configuration raises an error at once.

    Raises:
        ConfigurationError: No client can be created for `access`.
    """
    hubs = _shared.setdefault(asyncio.get_running_loop(), [])
    if waiting_for is None:
        shared, hub = await _join(hubs, access)
    else:
        shared, hub = await _join_with_retries(hubs, access, waiting_for)
    try:
        yield hub
    finally:
        await _leave(hubs, shared)


async def _join(hubs: list[_SharedHub], access: ClusterAccess) -> tuple[_SharedHub, WatchHub]:
    latest = (await read_configuration(access)).fingerprint
    shared = _find_joinable(hubs, access.source, latest)
    if shared is None:
        shared = _SharedHub(access.source, latest)
        hubs.append(shared)
    shared.users += 1
    try:
        hub = await shared.open(access, latest)
    except BaseException:
        await _leave(hubs, shared)
        raise
    for other in hubs:
        # The new configuration may fix the failure of the other hub.
        if other is not shared and other.source == access.source and other.hub and other.hub.is_failing:
            other.hub.retry_now()
    return shared, hub


async def _join_with_retries(
    hubs: list[_SharedHub], access: ClusterAccess, waiting_for: str
) -> tuple[_SharedHub, WatchHub]:
    async def attempt() -> tuple[_SharedHub, WatchHub]:
        nonlocal access
        try:
            return await _join(hubs, access)
        except ConfigurationError:
            for shared in hubs:
                if shared.source == access.source and shared.hub is not None and not shared.hub.is_failing:
                    shared.users += 1
                    return shared, shared.hub
            with suppress(ConfigurationError):  # the next attempt reports the error
                access = await reread(access)
            raise

    return await retry(attempt, waiting_for, logger.log)


async def _leave(hubs: list[_SharedHub], shared: _SharedHub) -> None:
    shared.users -= 1
    if shared.users == 0:
        # The hub is removed before anything is awaited, so that the next user opens a new one.
        if shared in hubs:
            hubs.remove(shared)
        if shared.hub is not None:
            await shared.hub.close()
            await shared.hub.client.close()


def _find_joinable(hubs: list[_SharedHub], source: str, latest: Fingerprint) -> _SharedHub | None:
    same = [one for one in hubs if one.fingerprint == latest]
    renewed = [one for one in hubs if one.source == source and one.fingerprint.connection == latest.connection]
    return next(iter(same or renewed), None)


async def _refresh(hub: WatchHub, access: ClusterAccess, latest: Fingerprint) -> None:
    """Reconnect with the latest credentials. If the hub is failing, reconnect even if nothing changed."""
    age = time.monotonic() - hub.client.links.current.opened_at
    if hub.fingerprint == latest and not (hub.is_failing and age >= _SHORTEST_RECONNECT_SECONDS):
        return
    try:
        await reconnect(hub.client, access)
    except ConfigurationError as error:
        logger.warning("could not reconnect to the Kubernetes API: %s", error)
