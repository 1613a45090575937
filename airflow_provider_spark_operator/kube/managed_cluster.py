"""A managed cluster of a cloud: the cloud's API knows its address and issues tokens that expire."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from .endpoint import Access, Endpoint, Fingerprint, digest
from .errors import ConfigurationError

logger = logging.getLogger(__name__)

T = TypeVar("T")

# A call of a cloud's API that does not answer must not delay requests that still have a valid token.
ANSWER_SECONDS = 30.0
# A thousand tasks that fail at the same time must not send a thousand requests to the cloud's API.
SHORTEST_LOCATE_SECONDS = 15.0
SHORTEST_ISSUE_SECONDS = 5.0
# Like client-go, renew tokens before they expire. A short-lived token is renewed after 80 % of its lifetime.
_LONGEST_MARGIN_SECONDS = 120.0


@dataclass(frozen=True)
class ClusterLocation:
    """The address of a managed cluster.

    Attributes:
        server: The address `https://host` of the API server.
        authority: The certificate authorities of the API server as PEM text. If None, the system's are used.
    """

    server: str
    authority: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class BearerToken:
    """A token for the API server.

    Attributes:
        value: The token. `repr` does not show it.
        expires_at: When the API server stops accepting the token, in seconds since the epoch.
    """

    value: str = field(repr=False)
    expires_at: float


class ManagedCluster:
    """A cluster whose address and tokens come from a cloud. All clients of a process share one object per cluster.

    The address is kept until a request fails. A token is kept until shortly before it expires, or until the API
    server rejects it. Calls of the cloud's API are shared: callers that wait at the same time send one request.

    Args:
        title: The cluster and its cloud, for messages: `EKS cluster 'analytics'`.
        key: The settings that select the cluster and the identity, without secrets.
        renewal: What to do if the API server rejects the tokens, for messages.
        locate: Reads the address of the cluster from the cloud.
        issue_token: Issues a new token.
    """

    def __init__(
        self,
        *,
        title: str,
        key: str,
        renewal: str,
        locate: Callable[[], Awaitable[ClusterLocation]],
        issue_token: Callable[[], Awaitable[BearerToken]],
    ) -> None:
        self.title = title
        self.key = key
        self.renewal = renewal
        self._locating = _SharedCall(locate)
        self._issuing = _SharedCall(issue_token)
        self._location: ClusterLocation | None = None
        self._located_at = 0.0
        self._token: BearerToken | None = None
        self._renew_at = 0.0
        self._asked_at = 0.0

    def __repr__(self) -> str:
        return f"<ManagedCluster {self.title}>"

    async def find_location(self, *, again: bool = False) -> ClusterLocation:
        """Return the address of the cluster.

        Args:
            again: Read the address again, because the API server at the known address does not answer.

        Raises:
            ConfigurationError: The cloud's API does not return the address.
        """
        age = time.monotonic() - self._located_at
        if self._location is None or (again and age >= SHORTEST_LOCATE_SECONDS):
            self._location = await self._locating.join(f"could not find {self.title}")
            self._located_at = time.monotonic()
        return self._location

    def compute_fingerprint(self, location: ClusterLocation, *settings: object) -> Fingerprint:
        """Return digests of the address and the identity. A new token is not a change of the identity."""
        connection = digest(self.key, location.server, location.authority, *settings)
        return Fingerprint(connection=connection, credentials=digest(self.key))

    async def open(self, location: ClusterLocation) -> Access:
        """Open the access to the cluster, with a token that is valid now.

        Raises:
            ConfigurationError: The cloud issues no token.
        """
        await self.read_headers()
        endpoint = Endpoint(server=location.server.rstrip("/"), authority=location.authority)
        return Access(endpoint, self.read_headers, self.renew_token, reload_on_time=False)

    async def read_headers(self) -> Mapping[str, str]:
        """Return the authentication header for a request. Renew the token if it expires soon.

        Raises:
            ConfigurationError: There was never a token, and the cloud issues none.
        """
        if self._token is None:
            self._token = await self._issue()
        elif time.time() >= self._renew_at and self._is_issue_allowed():
            try:
                self._token = await self._issue()
            except ConfigurationError as error:
                # The old token may still be valid, and the API server decides that.
                logger.warning("could not renew the token for %s, so the old token stays in use: %s", self.title, error)
        return {"Authorization": f"Bearer {self._token.value}"}

    async def renew_token(self) -> None:
        """Issue another token, because the API server rejected the current one.

        Raises:
            ConfigurationError: The cloud issues no token.
        """
        if self._is_issue_allowed():
            self._token = await self._issue()

    def _is_issue_allowed(self) -> bool:
        return time.monotonic() - self._asked_at >= SHORTEST_ISSUE_SECONDS

    async def _issue(self) -> BearerToken:
        began = time.time()
        try:
            token = await self._issuing.join(f"could not get a token for {self.title}")
        finally:
            self._asked_at = time.monotonic()
        lifetime = max(0.0, token.expires_at - began)
        self._renew_at = token.expires_at - min(_LONGEST_MARGIN_SECONDS, lifetime / 5)
        return token


class _SharedCall(Generic[T]):
    """A call that all callers in an event loop share while it runs.

    The call continues if its callers are cancelled: Airflow's connection to its supervisor breaks if a request is
    interrupted.
    """

    def __init__(self, call: Callable[[], Awaitable[T]]) -> None:
        self._call = call
        self._running: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[T]] = WeakKeyDictionary()

    async def join(self, failure: str) -> T:
        """Start the call, or wait for the running one.

        Args:
            failure: What has failed if the call fails, for the message.

        Raises:
            ConfigurationError: The call failed or takes too long.
        """
        loop = asyncio.get_running_loop()
        running = self._running.get(loop)
        if running is None:
            running = self._running[loop] = asyncio.ensure_future(self._call())
            running.add_done_callback(self._forget)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.shield(running)
        except TimeoutError as error:
            raise ConfigurationError(f"{failure}: no answer within {ANSWER_SECONDS:.0f} s") from error
        except Exception as error:
            # The libraries of the clouds raise many kinds of exceptions.
            raise ConfigurationError(f"{failure}: {str(error) or type(error).__name__}") from error

    def _forget(self, done: "asyncio.Future[T]") -> None:
        self._running.pop(done.get_loop(), None)
        if not done.cancelled():
            done.exception()  # otherwise asyncio would log the exception as never retrieved
