"""Authentication headers that are reloaded while the process runs."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

logger = logging.getLogger(__name__)

# Like client-go, reload credentials that can change every minute.
RELOAD_SECONDS = 60.0
# The minimum time between two reloads after a rejected token: plugins are slow and may prompt the user.
SHORTEST_RELOAD_SECONDS = 5.0


class Credentials:
    """Authentication headers that are reloaded when they are old or rejected.

    Args:
        known: Returns the current headers.
        reload: Reloads the token file, the credential plugin or the identity provider.
        reload_on_time: Whether to reload every minute. A credential plugin without an expiry is run again only when
            the API rejects its token.
    """

    def __init__(
        self,
        known: Callable[[], Awaitable[Mapping[str, str]]],
        reload: Callable[[], Awaitable[None]],
        *,
        reload_on_time: bool,
    ) -> None:
        self._known = known
        self._reload = reload
        self._reload_on_time = reload_on_time
        self._loaded_at = time.monotonic()
        self._lock = asyncio.Lock()

    async def get_headers(self) -> Mapping[str, str]:
        """Return the headers for the next request. A client certificate needs no headers."""
        if self._reload_on_time and self._compute_age() >= RELOAD_SECONDS:
            await self._reload_once(await self._known())
        return await self._known()

    async def renew(self, refused: Mapping[str, str]) -> bool:
        """Load credentials other than the `refused` headers. Return whether there are any."""
        if await self._known() == refused:
            await self._reload_once(refused)
        return await self._known() != refused

    async def _reload_once(self, old: Mapping[str, str]) -> None:
        # All waiting requests share one reload: a thousand followers must not start a thousand plugins.
        async with self._lock:
            if await self._known() != old or self._compute_age() < SHORTEST_RELOAD_SECONDS:
                return
            self._loaded_at = time.monotonic()
            try:
                await self._reload()
            except Exception as error:
                # A plugin may raise any exception. The old token may still be valid, and the API decides that.
                logger.warning("could not reload the credentials, so the old credentials stay in use: %s", error)

    def _compute_age(self) -> float:
        return time.monotonic() - self._loaded_at
