"""Watches: the events of one, as a stream of lines or as WebSocket messages."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator

from aiohttp import web

from ..kinds.documents import JsonObject
from ..kinds.status import ApiStatusError
from ..rendering.presentation import Presenter
from ..requests.requests import ListOptions
from ..store.store import Store
from ..store.watch import ADDED, DELETED, Event, Subscription

_BOOKMARK_SECONDS = 30.0
_WRITE_SECONDS = 30.0
_BATCH = 100
_SHORTEST_SECONDS = 1800
_LONGEST_SECONDS = 3600


class Watch:
    """One client's view of the changes of a kind.

    Args:
        store: The cluster's objects.
        presenter: The kind and the format of its objects.
        namespace: The namespace; None for all.
        options: Selectors, the version to start from, and the duration.
        bookmark_seconds: Interval of bookmarks in seconds, if the client requests them.
    """

    def __init__(
        self,
        store: Store,
        presenter: Presenter,
        namespace: str | None,
        options: ListOptions,
        bookmark_seconds: float = _BOOKMARK_SECONDS,
    ) -> None:
        self._store = store
        self._presenter = presenter
        self._namespace = namespace
        self._options = options
        self._bookmark_seconds = bookmark_seconds
        self._header_sent = False
        self._subscription: Subscription | None = None

    def close(self) -> None:
        """End the watch as if its time limit had expired."""
        if self._subscription is not None:
            self._subscription.close()

    async def read_batches(self) -> AsyncGenerator[list[bytes], None]:
        """Yield the events as JSON, all pending ones at a time, until the store or the time limit ends the watch.

        An expired version, or a client that is too slow, is reported by an event of type ERROR.
        """
        try:
            subscription, initial = self._open()
        except ApiStatusError as error:
            yield [_encode_frame("ERROR", error.build_document())]
            return
        self._subscription = subscription
        try:
            for start in range(0, len(initial), _BATCH):
                yield [self._encode(ADDED, event) for event in initial[start : start + _BATCH]]
                await asyncio.sleep(0)  # let other tasks run
            if self._options.initial_events and self._options.bookmarks:
                yield [self._encode_bookmark(initial_events_end=True)]
            async for frames in self._read_changes(subscription):
                yield frames
        except ApiStatusError as error:
            yield [_encode_frame("ERROR", error.build_document())]
        finally:
            subscription.close()

    def _open(self) -> tuple[Subscription, list[Event]]:
        options = self._options
        kind = self._presenter.served.kind
        if options.initial_events or options.resource_version in ("", "0"):
            subscription = self._store.changes.subscribe(kind, self._namespace, None)
            return subscription, list(
                self._store.objects.list_events(kind, self._namespace, options.labels, options.fields)
            )
        return self._store.changes.subscribe(kind, self._namespace, int(options.resource_version)), []

    async def _read_changes(self, subscription: Subscription) -> AsyncGenerator[list[bytes], None]:
        clock = asyncio.get_running_loop().time
        seconds = self._options.timeout_seconds or random.randint(_SHORTEST_SECONDS, _LONGEST_SECONDS)  # noqa: S311
        end = clock() + seconds
        bookmark_at = clock() + self._bookmark_seconds
        while clock() < end:
            try:
                async with asyncio.timeout_at(min(end, bookmark_at)):
                    events = await subscription.read_batch(_BATCH)
            except TimeoutError:
                bookmark_at = clock() + self._bookmark_seconds
                if self._options.bookmarks and subscription.drained:
                    yield [self._encode_bookmark(initial_events_end=False)]
                continue
            except StopAsyncIteration:
                return
            frames = [frame for event in events if (frame := self._encode_change(event)) is not None]
            if frames:
                yield frames

    def _encode_change(self, event: Event) -> bytes | None:
        """Return the event for this client: an object that begins to match its selectors is ADDED."""
        kind = event.type
        options = self._options
        if options.labels is not None or options.fields is not None:
            matches = self._is_selected(event.current) and kind != DELETED
            matched = event.previous is not None and self._is_selected(event.previous)
            if not matches and not matched:
                return None
            if matched and not matches and kind != DELETED:
                return _encode_frame(DELETED, self._present(_build_last_version(event)))
            if matches and not matched:
                kind = ADDED
        return self._encode(kind, event)

    def _encode(self, kind: str, event: Event) -> bytes:
        if self._presenter.plain:
            body = event.encode(self._presenter.served.api_version)
            return b'{"type":"' + kind.encode() + b'","object":' + body + b"}"
        return _encode_frame(kind, self._present(event.current))

    def _is_selected(self, document: JsonObject) -> bool:
        labels, fields = self._options.labels, self._options.fields
        return (labels is None or labels.matches(document)) and (fields is None or fields.matches(document))

    def _present(self, document: JsonObject) -> JsonObject:
        shown = self._presenter.present_one(document, header=not self._header_sent)
        self._header_sent = True
        return shown

    def _encode_bookmark(self, *, initial_events_end: bool) -> bytes:
        version = self._store.objects.version
        return _encode_frame(
            "BOOKMARK", self._presenter.present_bookmark(version, initial_events_end=initial_events_end)
        )


def _build_last_version(event: Event) -> JsonObject:
    """Return the last matching version of the object, with the resource version of the change that ended the match."""
    previous = event.previous or event.current
    return {**previous, "metadata": {**previous["metadata"], "resourceVersion": str(event.resource_version)}}


async def send_as_lines(request: web.Request, watch: Watch) -> web.StreamResponse:
    """Answer with a stream of JSON lines; disconnect a client that reads nothing for half a minute."""
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Cache-Control": "no-cache"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    batches = watch.read_batches()
    try:
        async for frames in batches:
            async with asyncio.timeout(_WRITE_SECONDS):
                await response.write(b"\n".join(frames) + b"\n")
        async with asyncio.timeout(_WRITE_SECONDS):
            await response.write_eof()
    except (TimeoutError, ConnectionError):
        _cut(request)
    finally:
        await batches.aclose()
    return response


async def send_as_messages(request: web.Request, watch: Watch) -> web.WebSocketResponse:
    """Answer by WebSocket with one message for each event, until one side closes.

    Some clients, such as fabric8, open watches this way. Without it, they see changes only when they list again.
    """
    # Clients are on this machine. A heartbeat is not needed, and aiohttp starts its timer again after the end.
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    batches = watch.read_batches()

    async def send() -> None:
        try:
            async for frames in batches:
                for frame in frames:
                    async with asyncio.timeout(_WRITE_SECONDS):
                        await socket.send_str(frame.decode())
        except (TimeoutError, ConnectionError):
            _cut(request)
        await socket.close()

    sender = asyncio.create_task(send())
    try:
        async for _ in socket:
            pass  # a watch receives no messages; reading detects that the client has closed
    finally:
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)
        await batches.aclose()
    return socket


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _encode_frame(kind: str, document: JsonObject) -> bytes:
    return json.dumps({"type": kind, "object": document}).encode()
