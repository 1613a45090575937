"""One watch for all followers of applications in a namespace."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import Protocol, TypeAlias, TypeVar

from ...core.kubernetes.json_object import JsonObject
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.endpoint import Fingerprint
from ...kube.errors import TRANSIENT, Gone, KubeError, NotFound
from ...kube.listwatch import Change, Changed, Listed, list_and_watch
from ...kube.resources import ResourceType
from ..access.outage_tolerance import OUTAGE_TOLERANCE_SECONDS, OutageLog, OutageTolerance, Report
from ..access.reference import ApplicationDeleted, ApplicationReference
from ..access.versions import ServedVersions
from .mailbox import Mailbox
from .probe import Probe

logger = logging.getLogger(__name__)

# A triggerer that receives a thousand tasks must not open a thousand connections at once.
CONCURRENT_READS = 16
# Gone: the first list has many pages, and the API does not keep the version long enough to return the last one.
_PASSING = (*TRANSIENT, Gone)

_Scope: TypeAlias = tuple[ResourceType, str]
_Answer = TypeVar("_Answer")


class Observer(Protocol):
    """Receives every change of a watch, in addition to the followers of single applications.

    An observer that raises an error receives it through `fail`, and nothing afterwards. The watch continues.
    """

    def put(self, change: Change) -> None:
        """Receive a change. The first change after the observer joins is a list."""

    def interrupt(self, error: KubeError) -> None:
        """Receive a failure of the watch, which continues later."""

    def resume(self) -> None:
        """Receive the end of a failure."""

    def fail(self, error: Exception) -> None:
        """Receive the error that has ended the watch, or that the observer itself has raised."""


class WatchHub:
    """Distributes the changes of the applications in a namespace to their followers.

    There is one watch for each kind and namespace, whatever the number of followers. It starts with the first
    follower and ends with the last.

    Args:
        client: The client of the cluster. It stays open while there are followers.
        outage_tolerance: For how many seconds outages of the API are tolerated.

    Attributes:
        client: The client of the cluster.
        probe: Waits until the API server answers.
        is_failing: Whether the latest request or watch failed.
    """

    def __init__(self, client: KubeClient, *, outage_tolerance: float = OUTAGE_TOLERANCE_SECONDS) -> None:
        self.client = client
        self._outage_tolerance = outage_tolerance
        self._streams: dict[_Scope, _Stream] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._reading = asyncio.Semaphore(CONCURRENT_READS)
        self.probe = Probe()
        self._versions = ServedVersions(client)
        self._recovered = asyncio.Event()
        self.is_failing = False
        client.links.on_replaced = self.retry_now

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the current configuration."""
        return self.client.links.current.fingerprint

    async def follow(
        self, reference: ApplicationReference, report: Report = logger.log
    ) -> AsyncGenerator[JsonObject, None]:
        """Yield the current application, then the application after each change. Quick changes may be combined.

        Followers share the objects: do not change them. To stop early, leave the iteration through
        `contextlib.aclosing`.

        Args:
            reference: The application.
            report: Where to report an outage of the API server.

        Raises:
            ApplicationDeleted: The application was deleted, even if another application now has its name.
                Its last known content is yielded before.
            KubeError: The API rejected the request, or could not be reached for longer than the hub tolerates.
        """
        last: JsonObject | None = None
        async with aclosing(self._read_changes(reference, report)) as news:
            async for current in news:
                if last is None or _is_newer(current, last):
                    last = current
                    yield current
        raise ApplicationDeleted(reference, last)

    async def _read_changes(self, reference: ApplicationReference, report: Report) -> AsyncGenerator[JsonObject, None]:
        """Yield the contents of the application, possibly repeated or out of order, until it is deleted."""
        # This function reports the outage and not the watch, because Airflow shows a log line to the task in whose
        # context it is written.
        connection = self.fingerprint.connection
        with self._open_mailbox(reference) as mailbox:
            outage = OutageLog(str(reference), report, mailbox.tolerance)
            while True:
                await mailbox.wake.wait()
                await mailbox.report_outage(outage, self.client.server)
                content = mailbox.take()
                if content.error is not None:
                    raise content.error
                if content.removed is not None:
                    yield content.removed
                    return
                if content.changed is not None:
                    yield content.changed
                if content.needs_recheck:
                    # Only a live read can distinguish a deletion from a watch that lags behind.
                    current = await self._read(reference, mailbox, outage)
                    if current is None and connection != self.fingerprint.connection:
                        raise _build_not_found(reference, self.client.server)
                    if current is None:
                        return
                    connection = self.fingerprint.connection
                    yield current

    async def read(self, resource: ResourceType, name: str, namespace: str) -> JsonObject | None:
        """Read the object with the given name. Return None if it does not exist. Outages are tolerated as in `follow`.

        Raises:
            KubeError: The API rejected the request, or could not be reached for longer than the hub tolerates.
        """
        outage = self._build_outage_log(f"{resource.kind} {namespace}/{name}")
        return await self._retry_request(lambda: self._get(resource, name, namespace), outage)

    async def choose_version(self, wanted: ResourceType, subject: str) -> ResourceType:
        """Choose a version of the kind that the cluster serves. Outages are tolerated as in `follow`.

        Args:
            wanted: The kind in the requested version.
            subject: What the caller follows, for messages.

        Raises:
            KindNotServed: The cluster serves no suitable version.
            KubeError: The API could not be reached for longer than the hub tolerates.
        """
        return await self._retry_request(lambda: self._versions.choose(wanted), self._build_outage_log(subject))

    def retry_now(self) -> None:
        """Wake everything that pauses before it sends another request to the API server."""
        self._recovered.set()
        self._recovered = asyncio.Event()

    async def pause(self, seconds: float) -> None:
        """Wait between two attempts. Return early if another request succeeds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._recovered.wait()

    def record_success(self) -> None:
        """Record that the API server answered. Failed requests are then repeated at once."""
        if self.is_failing:
            self.is_failing = False
            self.retry_now()

    def _build_outage_log(self, subject: str) -> OutageLog:
        return OutageLog(subject, logger.log, OutageTolerance(self._outage_tolerance))

    async def _get(self, resource: ResourceType, name: str, namespace: str) -> JsonObject | None:
        async with self._reading:
            try:
                return await self.client.get(resource, name, namespace)
            except NotFound:
                return None

    async def _retry_request(self, ask: Callable[[], Awaitable[_Answer]], outage: OutageLog) -> _Answer:
        tolerance, backoff = OutageTolerance(self._outage_tolerance), Backoff()
        while True:
            try:
                answer = await ask()
            except _PASSING as error:
                self.is_failing = True
                tolerance.record_failure(error)
                await outage.record_failure(error)
                await self.pause(backoff.next())
            else:
                self.record_success()
                outage.record_success(self.client.server)
                return answer

    async def _read(self, reference: ApplicationReference, mailbox: Mailbox, outage: OutageLog) -> JsonObject | None:
        async def get() -> JsonObject | None:
            found = await self._get(reference.resource, reference.name, reference.namespace)
            # While the watch fails, the success of this request does not end the outage.
            await mailbox.report_outage(outage, self.client.server)
            return found

        found = await self._retry_request(get, outage)
        return found if found is not None and found["metadata"]["uid"] == reference.uid else None

    @contextmanager
    def _open_mailbox(self, reference: ApplicationReference) -> Iterator[Mailbox]:
        stream = self._open_stream(reference.resource, reference.namespace)
        mailbox = Mailbox(reference.uid, OutageTolerance(self._outage_tolerance))
        stream.followers[reference.name].add(mailbox)
        try:
            yield mailbox
        finally:
            stream.leave(reference.name, mailbox)
            self._end_if_unused(stream)

    @contextmanager
    def observe(self, resource: ResourceType, namespace: str, observer: Observer) -> Iterator[None]:
        """Deliver every change of a namespace to an observer. The observer shares the watch of the followers.

        Args:
            resource: The kind of the objects.
            namespace: The namespace.
            observer: Receives the changes.
        """
        stream = self._open_stream(resource, namespace)
        stream.observers.add(observer)
        if stream.is_listed:  # nothing keeps the objects of an earlier list
            self._end(stream.task)
            stream.start()
        try:
            yield
        finally:
            stream.observers.discard(observer)
            self._end_if_unused(stream)

    def _open_stream(self, resource: ResourceType, namespace: str) -> "_Stream":
        stream = self._streams.get((resource, namespace))
        if stream is None or stream.task.done():
            stream = self._streams[resource, namespace] = _Stream(self, resource, namespace)
        return stream

    def _end_if_unused(self, stream: "_Stream") -> None:
        if stream.followers or stream.observers:
            return
        self._end(stream.task)
        if self._streams.get(stream.scope) is stream:
            del self._streams[stream.scope]

    def _end(self, task: asyncio.Task[None]) -> None:
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        task.cancel()

    async def close(self) -> None:
        """End every watch and wait until its connection is released. There must be no followers left."""
        for stream in self._streams.values():
            self._end(stream.task)
        self._streams.clear()
        await asyncio.gather(*self._ending, return_exceptions=True)


class _Stream:
    """The watch of one kind in one namespace, its followers and its observers."""

    def __init__(self, hub: WatchHub, resource: ResourceType, namespace: str) -> None:
        self._hub = hub
        self._resource = resource
        self._namespace = namespace
        self._interrupted = False
        self.scope = (resource, namespace)
        self.followers: defaultdict[str, set[Mailbox]] = defaultdict(set)
        self.observers: set[Observer] = set()
        self.start()

    def start(self) -> None:
        """List and watch in a new task."""
        self.is_listed = False
        name = f"watch {self._resource.qualified_name} in namespace {self._namespace}"
        self.task = asyncio.create_task(self._run(), name=name)

    def leave(self, name: str, mailbox: Mailbox) -> None:
        self.followers[name].discard(mailbox)
        if not self.followers[name]:
            del self.followers[name]

    async def _run(self) -> None:
        backoff = Backoff()
        while True:
            try:
                await self._dispatch_all()
            except _PASSING as error:  # the first list failed; later failures are reported through `on_error`
                self._report(error)
            except Exception as error:
                self._fail_all(error)
                return
            await self._hub.pause(backoff.next())

    async def _dispatch_all(self) -> None:
        changes = list_and_watch(
            self._hub.client,
            self._resource,
            self._namespace,
            on_error=self._report,
            on_alive=self._resume,
            wait=self._hub.pause,
            after_failure=self._interrupted,
        )
        async with aclosing(changes) as stream:
            async for change in stream:
                self._dispatch(change)

    def _dispatch(self, change: Change) -> None:
        self._notify(lambda observer: observer.put(change))
        if not isinstance(change, Listed):
            for mailbox in self.followers.get(change.object["metadata"]["name"], ()):
                mailbox.put(change)
            return
        self.is_listed = True
        present = {item["metadata"]["name"]: Changed(item) for item in change.items}
        for name, mailboxes in self.followers.items():
            for mailbox in mailboxes:
                if name in present:
                    mailbox.put(present[name])
                else:
                    mailbox.request_recheck()

    def _report(self, error: KubeError) -> None:
        if not isinstance(error, _PASSING):  # waiting does not restore a missing permission
            raise error
        self._interrupted = self._hub.is_failing = True
        for mailbox in self._list_mailboxes():
            mailbox.interrupt(error)
        self._notify(lambda observer: observer.interrupt(error))

    def _resume(self) -> None:
        if self._interrupted:
            self._interrupted = False
            self._hub.record_success()
            for mailbox in self._list_mailboxes():
                mailbox.resume()
            self._notify(lambda observer: observer.resume())

    def _fail_all(self, error: Exception) -> None:
        for mailbox in self._list_mailboxes():
            mailbox.fail(error)
        for observer in tuple(self.observers):
            self._fail(observer, error)

    def _notify(self, call: Callable[[Observer], None]) -> None:
        """Call each observer. An observer that raises leaves: its error must not end the watch of the others."""
        for observer in tuple(self.observers):
            try:
                call(observer)
            except Exception as error:
                self.observers.discard(observer)
                self._fail(observer, error)

    def _fail(self, observer: Observer, error: Exception) -> None:
        try:
            observer.fail(error)
        except Exception:
            logger.exception(
                "could not notify a trigger that the watch of %s in namespace %s failed",
                self._resource.qualified_name,
                self._namespace,
            )

    def _list_mailboxes(self) -> Iterator[Mailbox]:
        return (mailbox for mailboxes in self.followers.values() for mailbox in mailboxes)


def _is_newer(one: JsonObject, other: JsonObject) -> bool:
    """Return whether `one` is a later content than `other`, by their resource versions.

    Kubernetes defines resource versions as comparable decimal numbers. For other values, only equality is compared.
    """
    versions = [str(item["metadata"].get("resourceVersion", "")) for item in (one, other)]
    if all(version.isdecimal() for version in versions):
        return int(versions[0]) > int(versions[1])
    return versions[0] != versions[1] or not versions[0]


def _build_not_found(reference: ApplicationReference, server: str) -> KubeError:
    message = f"not found at {server}; the connection now points to this server, which may be another cluster"
    kind = reference.resource.qualified_name
    return NotFound(404, "NotFound", message, "get", kind, reference.namespace, reference.name)
