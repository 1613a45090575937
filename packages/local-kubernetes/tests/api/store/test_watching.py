import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import aiohttp
import pytest

from local_kubernetes.api.kinds.kinds import CONFIG_MAPS as CONFIG_MAP_KIND
from local_kubernetes.api.kinds.status import ApiStatusError
from local_kubernetes.api.rendering.presentation import Presentation, Presenter
from local_kubernetes.api.requests.requests import ListOptions
from local_kubernetes.api.server.watch_stream import Watch
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store
from local_kubernetes.api.store.watch import MODIFIED, Event, Feed

from api.builders import CONFIG_MAPS, NAMESPACES, Api, Document, build_config_map

DEADLINE = 20


async def read_changes(events: AsyncIterator[Document], count: int) -> list[tuple[str, str]]:
    """Return the types and object names of the next events."""
    found = []
    async with asyncio.timeout(DEADLINE):
        for _ in range(count):
            event = await anext(events)
            found.append((event["type"], event["object"]["metadata"].get("name", "")))
    return found


async def read_to_end(events: AsyncIterator[Document]) -> list[Document]:
    """Return all events until the watch ends."""
    async with asyncio.timeout(DEADLINE):
        return [event async for event in events]


async def test_watch_reports_its_namespace_only(api: Api) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "team"}})
    async with api.watch(f"{CONFIG_MAPS}?watch=1") as events, api.watch("/api/v1/configmaps?watch=1") as everywhere:
        await api.create(f"{NAMESPACES}/team/configmaps", build_config_map("a"))
        await api.create(CONFIG_MAPS, build_config_map("b"))
        assert await read_changes(events, 1) == [("ADDED", "b")]
        assert await read_changes(everywhere, 2) == [("ADDED", "a"), ("ADDED", "b")]


async def test_history_is_bounded_by_number(api: Api) -> None:
    version = (await api.get(CONFIG_MAPS)).body["metadata"]["resourceVersion"]
    await api.create(CONFIG_MAPS, build_config_map("a"))
    for number in range(50):
        await api.patch(f"{CONFIG_MAPS}/a", {"data": {"x": str(number)}})
    async with api.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={version}") as events:
        (event,) = await read_to_end(events)
    assert event["object"]["code"] == 410


async def test_watch_sends_a_last_bookmark_at_its_timeout(api: Api) -> None:
    created = await api.create(CONFIG_MAPS, build_config_map("a"))
    async with api.watch(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true") as events:
        found = await read_to_end(events)
    assert [event["type"] for event in found] == ["ADDED", "BOOKMARK"]
    assert found[1]["object"]["metadata"] == {"resourceVersion": created["metadata"]["resourceVersion"]}
    assert found[1]["object"]["kind"] == "ConfigMap"


async def test_bookmarks_are_sent_at_intervals(store: Store, api: Api) -> None:
    served = KindRegistry(store).find("", "v1", CONFIG_MAP_KIND.plural)
    options = ListOptions(watch=True, bookmarks=True, resource_version=str(store.objects.version))
    watch = Watch(store, Presenter(served, Presentation()), None, options, bookmark_seconds=0.01)
    async with asyncio.timeout(DEADLINE), aclosing(watch.read_batches()) as batches:
        for _ in range(2):
            (frame,) = await anext(batches)
            assert b'"BOOKMARK"' in frame


async def test_a_watch_works_by_websocket(api: Api) -> None:
    async with asyncio.timeout(DEADLINE), api.session.ws_connect(f"{api.url}{CONFIG_MAPS}?watch=1") as socket:
        await api.create(CONFIG_MAPS, build_config_map("a"))
        event = await socket.receive_json()
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


async def test_websocket_watch_ends_at_its_timeout(api: Api) -> None:
    url = f"{api.url}{CONFIG_MAPS}?watch=1&timeoutSeconds=1"
    async with asyncio.timeout(DEADLINE), api.session.ws_connect(url) as socket:
        message = await socket.receive()
    assert message.type is aiohttp.WSMsgType.CLOSE


async def test_closed_websocket_watch_leaves_no_timer(api: Api) -> None:
    """A timer that fires while the event loop ends creates a task that never runs."""
    url = f"{api.url}{CONFIG_MAPS}?watch=1&timeoutSeconds=1"
    async with asyncio.timeout(DEADLINE), api.session.ws_connect(url) as socket:
        await socket.receive()
    await api.get(CONFIG_MAPS)  # the server has read the answer to its end of the watch
    timers = getattr(asyncio.get_running_loop(), "_scheduled")  # noqa: B009 - private
    assert [str(each) for each in timers if "WebSocketResponse" in str(each) and not each.cancelled()] == []


async def test_too_slow_reader_must_list_again(store: Store, api: Api) -> None:
    subscription = store.changes.subscribe(CONFIG_MAP_KIND, None, None)
    await api.create(CONFIG_MAPS, build_config_map("a"))
    for number in range(60):
        await api.patch(f"{CONFIG_MAPS}/a", {"data": {"x": str(number)}})
    with pytest.raises(ApiStatusError) as error:
        await anext(subscription)
    assert error.value.code == 410


async def test_a_subscription_ends_when_it_is_closed(store: Store, api: Api) -> None:
    subscription = store.changes.subscribe(CONFIG_MAP_KIND, None, None)
    await api.create(CONFIG_MAPS, build_config_map("a"))
    subscription.close()
    async with asyncio.timeout(DEADLINE):
        assert [event.type async for event in subscription] == ["ADDED"]


async def test_changes_of_a_received_event_do_not_affect_the_store(store: Store, api: Api) -> None:
    subscription = store.changes.subscribe(CONFIG_MAP_KIND, None, None)
    await api.create(CONFIG_MAPS, build_config_map("a", {"x": "1"}))
    event = await anext(subscription)
    event.object["data"]["x"] = "2"
    assert (await api.get(f"{CONFIG_MAPS}/a")).body["data"] == {"x": "1"}


async def test_closed_watches_leave_no_subscription(store: Store, api: Api) -> None:
    async with api.watch(f"{CONFIG_MAPS}?watch=1") as events:
        await api.create(CONFIG_MAPS, build_config_map("a"))
        await read_changes(events, 1)
        assert store.changes.count_subscribers(CONFIG_MAP_KIND) == 1
    async with asyncio.timeout(DEADLINE):
        while store.changes.count_subscribers(CONFIG_MAP_KIND):
            await api.get("/healthz")


async def test_a_history_is_bounded_by_the_size_of_its_changes() -> None:
    feed = Feed(0, history=100, queue=100, max_bytes=1000)
    for version in range(1, 11):
        feed.publish("", build_change(version, "x" * 300))
    with pytest.raises(ApiStatusError, match="too old resource version"):
        feed.subscribe(None, 1)
    assert len(await feed.subscribe(None, 8).read_batch(10)) == 2


async def test_queue_of_a_reader_is_bounded_by_size() -> None:
    feed = Feed(0, history=100, queue=100, max_bytes=1000)
    reader = feed.subscribe(None, None)
    feed.publish("", build_change(1, "x" * 5000))
    assert len(await reader.read_batch(10)) == 1
    for version in range(2, 12):
        feed.publish("", build_change(version, "x" * 300))
    with pytest.raises(ApiStatusError, match="too slow"):
        await anext(reader)
    assert feed.subscribers == 0


def build_change(version: int, text: str) -> Event:
    return Event(MODIFIED, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": text}}, None, version)
