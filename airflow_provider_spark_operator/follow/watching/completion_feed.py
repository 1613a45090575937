"""Deliver the end of each application in a namespace to any number of receivers, from one watch."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Progress
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.problems import cut_middle
from ...core.verdict.driver_facts import has_more_facts
from ...core.verdict.verdict import Verdict, judge_progress
from ...kube.backoff import Backoff
from ...kube.errors import KubeError
from ...kube.listwatch import Change, Listed, Removed
from ...kube.resources import ResourceType
from ..access.reference import ApplicationReference
from ..ending.end import EndUnknown, find_final_progress, find_final_progress_with_pods, is_deleted
from .watch import WatchHub

logger = logging.getLogger(__name__)

# The errors of a status that no operator writes.
_MALFORMED = (AttributeError, LookupError, TypeError, ValueError)
# A missing permission is usually granted by a person.
_LONGEST_PAUSE_SECONDS = 60.0
# Spark's messages can contain a whole stack trace. Airflow stores the sentence with every asset event.
_LONGEST_SENTENCE = 1000


@dataclass(frozen=True)
class Completion:
    """The end of one application.

    Attributes:
        reference: The application.
        labels: The labels of the application when it ended.
        verdict: How the application ended. The sentence is shortened.
    """

    reference: ApplicationReference
    labels: Mapping[str, str]
    verdict: Verdict


def read_completion(resource: Mapping[str, Any], kind: ResourceType, seen: Progress | None = None) -> Completion | None:
    """Return the end of an application. None while it runs, and if it was deleted before it ended.

    Args:
        resource: The application as the API returned it.
        kind: The kind of the application.
        seen: The final progress according to the driver pods. None to judge from the status alone.
    """
    seen = seen or find_final_progress(resource)
    if seen is None or is_deleted(resource):
        return None
    verdict = judge_progress(seen)
    verdict = replace(verdict, sentence=cut_middle(verdict.sentence, _LONGEST_SENTENCE))
    labels = dict(resource["metadata"].get("labels") or {})
    return Completion(ApplicationReference.of(resource, kind), labels, verdict)


class CompletionInbox:
    """The completions for one receiver, in the order in which the watch reported them.

    Args:
        is_wanted: Whether the receiver wants a completion.
    """

    def __init__(self, is_wanted: Callable[[Completion], bool]) -> None:
        self._is_wanted = is_wanted
        self._present: list[Completion] | None = None
        self._new: list[Completion] = []
        self._wake = asyncio.Event()

    async def read_present(self) -> list[Completion]:
        """Wait for the first list of the namespace, and return the applications in it that had already ended."""
        while self._present is None:
            await self._wait()
        present, self._present = self._present, []
        return present

    async def read_new(self) -> list[Completion]:
        """Wait for applications to end after the first list, and return them. Each application is returned once."""
        while not self._new:
            await self._wait()
        new, self._new = self._new, []
        return new

    def start(self, present: Iterable[Completion]) -> None:
        """Deliver the applications of the first list that have ended."""
        self._present = [one for one in present if self._is_wanted(one)]
        self._wake.set()

    def put(self, completion: Completion) -> None:
        """Deliver an application that has ended since."""
        if self._is_wanted(completion):
            self._new.append(completion)
            self._wake.set()

    async def _wait(self) -> None:
        self._wake.clear()
        await self._wake.wait()


class CompletionFeed:
    """The applications of one kind in one namespace that have ended and still exist.

    Each application is judged once, however many receivers there are. An application that ends, runs again and ends
    again is delivered once. The feed never ends by itself: it repeats what fails.

    Args:
        hub: The watch hub of the cluster.
        kind: The kind of the applications.
        namespace: The namespace.
    """

    def __init__(self, hub: WatchHub, kind: ResourceType, namespace: str) -> None:
        self._hub = hub
        self._kind = kind
        self._namespace = namespace
        self._subject = f"{kind.qualified_name} in namespace {namespace}"
        self._present: dict[str, Completion] | None = None
        self._inboxes: set[CompletionInbox] = set()
        self._failure: asyncio.Future[Exception] | None = None
        self._is_interrupted = False
        self._backoff = Backoff(longest=_LONGEST_PAUSE_SECONDS)
        self._task: asyncio.Task[None] | None = None
        self._is_started = False
        # The tasks that read driver pods, by the uid of the application; without a uid, those of the first list.
        self._readers: dict[str, asyncio.Task[None]] = {}
        self._unreadable: set[str] = set()

    def join(self, inbox: CompletionInbox) -> None:
        """Deliver to the inbox from now on. The first receiver starts the watch."""
        self._inboxes.add(inbox)
        if self._present is not None and self._is_started:
            inbox.start(self._present.values())
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"completions of {self._subject}")

    async def leave(self, inbox: CompletionInbox) -> None:
        """Stop the delivery to the inbox. The last receiver ends the watch."""
        self._inboxes.discard(inbox)
        if not self._inboxes and self._task is not None:
            tasks, self._task = [self._task, *self._readers.values()], None
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def is_last(self, inbox: CompletionInbox) -> bool:
        """Return whether the feed has no other receiver."""
        return self._inboxes <= {inbox}

    def is_present(self, uid: str) -> bool:
        """Return whether the application has ended and still exists."""
        return self._present is not None and uid in self._present

    def put(self, change: Change) -> None:
        """Deliver the applications that have ended with this change."""
        if isinstance(change, Listed):
            self._put_list(change.items)
        elif self._present is None:
            return  # the list follows
        elif isinstance(change, Removed):
            uid = change.object["metadata"]["uid"]
            self._stop_reader(uid)
            self._put_completion(uid, self._read(change.object))
            self._present.pop(uid, None)
        else:
            self._put_object(change.object)

    def interrupt(self, error: KubeError) -> None:
        """Report a failure of the watch, which is repeated."""
        if not self._is_interrupted:
            self._is_interrupted = True
            logger.warning(
                "could not watch %s: %s; retrying. Asset events are delayed until the watch works again",
                self._subject,
                error,
            )

    def resume(self) -> None:
        """Report that the watch works again."""
        if self._is_interrupted:
            self._is_interrupted = False
            logger.info("%s: the watch works again", self._subject)

    def fail(self, error: Exception) -> None:
        """End the watch with an error. It is started again after a pause."""
        if self._failure is not None and not self._failure.done():
            self._failure.set_result(error)

    async def _run(self) -> None:
        while True:
            self._failure = asyncio.get_running_loop().create_future()
            with self._hub.observe(self._kind, self._namespace, self):
                error = await self._failure
            pause = self._backoff.next()
            logger.error("could not watch %s: %s; retrying in %.0f s", self._subject, error, pause)
            await self._hub.pause(pause)

    def _put_list(self, items: Iterable[JsonObject]) -> None:
        self._backoff.reset()
        self.resume()
        listed = {item["metadata"]["uid"]: item for item in items}
        if self._present is None:
            self._present = {}
            unread = [item for item in listed.values() if _needs_driver(item)]
            for uid, item in listed.items():
                self._put_completion(uid, None if item in unread else self._read(item))
            self._readers[""] = asyncio.create_task(self._start(unread), name=f"first list of {self._subject}")
            return
        self._present = {uid: one for uid, one in self._present.items() if uid in listed}
        for uid in [uid for uid in self._readers if uid and uid not in listed]:
            self._stop_reader(uid)
        for item in listed.values():
            self._put_object(item)

    async def _start(self, unread: Iterable[JsonObject]) -> None:
        """Deliver the applications of the first list that have ended. The ends of `unread` are in their driver pods."""
        for resource in unread:
            uid = resource["metadata"]["uid"]
            self._put_completion(uid, await self._read_with_pods(resource))
            if uid not in self._readers:
                self._put_object(resource)
        self._is_started = True
        for inbox in self._inboxes:
            inbox.start((self._present or {}).values())

    def _put_object(self, resource: JsonObject) -> None:
        uid = resource["metadata"]["uid"]
        if self._present is None or uid in self._present:
            return
        self._stop_reader(uid)
        if _needs_driver(resource):
            self._readers[uid] = asyncio.create_task(self._await_drivers(uid, resource), name=f"drivers of {uid}")
        else:
            self._put_completion(uid, self._read(resource))

    def _put_completion(self, uid: str, completion: Completion | None) -> None:
        if completion is None or self._present is None or uid in self._present:
            return
        self._present[uid] = completion
        for inbox in self._inboxes if self._is_started else ():
            inbox.put(completion)

    def _stop_reader(self, uid: str) -> None:
        reader = self._readers.pop(uid, None)
        if reader is not None:
            reader.cancel()

    async def _await_drivers(self, uid: str, resource: JsonObject) -> None:
        """Wait until no driver of an application runs whose operator reports the end without having read it."""
        backoff = Backoff(first=1.0, longest=_LONGEST_PAUSE_SECONDS)
        while (completion := await self._read_with_pods(resource)) is None:
            await self._hub.pause(backoff.next())
        self._put_completion(uid, completion)

    async def _read_with_pods(self, resource: JsonObject) -> Completion | None:
        reference = ApplicationReference.of(resource, self._kind)
        backoff = Backoff(longest=_LONGEST_PAUSE_SECONDS)
        while True:
            try:
                seen = await find_final_progress_with_pods(self._hub.client, reference, resource)
            except EndUnknown as error:
                level = logging.DEBUG if reference.uid in self._unreadable else logging.WARNING
                self._unreadable.add(reference.uid)
                logger.log(
                    level, "%s: %s. It causes no asset event until its driver pods can be read", reference, error
                )
                return None
            except KubeError as error:
                logger.debug("could not read the driver pods of %s: %s; retrying", reference, error)
                await self._hub.pause(backoff.next())
            except _MALFORMED:
                return self._read(resource)
            else:
                return read_completion(resource, self._kind, seen) if seen is not None else None

    def _read(self, resource: JsonObject) -> Completion | None:
        try:
            return read_completion(resource, self._kind)
        except _MALFORMED as error:
            # One malformed status must not end the watch of the whole namespace.
            name = resource["metadata"]["name"]
            logger.warning("could not read the status of %s in %s: %r; ignored", name, self._subject, error)
            return None


def _needs_driver(resource: JsonObject) -> bool:
    try:
        seen = read_progress(resource)
        return seen.has_unread_end or has_more_facts(seen)
    except _MALFORMED:  # reported when the status is judged
        return False


_feeds: WeakKeyDictionary[WatchHub, dict[tuple[ResourceType, str], CompletionFeed]] = WeakKeyDictionary()


@asynccontextmanager
async def receive_completions(
    hub: WatchHub, kind: ResourceType, namespace: str, is_wanted: Callable[[Completion], bool]
) -> AsyncIterator[tuple[CompletionInbox, CompletionFeed]]:
    """Receive the end of each application in a namespace. All receivers of a hub and namespace share one watch.

    Args:
        hub: The watch hub of the cluster.
        kind: The kind of the applications, in a version that the cluster serves.
        namespace: The namespace.
        is_wanted: Whether the receiver wants a completion.
    """
    feeds = _feeds.setdefault(hub, {})
    feed = feeds.get((kind, namespace))
    if feed is None:
        feed = feeds[kind, namespace] = CompletionFeed(hub, kind, namespace)
    inbox = CompletionInbox(is_wanted)
    feed.join(inbox)
    try:
        yield inbox, feed
    finally:
        # The feed is removed before anything is awaited, so that the next receiver opens a new one.
        if feeds.get((kind, namespace)) is feed and feed.is_last(inbox):
            del feeds[kind, namespace]
        await feed.leave(inbox)
