"""The connection of a client to its API server, which is replaced when its configuration has changed."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import aiohttp

from .credentials import Credentials
from .endpoint import Fingerprint

logger = logging.getLogger(__name__)

# If many requests fail at the same moment, only one of them reads the configuration.
SHORTEST_READ_SECONDS = 1.0


@dataclass(eq=False)
class Link:
    """One server, one set of credentials, and the pool of connections for them.

    Attributes:
        session: The session with the TLS settings. It is closed with the link.
        server: The address `https://host:port`, with a path if the API has one.
        credentials: Read before every request.
        fingerprint: The fingerprint of the configuration of this link.
        proxy: The proxy URL of the kubeconfig, if any.
        tls_server_name: The name to expect in the server's certificate, if it differs from the host.
        renewal: What to do if the API server rejects the credentials, for error messages.
    """

    session: aiohttp.ClientSession
    server: str
    credentials: Credentials
    fingerprint: Fingerprint
    proxy: str | None = None
    tls_server_name: str | None = None
    renewal: str = ""

    def __post_init__(self) -> None:
        self.server = self.server.rstrip("/")
        self.opened_at = time.monotonic()
        self._users = 0
        self._retired = False

    async def __aenter__(self) -> None:
        """Keep the session open until the end of the context, even if the link is replaced in the meantime."""
        self._users += 1

    async def __aexit__(self, *_: object) -> None:
        self._users -= 1
        if self._retired and not self._users:
            await self.session.close()

    async def retire(self) -> None:
        """Close the session as soon as no request uses it."""
        self._retired = True
        if not self._users:
            await self.session.close()


Reopen: TypeAlias = Callable[[Link, bool], Awaitable[Link | None]]
"""Reads the configuration again.

Receives the link that failed, and whether the API server rejected its credentials. Returns a new link if the
configuration has changed, else None.
"""


class Links:
    """The current link of a client, and replaced links that are still in use.

    Args:
        first: The first link.
        reopen: Called after a failure. None if the configuration cannot change.

    Attributes:
        current: The link to use.
        problem: Why the configuration could not be reloaded. Empty if it could.
        on_replaced: Called after the current link was replaced.
    """

    def __init__(self, first: Link, reopen: Reopen | None = None) -> None:
        self.current = first
        self._reopen = reopen
        self._all = {first}
        self._read_at: float | None = None
        self.problem = ""
        self.on_replaced: Callable[[], None] | None = None
        self._lock = asyncio.Lock()

    async def renew(self, failed: Link, *, rejected: bool) -> bool:
        """Read the configuration again after `failed` did not work.

        Args:
            failed: The link that was used.
            rejected: Whether the API server rejected its credentials.

        Returns:
            Whether the current link differs from `failed`.
        """
        async with self._lock:
            if self.current is failed and self._reopen is not None and not self._was_just_read():
                self._read_at = time.monotonic()
                try:
                    found = await self._reopen(failed, rejected)
                except Exception as error:
                    # The configuration may be incomplete for a moment. The error of the request is more important.
                    self.problem = str(error)
                else:
                    self.problem = ""
                    if found is not None:
                        await self.replace(found)
            return self.current is not failed

    async def replace(self, link: Link) -> None:
        """Use `link` from now on. Requests in progress finish on the old link."""
        old, self.current = self.current, link
        self._all = {one for one in self._all if not one.session.closed} | {link}
        if old.fingerprint == link.fingerprint:
            logger.debug("reconnected to the Kubernetes API at %s; the configuration has not changed", link.server)
        else:
            logger.info("reloaded the configuration of the Kubernetes client: %s", _describe_change(old, link))
        if self.on_replaced is not None:
            self.on_replaced()
        await old.retire()

    async def close(self) -> None:
        """Close every connection."""
        for link in self._all:
            await link.session.close()

    def _was_just_read(self) -> bool:
        return self._read_at is not None and time.monotonic() - self._read_at < SHORTEST_READ_SECONDS


def _describe_change(old: Link, new: Link) -> str:
    if old.server != new.server:
        return f"the server changed from {old.server} to {new.server}"
    changed = {
        "a new certificate authority or new settings": old.fingerprint.connection != new.fingerprint.connection,
        "new credentials": old.fingerprint.credentials != new.fingerprint.credentials,
    }
    return f"{', and '.join(name for name, has in changed.items() if has)}, for {new.server}"
