"""One watch for all who wait for applications of a namespace."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
from airflow_provider_spark_operator.follow.patience import Patience
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.versions import ServedVersions
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import (
    Gone,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from airflow_provider_spark_operator.kube.listwatch import Change, Changed, Listed, Removed, list_and_watch
from airflow_provider_spark_operator.kube.resources import ResourceType
from airflow_provider_spark_operator.kube.transport import JsonObject

logger = logging.getLogger(__name__)

# An API server that is being replaced is back within minutes; a job need not fail for that.
PATIENCE_SECONDS = 900.0
# A triggerer that takes over a thousand tasks must not open a thousand connections at once.
CONCURRENT_READS = 16
# Gone: a first list of many pages took so long that the rest of it is no longer kept.
_PASSING = (Unreachable, ServerError, TooManyRequests, Gone)

_Scope: TypeAlias = tuple[ResourceType, str]
_Answer = TypeVar("_Answer")


class WatchHub:
    """Hands the changes of a namespace's applications to those who follow one of them.

    There is one watch per kind and namespace, however many follow; an event costs a look into a
    dictionary. The watch begins with the first follower and ends with the last.

    Args:
        client: Stays open as long as anyone follows.
        patience: Seconds for which the API may be unreachable before followers are told.
    """

    def __init__(self, client: KubeClient, *, patience: float = PATIENCE_SECONDS) -> None:
        self.client = client
        self._patience = patience
        self._streams: dict[_Scope, _Stream] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._reading = asyncio.Semaphore(CONCURRENT_READS)
        self._versions = ServedVersions(client)

    async def follow(self, reference: ApplicationReference) -> AsyncGenerator[JsonObject, None]:
        """The application as it is now, then after each change; quick changes may be drawn together.

        Objects are shared with other followers: do not change them. Leave early only through
        `contextlib.aclosing`.

        Raises:
            ApplicationDeleted: It is gone, also if another one has taken its name. Its last content is
                yielded before, as far as it is known.
            KubeError: The API refuses to show it, or was unreachable for longer than the patience.
        """
        last: JsonObject | None = None
        async with aclosing(self._news(reference)) as news:
            async for current in news:
                if last is None or _is_newer(current, last):
                    last = current
                    yield current
        raise ApplicationDeleted(reference, last)

    async def _news(self, reference: ApplicationReference) -> AsyncGenerator[JsonObject, None]:
        """The application's contents, possibly repeated or out of order, until it is gone."""
        with self._mailbox(reference) as mailbox:
            while True:
                await mailbox.wake.wait()
                content = mailbox.take()
                if content.error is not None:
                    raise content.error
                if content.removed is not None:
                    yield content.removed
                    return
                if content.changed is not None:
                    yield content.changed
                if content.recheck:
                    # Only a live read can tell a deletion from a watch that lags behind.
                    current = await self._read(reference)
                    if current is None:
                        return
                    yield current

    async def read(self, resource: ResourceType, name: str, namespace: str) -> JsonObject | None:
        """The application of that name as it is now; None if there is none. An outage is borne as in `follow`.

        Raises:
            KubeError: The API refuses to show it, or was unreachable for longer than the patience.
        """

        async def get() -> JsonObject | None:
            async with self._reading:
                try:
                    return await self.client.get(resource, name, namespace)
                except NotFound:
                    return None

        return await self._patiently(get)

    async def served(self, wanted: ResourceType) -> ResourceType:
        """The kind in a version that the cluster serves. An outage is borne as in `follow`.

        Raises:
            KindNotServed: There is no such version.
            KubeError: The API was unreachable for longer than the patience.
        """
        return await self._patiently(lambda: self._versions.choose(wanted))

    async def _patiently(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        patience, backoff = Patience(self._patience), Backoff()
        while True:
            try:
                return await ask()
            except _PASSING as error:
                patience.failed(error)
                await asyncio.sleep(backoff.next())

    async def _read(self, reference: ApplicationReference) -> JsonObject | None:
        found = await self.read(reference.resource, reference.name, reference.namespace)
        return found if found is not None and found["metadata"]["uid"] == reference.uid else None

    @contextmanager
    def _mailbox(self, reference: ApplicationReference) -> Iterator["_Mailbox"]:
        scope = (reference.resource, reference.namespace)
        stream = self._streams.get(scope)
        if stream is None or stream.task.done():
            stream = self._streams[scope] = _Stream(self.client, *scope, self._patience)
        mailbox = _Mailbox(reference.uid)
        stream.followers[reference.name].add(mailbox)
        try:
            yield mailbox
        finally:
            stream.leave(reference.name, mailbox)
            if not stream.followers:
                self._end(stream.task)
                if self._streams.get(scope) is stream:
                    del self._streams[scope]

    def _end(self, task: asyncio.Task[None]) -> None:
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        task.cancel()

    async def close(self) -> None:
        """End every watch and wait until its connection is given back. Nobody may follow any more."""
        for stream in self._streams.values():
            self._end(stream.task)
        self._streams.clear()
        await asyncio.gather(*self._ending, return_exceptions=True)


@dataclass
class _Content:
    changed: JsonObject | None = None
    removed: JsonObject | None = None
    error: BaseException | None = None
    recheck: bool = False


@dataclass(eq=False)
class _Mailbox:
    """The latest news for one follower; a slow follower costs no memory."""

    uid: str
    # A new follower reads its application live: the watch may lag behind, or have begun long ago.
    content: _Content = field(default_factory=lambda: _Content(recheck=True))
    wake: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.wake.set()

    def take(self) -> _Content:
        content, self.content = self.content, _Content()
        self.wake.clear()
        return content

    def put(self, change: Changed | Removed) -> None:
        ours = change.object["metadata"]["uid"] == self.uid
        if ours and isinstance(change, Removed):
            self.content.removed = change.object
        elif ours:
            self.content.changed = change.object
        elif isinstance(change, Changed):
            # A namesake: before ours if the watch lags behind, after it if ours is gone.
            self.content.recheck = True
        else:
            return
        self.wake.set()

    def recheck(self) -> None:
        self.content.recheck = True
        self.wake.set()

    def fail(self, error: BaseException) -> None:
        self.content.error = error
        self.wake.set()


class _Stream:
    """The watch of one kind in one namespace, and who follows what in it."""

    def __init__(self, client: KubeClient, resource: ResourceType, namespace: str, patience: float) -> None:
        self._client = client
        self._resource = resource
        self._namespace = namespace
        self._patience = Patience(patience)
        self.followers: defaultdict[str, set[_Mailbox]] = defaultdict(set)
        self.task = asyncio.create_task(self._run(), name=f"watch {resource.qualified_name} in namespace {namespace}")

    def leave(self, name: str, mailbox: _Mailbox) -> None:
        self.followers[name].discard(mailbox)
        if not self.followers[name]:
            del self.followers[name]

    async def _run(self) -> None:
        backoff = Backoff()
        while True:
            try:
                await self._dispatch_all()
            except _PASSING as error:  # the first list failed: later failures do not come here
                if not self._can_wait(error):
                    return
            except Exception as error:
                self._tell_all(error)
                return
            await asyncio.sleep(backoff.next())

    def _can_wait(self, error: KubeError) -> bool:
        try:
            self._report(error)
        except KubeError:
            self._tell_all(error)
            return False
        return True

    async def _dispatch_all(self) -> None:
        changes = list_and_watch(
            self._client,
            self._resource,
            self._namespace,
            on_error=self._report,
            on_alive=self._patience.succeeded,
        )
        async with aclosing(changes) as stream:
            async for change in stream:
                self._dispatch(change)

    def _dispatch(self, change: Change) -> None:
        if not isinstance(change, Listed):
            for mailbox in self.followers.get(change.object["metadata"]["name"], ()):
                mailbox.put(change)
            return
        present = {item["metadata"]["name"]: Changed(item) for item in change.items}
        for name, mailboxes in self.followers.items():
            for mailbox in mailboxes:
                if name in present:
                    mailbox.put(present[name])
                else:
                    mailbox.recheck()

    def _report(self, error: KubeError) -> None:
        if not isinstance(error, _PASSING):  # a missing right does not come by waiting
            raise error
        logger.warning("the watch is interrupted and will be resumed: %s", error)
        self._patience.failed(error)

    def _tell_all(self, error: BaseException) -> None:
        for mailboxes in self.followers.values():
            for mailbox in mailboxes:
                mailbox.fail(error)


def _is_newer(one: JsonObject, other: JsonObject) -> bool:
    """Whether `one` is a later content than `other`, by their resource versions.

    Kubernetes defines them as comparable decimal numbers; where a server has others, only equality counts.
    """
    versions = [str(item["metadata"].get("resourceVersion", "")) for item in (one, other)]
    if all(version.isdecimal() for version in versions):
        return int(versions[0]) > int(versions[1])
    return versions[0] != versions[1] or not versions[0]


@dataclass
class _SharedHub:
    users: int = 0
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    hub: WatchHub | None = None


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _SharedHub]] = WeakKeyDictionary()


@asynccontextmanager
async def shared_hub(access: ClusterAccess) -> AsyncIterator[WatchHub]:
    """The hub of a cluster in the running event loop: made by the first user, closed after the last.

    Raises:
        ConfigurationError: No client can be made for `access`.
    """
    hubs = _shared.setdefault(asyncio.get_running_loop(), {})
    shared = hubs.setdefault(access.key, _SharedHub())
    shared.users += 1
    try:
        async with shared.opening:
            if shared.hub is None:
                shared.hub = WatchHub(await open_client(access))
        yield shared.hub
    finally:
        shared.users -= 1
        if shared.users == 0:
            # Out of the table before anything is awaited: the next user shall begin anew.
            if hubs.get(access.key) is shared:
                del hubs[access.key]
            if shared.hub is not None:
                await shared.hub.close()
                await shared.hub.client.close()
