"""The headers that say who we are, kept fresh while the process lives."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

logger = logging.getLogger(__name__)

# client-go reads a token file again after a minute, and so do we for every credential that can change.
RELOAD_SECONDS = 60.0
# A token that the API refuses is not read again more often than this: plugins are slow and may ask people.
SHORTEST_RELOAD_SECONDS = 5.0


class Credentials:
    """Authentication headers, read again in time.

    Args:
        known: Tells the present headers.
        reload: Reads token file, credential plugin or identity provider again, for `known` to tell.
        reload_on_time: Whether reloading is cheap enough to be done every minute. A credential plugin
            that names no expiry is run again only when the API turns its token down.
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
        """The headers for the next request; empty for a client certificate or no authentication."""
        if self._reload_on_time and self._compute_age() >= RELOAD_SECONDS:
            await self._reload_once(await self._known())
        return await self._known()

    async def renew(self, refused: Mapping[str, str]) -> bool:
        """Load credentials other than the `refused` headers; return whether there are any."""
        if await self._known() == refused:
            await self._reload_once(refused)
        return await self._known() != refused

    async def _reload_once(self, old: Mapping[str, str]) -> None:
        # One reload for all requests that wait here: a thousand followers must not start a thousand plugins.
        async with self._lock:
            if await self._known() != old or self._compute_age() < SHORTEST_RELOAD_SECONDS:
                return
            self._loaded_at = time.monotonic()
            try:
                await self._reload()
            except Exception as error:
                # Whatever a plugin raises: the old token may still be good, and the API is the judge of that.
                logger.warning("could not reload the credentials; the old ones stay in use: %s", error)

    def _compute_age(self) -> float:
        return time.monotonic() - self._loaded_at
